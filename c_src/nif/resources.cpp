#include "nif/resources.hpp"

#include <utility>

namespace dala::nif {
namespace {

// Results up to this size are copied into an ordinary binary: that costs less than keeping the
// storage from being written to.
constexpr size_t kCopyUpTo = 4096;

class Process : public Client {
 public:
  explicit Process(ErlNifPid pid) : pid_(pid) {}
  uint64_t key() const override { return pid_.pid; }
  bool alive() const override {
    ErlNifPid pid = pid_;
    return enif_is_process_alive(calling_env(), &pid) != 0;
  }

 private:
  ErlNifPid pid_;
};

}  // namespace

void ReadbackResource::destructor(ErlNifEnv*) {
  if (readback == nullptr || readback->shares_storage()) return;
  Instance::get().let_go(std::move(readback));
}

Term encode_binary(ErlNifEnv* env, const std::shared_ptr<Readback>& readback) {
  const auto* data = reinterpret_cast<const char*>(readback->data());
  if (readback->bytes() <= kCopyUpTo) return fine::make_new_binary(env, data, readback->bytes());
  return fine::make_resource_binary(env, fine::make_resource<ReadbackResource>(readback), data,
                                    readback->bytes());
}

BufferPtr decode_buffer(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& what) {
  try {
    return fine::decode<fine::ResourcePtr<BufferResource>>(env, term)->buffer;
  } catch (const std::invalid_argument&) {
    const std::string shown = fine::format_term(env, term);
    if (enif_is_ref(env, term) != 0) {
      throw Error(Reason::freed, text(what, " (", shown, ") refers to no buffer on this node"));
    }
    throw std::invalid_argument(what + " is not a buffer: " + shown);
  }
}

std::vector<BufferPtr> decode_buffers(ErlNifEnv* env, ERL_NIF_TERM term) {
  std::vector<BufferPtr> buffers;
  ERL_NIF_TERM head = 0;
  ERL_NIF_TERM tail = term;
  while (enif_get_list_cell(env, tail, &head, &tail) != 0) {
    buffers.push_back(decode_buffer(env, head, text("input ", buffers.size())));
  }
  if (enif_is_empty_list(env, tail) == 0) {
    throw std::invalid_argument("inputs are a list of buffers, got " +
                                fine::format_term(env, term));
  }
  return buffers;
}

std::shared_ptr<Client> client(ErlNifEnv* env) { return std::make_shared<Process>(self(env)); }

}  // namespace dala::nif
