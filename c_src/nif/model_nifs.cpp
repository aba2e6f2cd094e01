// Models: loaded and run on threads of their own, answered by message.
#include "model/model.hpp"
#include "model/model_kernel.hpp"
#include "nif/job.hpp"
#include "nif/resources.hpp"

namespace dala::nif {
namespace {

using model::Dimension;
using model::Model;
using model::Port;

// {name, dtype of its buffers, element type in the file, dimensions, {scale, zero point}}; a
// dimension is a number, a name, or nil; dimensions as a whole are nil when any shape will do, and
// the last is nil unless integers stand for real numbers.
Term encode_port(ErlNifEnv* env, const Port& port) {
  Term shape = atom(env, "nil");
  if (port.shape) {
    std::vector<Term> dimensions;
    for (const Dimension& dimension : *port.shape) {
      if (dimension.size) {
        dimensions.push_back(integer(env, *dimension.size));
      } else {
        dimensions.push_back(dimension.name.empty() ? atom(env, "nil")
                                                    : string(env, dimension.name));
      }
    }
    shape = list(env, dimensions);
  }
  Term scale = atom(env, "nil");
  if (port.quantization) {
    scale = tuple(
        env, {number(env, port.quantization->scale), integer(env, port.quantization->zero_point)});
  }
  return tuple(env, {string(env, port.name), atom(env, to_string(model::storage_of(port.type))),
                     atom(env, model::to_string(port.type)), shape, scale});
}

Term encode_ports(ErlNifEnv* env, const std::vector<Port>& ports) {
  std::vector<Term> items;
  for (const Port& port : ports) items.push_back(encode_port(env, port));
  return list(env, items);
}

// {buffer, dimensions, dtype} of each.
Term encode_outputs(ErlNifEnv* env, const std::vector<BufferPtr>& outputs) {
  std::vector<Term> items;
  for (const BufferPtr& buffer : outputs) {
    items.push_back(tuple(env, {fine::encode(env, fine::make_resource<BufferResource>(buffer)),
                                encode_shape(env, buffer->type().shape),
                                atom(env, to_string(buffer->type().dtype))}));
  }
  return list(env, items);
}

// The buffers as they are at this moment.
std::vector<BufferPtr> decode_snapshots(ErlNifEnv* env, ERL_NIF_TERM term) {
  Scheduler& scheduler = engine()->runtime().scheduler();
  std::vector<BufferPtr> snapshots;
  for (const BufferPtr& buffer : decode_buffers(env, term)) {
    snapshots.push_back(scheduler.snapshot(*buffer, text("input ", snapshots.size())));
  }
  return snapshots;
}

void cancel_command(PredictionResource& prediction) {
  const CommandId id = prediction.command.exchange(0);
  if (id != 0) engine()->runtime().scheduler().cancel(id);
}

// Keeps a binary alive in an environment of its own.
struct Pinned {
  explicit Pinned(ERL_NIF_TERM term) : env(enif_alloc_env()) {
    enif_inspect_binary(env, enif_make_copy(env, term), &binary);
  }
  ~Pinned() { enif_free_env(env); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  ErlNifEnv* env;
  ErlNifBinary binary{};
};

std::shared_ptr<Model> alive(const fine::ResourcePtr<ModelResource>& resource) {
  return resource->model;
}

}  // namespace

void ModelResource::destructor(ErlNifEnv*) { Instance::get().let_go(std::move(model)); }

// `source` is {:path, binary} or {:binary, bytes}. The caller gets `{ref, {:ok, model, inputs,
// outputs} | {:error, e}}`.
Term model_load(ErlNifEnv* env, Term source, Term ref) {
  return guarded(env, [&] {
    // The job holds no reference to the engine, which goes only after the threads for models.
    Engine* current = engine().get();
    const auto [kind, bytes] = fine::decode<std::tuple<fine::Atom, Term>>(env, source);
    const auto binary = fine::decode<ErlNifBinary>(env, bytes);
    const bool is_path = kind == "path";
    const std::string path =
        is_path ? std::string(reinterpret_cast<const char*>(binary.data), binary.size) : "";
    const auto pinned = is_path ? nullptr : std::make_shared<Pinned>(bytes);
    const auto message = Message::reply(self(env), ref);
    post_job(message, [current, path, pinned, message] {
      std::shared_ptr<Model> model;
      if (pinned == nullptr) {
        model = Model::load_file(*current, path);
      } else {
        const auto* data = reinterpret_cast<const std::byte*>(pinned->binary.data);
        model = Model::load(*current, {data, pinned->binary.size}, "");
      }
      ErlNifEnv* own = message->env();
      const Term inputs = encode_ports(own, model->inputs());
      const Term outputs = encode_ports(own, model->outputs());
      const Term resource = fine::encode(own, fine::make_resource<ModelResource>(std::move(model)));
      message->send(tuple(own, {atom(own, "ok"), resource, inputs, outputs}));
    });
    return atom(env, "ok");
  });
}
FINE_NIF(model_load, 0);

// Gets ready for inputs of these dimensions. The caller gets `{ref, :ok | {:error, e}}`.
Term model_get_ready(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource,
                     std::vector<std::vector<int64_t>> shapes, Term ref) {
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    post_job(message, [model = alive(resource), shapes = std::move(shapes), message] {
      model->get_ready(shapes);
      message->send_result(0, nullptr);
    });
    return atom(env, "ok");
  });
}
FINE_NIF(model_get_ready, 0);

