// Models: loaded and run on threads of their own, answered by message.
#include "model/model.hpp"
#include "model/model_kernel.hpp"
#include "nif/resource/prediction.hpp"

namespace dala::nif {
namespace {

using model::Dimension;
using model::Model;
using model::Port;

// {:path, path} or {:binary, bytes}.
struct ModelSource {
  std::string path;
  std::shared_ptr<const Pinned> bytes;  // null: the file at `path`
};

}  // namespace
}  // namespace dala::nif

namespace fine {

using namespace dala::nif;

template <>
struct Decoder<ModelSource> {
  static ModelSource decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
    const auto [kind, bytes] = fine::decode<std::tuple<fine::Atom, Term>>(env, term);
    if (kind == "path") return {fine::decode<std::string>(env, bytes), nullptr};
    return {"", std::make_shared<const Pinned>(fine::decode<Pinned>(env, bytes))};
  }
};

// A number, a name, or nil.
template <>
struct Encoder<Dimension> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const Dimension& dimension) {
    if (dimension.size) return fine::encode(env, int64_t{*dimension.size});
    return fine::encode(env, TextOrNil{dimension.name});
  }
};

// {name, dtype of its buffers, element type in the file, dimensions, {scale, zero point}};
// dimensions as a whole are nil when any shape will do, and the last is nil unless integers stand
// for real numbers.
template <>
struct Encoder<Port> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const Port& port) {
    std::optional<std::tuple<Number, int64_t>> scale;
    if (port.quantization) {
      scale.emplace(Number{port.quantization->scale}, port.quantization->zero_point);
    }
    return fine::encode(env,
                        std::tuple(port.name, dala::model::storage_of(port.type),
                                   to_atom(dala::model::to_string(port.type)), port.shape, scale));
  }
};

template <>
struct Encoder<Model::Info> {
  static ERL_NIF_TERM encode(ErlNifEnv* env, const Model::Info& info) {
    return fields(env, "opset", int64_t{info.opset}, "producer", info.producer, "nodes",
                  uint64_t{info.nodes}, "parameters", int64_t{info.parameters}, "weight_bytes",
                  uint64_t{info.weight_bytes}, "working_bytes", uint64_t{info.working_bytes});
  }
};

}  // namespace fine

namespace dala::nif {
namespace {

std::shared_ptr<Model> alive(const fine::ResourcePtr<ModelResource>& resource) {
  return resource->model;
}

}  // namespace

void ModelResource::destructor(ErlNifEnv*) { Instance::get().let_go(std::move(model)); }

// The caller gets `{ref, {:ok, model, inputs, outputs} | {:error, e}}`.
OkOrError<> model_load(ErlNifEnv* env, ModelSource source, Term ref) {
  return guarded(env, [&] {
    // The job holds no reference to the engine, which goes only after the threads for models.
    Engine* current = engine().get();
    const auto message = Message::reply(self(env), ref);
    post_job(message, [current, source, message] {
      std::shared_ptr<Model> model =
          source.bytes == nullptr
              ? Model::load_file(*current, source.path)
              : Model::load(*current, {source.bytes->data, source.bytes->bytes}, "");
      const auto inputs = model->inputs();
      const auto outputs = model->outputs();
      message->send_value(
          ok(fine::make_resource<ModelResource>(std::move(model)), inputs, outputs));
    });
    return ok();
  });
}
FINE_NIF(model_load, 0);

// Gets ready for inputs of these dimensions. The caller gets `{ref, :ok | {:error, e}}`.
OkOrError<> model_get_ready(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource,
                            std::vector<std::vector<int64_t>> shapes, Term ref) {
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    post_job(message, [model = alive(resource), shapes = std::move(shapes), message] {
      model->get_ready(shapes);
      message->send_result(0, nullptr);
    });
    return ok();
  });
}
FINE_NIF(model_get_ready, 0);

OkOrError<Model::Info> model_info(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource) {
  return guarded(env, [&] { return ok(alive(resource)->info()); });
}
FINE_NIF(model_info, 0);

// The inputs are those of this moment, whatever is written to the buffers later. Gives
// `{:ok, prediction}`, and the caller gets `{ref, {:ok, outputs} | {:error, e}}`.
OkOrError<fine::ResourcePtr<PredictionResource>> model_predict(
    ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource, Given<Inputs> inputs, Term ref) {
  return guarded(env, [&] {
    const auto request = std::make_shared<const Request>(env, *inputs, ref);
    const auto job = [model = alive(resource),
                      request](const model::PredictionQueue::Ticket& ticket) {
      request->run(
          ticket,
          [&model](const Request& own, const Model::Done& done) {
            return model->predict(own.inputs, own.caller, done);
          },
          [](const std::vector<BufferPtr>& outputs) { return outputs; });
    };
    Instance::get().predictions().push(self(env).pid, job);
    return ok(request->prediction);
  });
}
FINE_NIF(model_predict, 0);

// Back-pressure for processes that do not wait for results. `:pending`: many predictions of the
// caller have not started, and it will get `{ref, :ok}` when it may go on.
Result<fine::Atom> model_turn(ErlNifEnv* env, Term ref) {
  return guarded(env, [&] {
    model::PredictionQueue& queue = Instance::get().predictions();
    const uint64_t client = self(env).pid;
    const auto held = [&] {
      const auto message = Message::reply(self(env), ref);
      return queue.hold_back(client, [message] { message->send_result(0, nullptr); });
    };
    return fine::Atom(queue.crowded(client) && held() ? "pending" : "ok");
  });
}
FINE_NIF(model_turn, 0);

// The caller no longer waits for the result. `:ok`: no message will come; `:sent`: it is in the
// mailbox, unless it has been received; `:sending`: it will be in a moment.
Result<fine::Atom> model_give_up(ErlNifEnv* env, fine::ResourcePtr<PredictionResource> prediction) {
  return guarded(env, [&] {
    prediction->given_up = true;
    const Message::State state = prediction->answer->revoke();
    if (state == Message::State::sent) return fine::Atom("sent");
    if (state == Message::State::sending) return fine::Atom("sending");
    cancel_command(*prediction);
    return fine::Atom("ok");
  });
}
FINE_NIF(model_give_up, 0);

// The same with the time of each layer: `{ref, {:ok, outputs, [{layer, nanoseconds}]}}`.
OkOrError<> model_profile(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource,
                          Given<Inputs> inputs, Term ref) {
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    post_job(message, [model = alive(resource), buffers = snapshots_of(*inputs), message] {
      const Model::Profiled profiled = model->profile(buffers);
      const auto layers = each(profiled.layers, [](const Model::LayerTime& layer) {
        return std::tuple(std::string(layer.layer), Number{layer.nanoseconds});
      });
      message->send_value(ok(outputs_of(profiled.outputs), layers));
    });
    return ok();
  });
}
FINE_NIF(model_profile, 0);

// Makes the model a kernel of that name. `keep` false: for as long as something else keeps it.
OkOrError<> model_register(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource,
                           std::string name, bool keep) {
  return guarded(env, [&] {
    engine()->registry().add(model::model_kernel(name, alive(resource), keep));
    return ok();
  });
}
FINE_NIF(model_register, 0);

// The caller gets `{ref, :ok}`: memory goes back on another thread.
OkOrError<> model_free(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource, Term ref) {
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    Engine* current = engine().get();
    post_job(message, [current, model = alive(resource), message] {
      model->free();
      current->registry().remove_gone();
      message->send_result(0, nullptr);
    });
    return ok();
  });
}
FINE_NIF(model_free, 0);

}  // namespace dala::nif
