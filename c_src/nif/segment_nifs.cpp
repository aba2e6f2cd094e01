// Memory shared with a device's own process, and tokens for what another process keeps for this
// one; see Dala.Gpu.Compute.Remote. None of them needs a device.
#include "nif/resource/resources.hpp"
#include "runtime/memory/segment.hpp"

namespace dala::nif {
namespace {

// The process, its descriptor, the inode and the offset.
using Place = std::tuple<int64_t, int64_t, uint64_t, uint64_t>;

// A binary over memory that `memory` keeps.
template <typename Memory>
Term binary_over(ErlNifEnv* env, std::shared_ptr<Memory> memory, std::optional<Farewell> farewell) {
  const std::byte* data = memory->data();
  const size_t bytes = memory->bytes();
  auto resource = fine::make_resource<SegmentResource>(std::move(memory), data, farewell);
  add_shown(data, bytes);
  return fine::make_resource_binary(env, std::move(resource), reinterpret_cast<const char*>(data),
                                    bytes);
}

}  // namespace

// From now on the memory of large buffers can be mapped by other processes.
OkOrError<> segments_share(ErlNifEnv* env) {
  return guarded(env, [&] {
    share_host_memory();
    return ok();
  });
}
FINE_NIF(segments_share, 0);

// The bytes as a binary in shared memory.
OkOrError<Term> segment_copy(ErlNifEnv* env, ErlNifBinary binary) {
  return guarded(env, [&] {
    auto copy =
        std::make_shared<SegmentCopy>(reinterpret_cast<const std::byte*>(binary.data), binary.size);
    return ok(binary_over(env, std::move(copy), std::nullopt));
  });
}
FINE_NIF(segment_copy, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// `{:ok, {os_pid, fd, inode, offset}}`, where another process finds the bytes of a binary.
OkOrError<Place> segment_place(ErlNifEnv* env, ErlNifBinary binary) {
  return guarded(env, [&] {
    const auto place = segment_at(reinterpret_cast<const std::byte*>(binary.data), binary.size);
    if (!place) {
      throw Error(Reason::unsupported,
                  text("the binary of ", binary.size, " bytes is not in shared memory"));
    }
    return ok(Place(place->os_pid, place->fd, place->inode, place->offset));
  });
}
FINE_NIF(segment_place, 0);

// Bytes of another process as a binary. `pid` gets `{:dala_gpu_released, tag}` when it has been
// collected.
OkOrError<Term> segment_map(ErlNifEnv* env, Place place, uint64_t bytes, ErlNifPid pid,
                            uint64_t tag) {
  return guarded(env, [&] {
    const auto [os_pid, fd, inode, offset] = place;
    if (os_pid < 1 || fd < 0 || fd > INT32_MAX) throw std::invalid_argument("no such place");
    auto mapped = std::make_shared<MappedSegment>(
        SegmentPlace{os_pid, static_cast<int>(fd), inode, offset}, bytes);
    return ok(binary_over(env, std::move(mapped), Farewell{pid, tag}));
  });
}
FINE_NIF(segment_map, 0);

// Gives up shared memory that is kept for further copies.
OkOrError<> segments_trim(ErlNifEnv* env) {
  return guarded(env, [&] {
    trim_segments();
    return ok();
  });
}
FINE_NIF(segments_trim, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// `pid` gets `{:dala_gpu_released, tag}` when the token has been collected.
fine::ResourcePtr<TokenResource> token_new(ErlNifEnv*, ErlNifPid pid, uint64_t tag) {
  return fine::make_resource<TokenResource>(Farewell{pid, tag});
}
FINE_NIF(token_new, 0);

}  // namespace dala::nif
