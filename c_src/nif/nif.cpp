// The table of NIFs is made by the FINE_NIF lines of the other files; this one opens and closes
// the library.
#include "nif/instance.hpp"
#include "nif/pipeline.hpp"
#include "nif/resources.hpp"

namespace dala::nif {

FINE_RESOURCE(BufferResource);
FINE_RESOURCE(ReadbackResource);
FINE_RESOURCE(PipelineResource);
FINE_RESOURCE(ProfileResource);
FINE_RESOURCE(ModelResource);

// Called when the module is purged. Threads of ours must be gone before the code is; those of the
// driver live in a library that is never unmapped.
static auto unload_registration =
    fine::Registration::register_unload([](ErlNifEnv*, void*) { Instance::get().stop(); });

}  // namespace dala::nif

FINE_INIT("Elixir.Dala.Gpu.Compute.Native");