Term model_info(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource) {
  return guarded(env, [&] {
    const Model::Info info = alive(resource)->info();
    return ok(env, map(env, {{"opset", integer(env, info.opset)},
                             {"producer", string(env, info.producer)},
                             {"nodes", unsigned_integer(env, info.nodes)},
                             {"parameters", integer(env, info.parameters)},
                             {"weight_bytes", unsigned_integer(env, info.weight_bytes)},
                             {"working_bytes", unsigned_integer(env, info.working_bytes)}}));
  });
}
FINE_NIF(model_info, 0);

// The inputs are those of this moment, whatever is written to the buffers later. Gives
// `{:ok, prediction}`, and the caller gets `{ref, {:ok, outputs} | {:error, e}}`.
Term model_predict(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource, Term inputs,
                   Term ref) {
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    const auto prediction = fine::make_resource<PredictionResource>(message);
    const auto job = [model = alive(resource), buffers = decode_snapshots(env, inputs),
                      caller = waiting_client(env), prediction,
                      message](const model::PredictionQueue::Ticket& ticket) {
      if (prediction->given_up || !caller->wants_result()) return;
      run_job(*message, [&] {
        const auto done = [message, ticket](const std::vector<BufferPtr>& outputs,
                                            const Error* problem) {
          if (problem != nullptr) {
            message->send_result(0, problem);
            return;
          }
          ErlNifEnv* own = message->env();
          message->send(ok(own, encode_outputs(own, outputs)));
        };
        prediction->command = model->predict(buffers, caller, done).value_or(0);
      });
      // It may have been given up while its command was being submitted.
      if (prediction->given_up) cancel_command(*prediction);
    };
    Instance::get().predictions().push(self(env).pid, job);
    return ok(env, fine::encode(env, prediction));
  });
}
FINE_NIF(model_predict, 0);

// Back-pressure, for whoever does not wait for results. `:pending`: many predictions of the caller
// have not started, and it will get `{ref, :ok}` when it may go on.
Term model_turn(ErlNifEnv* env, Term ref) {
  return guarded(env, [&] {
    model::PredictionQueue& queue = Instance::get().predictions();
    const uint64_t client = self(env).pid;
    const auto held = [&] {
      const auto message = Message::reply(self(env), ref);
      return queue.hold_back(client, [message] { message->send_result(0, nullptr); });
    };
    return atom(env, queue.crowded(client) && held() ? "pending" : "ok");
  });
}
FINE_NIF(model_turn, 0);

// The caller no longer waits for the result. `:ok`: no message will come; `:sent`: it is in the
// mailbox, unless it has been received; `:sending`: it will be in a moment.
Term model_give_up(ErlNifEnv* env, fine::ResourcePtr<PredictionResource> prediction) {
  return guarded(env, [&] {
    prediction->given_up = true;
    const Message::State state = prediction->answer->revoke();
    if (state == Message::State::sent) return atom(env, "sent");
    if (state == Message::State::sending) return atom(env, "sending");
    cancel_command(*prediction);
    return atom(env, "ok");
  });
}
FINE_NIF(model_give_up, 0);

// The same with the time of each layer: `{ref, {:ok, outputs, [{layer, nanoseconds}]}}`.
Term model_profile(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource, Term inputs,
                   Term ref) {
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    post_job(message, [model = alive(resource), buffers = decode_snapshots(env, inputs), message] {
      const Model::Profiled profiled = model->profile(buffers);
      ErlNifEnv* own = message->env();
      std::vector<Term> layers;
      for (const Model::LayerTime& each : profiled.layers) {
        layers.push_back(tuple(own, {string(own, each.layer), number(own, each.nanoseconds)}));
      }
      message->send(
          tuple(own, {atom(own, "ok"), encode_outputs(own, profiled.outputs), list(own, layers)}));
    });
    return atom(env, "ok");
  });
}
FINE_NIF(model_profile, 0);

// Makes the model a kernel of that name. `keep` false: for as long as something else keeps it.
Term model_register(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource, std::string name,
                    bool keep) {
  return guarded(env, [&] {
    engine()->registry().add(model::model_kernel(name, alive(resource), keep));
    return atom(env, "ok");
  });
}
FINE_NIF(model_register, 0);

// The caller gets `{ref, :ok}`: memory goes back on another thread.
Term model_free(ErlNifEnv* env, fine::ResourcePtr<ModelResource> resource, Term ref) {
  return guarded(env, [&] {
    const auto message = Message::reply(self(env), ref);
    Engine* current = engine().get();
    post_job(message, [current, model = alive(resource), message] {
      model->free();
      current->registry().remove_gone();
      message->send_result(0, nullptr);
    });
    return atom(env, "ok");
  });
}
FINE_NIF(model_free, 0);

}  // namespace dala::nif
