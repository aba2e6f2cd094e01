// Buffers: made, read, described and freed. Only the list conversions take time that grows with
// the data; callers choose their dirty twins for long lists.
#include "nif/codec/list_codec.hpp"
#include "nif/resource/resources.hpp"

namespace dala::nif {
namespace {

using NewBuffer = OkOrError<BufferPtr>;

void need_size(const Pinned& binary, const TensorType& type) {
  if (binary.bytes == type.bytes()) return;
  throw Error(Reason::shape_mismatch,
              text("shape ", to_string(type.shape), " of ", to_string(type.dtype), " has ",
                   type.bytes(), " bytes, the binary has ", binary.bytes));
}

}  // namespace

NewBuffer buffer_from_list(ErlNifEnv* env, Term values, Given<Dims> shape, DType dtype) {
  return guarded(env, [&] {
    const TensorType type = type_of(shape, dtype);
    const auto current = engine();
    const std::vector<std::byte> bytes = encode_elements(env, values, type);
    return ok(current->runtime().from_host(type, bytes.data(), nullptr));
  });
}
FINE_NIF(buffer_from_list, 0);

NewBuffer buffer_from_list_dirty(ErlNifEnv* env, Term values, Given<Dims> shape, DType dtype) {
  return buffer_from_list(env, values, std::move(shape), dtype);
}
FINE_NIF(buffer_from_list_dirty, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// The size of the binary of ours that this is a part of, or 0.
uint64_t binary_whole(ErlNifEnv*, ErlNifBinary binary) { return shown_around(binary.data); }
FINE_NIF(binary_whole, 0);

// `referenced` is the size of what the binary keeps alive: more than its own when it is a part.
NewBuffer buffer_from_binary(ErlNifEnv* env, Pinned data, Given<Dims> shape, DType dtype,
                             uint64_t referenced) {
  return guarded(env, [&] {
    const TensorType type = type_of(shape, dtype);
    need_size(data, type);
    return ok(engine()->runtime().from_host(type, data.data, std::move(data.owner), referenced));
  });
}
FINE_NIF(buffer_from_binary, 0);

OkOrError<> buffer_write(ErlNifEnv* env, Given<BufferPtr> buffer, Pinned data,
                         uint64_t referenced) {
  return guarded(env, [&] {
    need_size(data, (*buffer)->type());
    engine()->runtime().write(*buffer, data.data, std::move(data.owner), referenced);
    return ok();
  });
}
FINE_NIF(buffer_write, 0);

NewBuffer buffer_zeros(ErlNifEnv* env, Given<Dims> shape, DType dtype) {
  return guarded(env, [&] {
    const TensorType type = type_of(shape, dtype);
    return ok(engine()->runtime().zeros(type));
  });
}
FINE_NIF(buffer_zeros, 0);

// The content as it is now under another type with as many bytes. Both share their memory, which a
// later write to either leaves to the other.
NewBuffer buffer_view(ErlNifEnv* env, Given<BufferPtr> buffer, Given<Dims> shape, DType dtype) {
  return guarded(env, [&] {
    const TensorType type = type_of(shape, dtype);
    const TensorType& have = (*buffer)->type();
    if (type.bytes() != have.bytes()) {
      throw Error(Reason::shape_mismatch, text(to_string(have), " cannot be viewed as ",
                                               to_string(type), ": expected as many bytes"));
    }
    return ok(scheduler().snapshot(**buffer, type, "the buffer"));
  });
}
FINE_NIF(buffer_view, 0);

// For the stages of a pipeline only: has no memory of its own.
NewBuffer buffer_temporary(ErlNifEnv* env, Given<Dims> shape, DType dtype) {
  return guarded(env, [&] {
    const TensorType type = type_of(shape, dtype);
    return ok(engine()->runtime().temporary(type));
  });
}
FINE_NIF(buffer_temporary, 0);

// Its dimensions and its element type.
OkOrError<std::tuple<Shape, DType>> buffer_type(ErlNifEnv* env, Given<BufferPtr> buffer) {
  return guarded(env, [&] {
    const TensorType& type = (*buffer)->type();
    return ok(std::tuple(type.shape, type.dtype));
  });
}
FINE_NIF(buffer_type, 0);

// :memory, :temporary or :freed.
fine::Atom buffer_state(ErlNifEnv* env, Given<BufferPtr> buffer) {
  const Caller caller(env);
  try {
    if (scheduler().valid(**buffer)) {
      return fine::Atom((*buffer)->temporary() ? "temporary" : "memory");
    }
  } catch (const Error&) {
    // Collected, or of a device that is gone.
  }
  return fine::Atom("freed");
}
FINE_NIF(buffer_state, 0);

OkOrError<> buffer_free(ErlNifEnv* env, Given<BufferPtr> buffer) {
  return guarded(env, [&] {
    scheduler().free(**buffer);
    return ok();
  });
}
FINE_NIF(buffer_free, 0);

// `{:ok, binary}` when the content is there, else `{:pending, id, readback}`: wait for the
// command, then ask for `readback_binary`.
namespace {

using Pending = std::tuple<fine::Atom, uint64_t, fine::ResourcePtr<ReadbackResource>>;
using Read = std::variant<fine::Ok<ReadbackBinary>, Pending>;

Read started(const Runtime::Read& read) {
  if (!read.pending) return ok(ReadbackBinary{read.readback});
  return Pending(fine::Atom("pending"), *read.pending,
                 fine::make_resource<ReadbackResource>(read.readback));
}

}  // namespace

Result<Read> buffer_read(ErlNifEnv* env, Given<BufferPtr> buffer) {
  return guarded(env,
                 [&] { return started(engine()->runtime().read(*buffer, waiting_client(env))); });
}
FINE_NIF(buffer_read, 0);

Result<Read> buffer_read_part(ErlNifEnv* env, Given<BufferPtr> buffer, uint64_t offset,
                              uint64_t count) {
  return guarded(env, [&] {
    const TensorType& type = (*buffer)->type();
    const auto elements = static_cast<uint64_t>(type.count());
    if (offset > elements || count > elements - offset) {
      throw Error(Reason::invalid_param,
                  text("the buffer has ", elements, " elements, expected the ", count,
                       " elements from ", offset, " on to be there"));
    }
    const size_t size = size_of(type.dtype);
    return started(
        engine()->runtime().read_part(*buffer, offset * size, count * size, waiting_client(env)));
  });
}
FINE_NIF(buffer_read_part, 0);

ReadbackBinary readback_binary(ErlNifEnv*, fine::ResourcePtr<ReadbackResource> resource) {
  return {resource->readback};
}
FINE_NIF(readback_binary, 0);

// The elements of these bytes: numbers, and atoms for non-finite ones.
Result<Term> decode_list(ErlNifEnv* env, ErlNifBinary binary, DType dtype) {
  return guarded(env, [&] { return decode_elements(env, binary.data, binary.size, dtype); });
}
FINE_NIF(decode_list, 0);

Result<Term> decode_list_dirty(ErlNifEnv* env, ErlNifBinary binary, DType dtype) {
  return decode_list(env, binary, dtype);
}
FINE_NIF(decode_list_dirty, ERL_NIF_DIRTY_JOB_CPU_BOUND);

}  // namespace dala::nif
