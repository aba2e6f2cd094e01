// The table of NIFs is made by the FINE_NIF lines of the other files; this one opens and closes
// the library.
#include "nif/instance.hpp"
#include "nif/resource/pipeline.hpp"
#include "nif/resource/resources.hpp"

namespace dala::nif {

FINE_RESOURCE(BufferResource);
FINE_RESOURCE(ReadbackResource);
FINE_RESOURCE(PipelineResource);
FINE_RESOURCE(ProfileResource);
FINE_RESOURCE(ModelResource);
FINE_RESOURCE(PredictionResource);
FINE_RESOURCE(StateResource);
FINE_RESOURCE(TokenResource);
FINE_RESOURCE(SegmentResource);

static auto load_registration = fine::Registration::register_load(
    [](ErlNifEnv*, void**, fine::Term) { Instance::get().loaded(); });

// Called when the module has been purged and its last resource collected.
static auto unload_registration =
    fine::Registration::register_unload([](ErlNifEnv*, void*) { Instance::get().unloaded(); });

}  // namespace dala::nif

FINE_INIT("Elixir.Dala.Gpu.Compute.Native");
