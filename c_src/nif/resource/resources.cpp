#include "nif/resource/resources.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace dala::nif {
namespace {

// Results up to this size are copied into an ordinary binary: that costs less than keeping the
// storage from being written to.
constexpr size_t kCopyUpTo = 4096;

// The memory of binaries by its first byte. Several may show the same.
class ShownRanges {
 public:
  static ShownRanges& get() {
    static auto* ranges = new ShownRanges;  // binaries may outlive statics
    return *ranges;
  }

  void add(const std::byte* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    Range& range = ranges_[data];
    range.bytes = std::max(range.bytes, bytes);
    ++range.count;
  }

  void remove(const std::byte* data) {
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(data);
    if (--found->second.count == 0) ranges_.erase(found);
  }

  size_t around(const std::byte* data) {
    const std::lock_guard lock(mutex_);
    const auto after = ranges_.upper_bound(data);
    if (after == ranges_.begin()) return 0;
    const auto& [first, range] = *std::prev(after);
    return data < first + range.bytes ? range.bytes : 0;
  }

 private:
  struct Range {
    size_t bytes = 0;
    int count = 0;
  };
  std::mutex mutex_;
  std::map<const std::byte*, Range> ranges_;
};

class WaitingProcess : public Client {
 public:
  explicit WaitingProcess(ErlNifPid pid) : pid_(pid) {}
  uint64_t key() const override { return pid_.pid; }
  bool wants_result() const override {
    ErlNifPid pid = pid_;
    return enif_is_process_alive(calling_env(), &pid) != 0;
  }

 private:
  ErlNifPid pid_;
};

class SubmittingProcess : public Client {
 public:
  SubmittingProcess(ErlNifPid pid, bool shared) : pid_(pid), shared_(shared) {}
  uint64_t key() const override { return pid_.pid; }
  bool wants_result() const override { return true; }
  bool shared() const override { return shared_; }

 private:
  ErlNifPid pid_;
  bool shared_;
};

}  // namespace

void ReadbackResource::destructor(ErlNifEnv*) {
  if (shown) ShownRanges::get().remove(readback->data());
  if (readback == nullptr || readback->shares_storage()) return;
  Instance::get().let_go_memory(std::move(readback));
}

size_t shown_around(const unsigned char* data) {
  return ShownRanges::get().around(reinterpret_cast<const std::byte*>(data));
}

void add_shown(const std::byte* data, size_t bytes) { ShownRanges::get().add(data, bytes); }

void remove_shown(const std::byte* data) { ShownRanges::get().remove(data); }

void Farewell::send(ErlNifEnv* env) const {
  ErlNifEnv* message = enif_alloc_env();
  if (message == nullptr) return;
  const ERL_NIF_TERM content = enif_make_tuple2(
      message, enif_make_atom(message, "dala_gpu_released"), enif_make_uint64(message, tag));
  enif_send(env, &pid, message, content);
  enif_free_env(message);
}

void SegmentResource::destructor(ErlNifEnv* env) {
  remove_shown(data);
  // The mapping may outlive the message, but nothing reads it any more.
  Instance::get().let_go_memory(std::move(memory));
  if (farewell) farewell->send(env);
}

BufferPtr undefined_buffer(Runtime& runtime, const TensorType& type) {
  return std::make_shared<Buffer>(type, runtime.memory().allocate(type.bytes()));
}

void check_copy(const std::vector<BufferPtr>& inputs, const Outputs& outputs) {
  if (inputs.size() != 1) {
    throw Error(Reason::arity_mismatch, text("copy_buffer takes 1 input, got ", inputs.size()));
  }
  if (!outputs.more.empty()) {
    throw Error(Reason::arity_mismatch,
                text("copy_buffer has 1 output, got ", outputs.more.size() + 1));
  }
}

std::shared_ptr<Client> waiting_client(ErlNifEnv* env) {
  return std::make_shared<WaitingProcess>(self(env));
}

std::shared_ptr<Client> submitting_client(ErlNifEnv* env, bool shared) {
  return std::make_shared<SubmittingProcess>(self(env), shared);
}

}  // namespace dala::nif

namespace fine {

using namespace dala;
using namespace dala::nif;

namespace {

// `what` names the buffer in an error.
BufferPtr decode_buffer(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& what) {
  try {
    return fine::decode<fine::ResourcePtr<BufferResource>>(env, term)->buffer;
  } catch (const std::invalid_argument&) {
    if (enif_is_ref(env, term) != 0) {
      throw dala::Error(Reason::freed,
                        text(what, " (", shown(env, term), ") refers to no buffer on this node"));
    }
    throw std::invalid_argument(what + " is not a buffer: " + shown(env, term));
  }
}

// Buffers of a list; `what` is "input" or "output".
std::vector<BufferPtr> decode_list(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& what) {
  std::vector<BufferPtr> buffers;
  ERL_NIF_TERM head = 0;
  ERL_NIF_TERM tail = term;
  while (enif_get_list_cell(env, tail, &head, &tail) != 0) {
    if (buffers.size() == kMostInputs) {
      throw dala::Error(Reason::arity_mismatch,
                        text("a call has at most ", kMostInputs, " ", what, "s"));
    }
    buffers.push_back(decode_buffer(env, head, text(what, " ", buffers.size())));
  }
  if (enif_is_empty_list(env, tail) == 0) {
    throw std::invalid_argument(what + "s are a list of buffers, got " + shown(env, term));
  }
  return buffers;
}

}  // namespace

BufferPtr Decoder<BufferPtr>::decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  return decode_buffer(env, term, "the buffer");
}

ERL_NIF_TERM Encoder<BufferPtr>::encode(ErlNifEnv* env, const BufferPtr& buffer) {
  return fine::encode(env, fine::make_resource<BufferResource>(buffer));
}

Inputs Decoder<Inputs>::decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  return {decode_list(env, term, "input")};
}

Outputs Decoder<Outputs>::decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  if (enif_is_list(env, term) == 0 || enif_is_empty_list(env, term) != 0) {
    return {decode_buffer(env, term, "the output"), {}};
  }
  std::vector<BufferPtr> buffers = decode_list(env, term, "output");
  BufferPtr first = std::move(buffers.front());
  buffers.erase(buffers.begin());
  return {std::move(first), std::move(buffers)};
}

Pinned Decoder<Pinned>::decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  fine::decode<ErlNifBinary>(env, term);  // throws for anything else
  ErlNifEnv* own = enif_alloc_env();
  std::shared_ptr<void> owner(own,
                              [](void* each) { enif_free_env(static_cast<ErlNifEnv*>(each)); });
  ErlNifBinary binary;
  enif_inspect_binary(own, enif_make_copy(own, term), &binary);
  return {std::move(owner), reinterpret_cast<const std::byte*>(binary.data), binary.size};
}

ERL_NIF_TERM Encoder<ReadbackBinary>::encode(ErlNifEnv* env, const ReadbackBinary& bytes) {
  const std::shared_ptr<Readback>& readback = bytes.readback;
  const auto* data = reinterpret_cast<const char*>(readback->data());
  if (readback->bytes() <= kCopyUpTo) return fine::make_new_binary(env, data, readback->bytes());
  ShownRanges::get().add(readback->data(), readback->bytes());
  return fine::make_resource_binary(env, fine::make_resource<ReadbackResource>(readback, true),
                                    data, readback->bytes());
}

}  // namespace fine
