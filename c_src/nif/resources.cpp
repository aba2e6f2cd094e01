#include "nif/resources.hpp"

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

Term encode_binary(ErlNifEnv* env, const std::shared_ptr<Readback>& readback) {
  const auto* data = reinterpret_cast<const char*>(readback->data());
  if (readback->bytes() <= kCopyUpTo) return fine::make_new_binary(env, data, readback->bytes());
  ShownRanges::get().add(readback->data(), readback->bytes());
  return fine::make_resource_binary(env, fine::make_resource<ReadbackResource>(readback, true),
                                    data, readback->bytes());
}

size_t shown_around(const unsigned char* data) {
  return ShownRanges::get().around(reinterpret_cast<const std::byte*>(data));
}

BufferPtr decode_buffer(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& what) {
  try {
    return fine::decode<fine::ResourcePtr<BufferResource>>(env, term)->buffer;
  } catch (const std::invalid_argument&) {
    if (enif_is_ref(env, term) != 0) {
      throw Error(Reason::freed,
                  text(what, " (", shown(env, term), ") refers to no buffer on this node"));
    }
    throw std::invalid_argument(what + " is not a buffer: " + shown(env, term));
  }
}

Term new_buffer(ErlNifEnv* env, BufferPtr buffer) {
  return ok(env, fine::encode(env, fine::make_resource<BufferResource>(std::move(buffer))));
}

BufferPtr undefined_buffer(Runtime& runtime, const TensorType& type) {
  return std::make_shared<Buffer>(type, runtime.memory().allocate(type.bytes()));
}

std::vector<BufferPtr> decode_buffers(ErlNifEnv* env, ERL_NIF_TERM term) {
  std::vector<BufferPtr> buffers;
  ERL_NIF_TERM head = 0;
  ERL_NIF_TERM tail = term;
  while (enif_get_list_cell(env, tail, &head, &tail) != 0) {
    if (buffers.size() == kMostInputs) {
      throw Error(Reason::arity_mismatch, text("a call has at most ", kMostInputs, " inputs"));
    }
    buffers.push_back(decode_buffer(env, head, text("input ", buffers.size())));
  }
  if (enif_is_empty_list(env, tail) == 0) {
    throw std::invalid_argument("inputs are a list of buffers, got " + shown(env, term));
  }
  return buffers;
}

std::shared_ptr<Client> waiting_client(ErlNifEnv* env) {
  return std::make_shared<WaitingProcess>(self(env));
}

std::shared_ptr<Client> submitting_client(ErlNifEnv* env, bool shared) {
  return std::make_shared<SubmittingProcess>(self(env), shared);
}

}  // namespace dala::nif
