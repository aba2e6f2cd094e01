// Buffers: made, read, described and freed. Only the list conversions take time that grows with
// the data; callers choose their dirty twins for long lists.
#include "nif/list_codec.hpp"
#include "nif/resources.hpp"

namespace dala::nif {
namespace {

// Keeps a binary alive in an environment of its own, and finds its bytes there.
struct Pinned {
  std::shared_ptr<void> owner;
  const unsigned char* data = nullptr;
};
Pinned pin(ERL_NIF_TERM term) {
  ErlNifEnv* env = enif_alloc_env();
  std::shared_ptr<void> owner(env,
                              [](void* each) { enif_free_env(static_cast<ErlNifEnv*>(each)); });
  ErlNifBinary binary;
  enif_inspect_binary(env, enif_make_copy(env, term), &binary);
  return {std::move(owner), binary.data};
}

// The binary, which must have the type's size.
ErlNifBinary sized_binary(ErlNifEnv* env, ERL_NIF_TERM data, const TensorType& type) {
  const auto binary = fine::decode<ErlNifBinary>(env, data);
  if (binary.size == type.bytes()) return binary;
  throw Error(Reason::shape_mismatch,
              text("shape ", to_string(type.shape), " of ", to_string(type.dtype), " has ",
                   type.bytes(), " bytes, the binary has ", binary.size));
}

}  // namespace

Term buffer_from_list(ErlNifEnv* env, Term values, Term shape, Term dtype) {
  return guarded(env, [&] {
    const TensorType type = decode_type(env, shape, dtype);
    const auto current = engine();
    const std::vector<std::byte> bytes = encode_elements(env, values, type);
    return new_buffer(env, current->runtime().from_host(type, bytes.data(), nullptr));
  });
}
FINE_NIF(buffer_from_list, 0);

Term buffer_from_list_dirty(ErlNifEnv* env, Term values, Term shape, Term dtype) {
  return buffer_from_list(env, values, shape, dtype);
}
FINE_NIF(buffer_from_list_dirty, ERL_NIF_DIRTY_JOB_CPU_BOUND);

// The size of the binary of ours that this is a part of, or 0.
Term binary_whole(ErlNifEnv* env, ErlNifBinary binary) {
  return unsigned_integer(env, shown_around(binary.data));
}
FINE_NIF(binary_whole, 0);

// `referenced` is the size of what the binary keeps alive: more than its own when it is a part.
Term buffer_from_binary(ErlNifEnv* env, Term data, Term shape, Term dtype, uint64_t referenced) {
  return guarded(env, [&] {
    const TensorType type = decode_type(env, shape, dtype);
    sized_binary(env, data, type);
    const auto current = engine();
    Pinned pinned = pin(data);
    return new_buffer(
        env, current->runtime().from_host(type, pinned.data, std::move(pinned.owner), referenced));
  });
}
FINE_NIF(buffer_from_binary, 0);

Term buffer_write(ErlNifEnv* env, Term ref, Term data, uint64_t referenced) {
  return guarded(env, [&] {
    const BufferPtr buffer = decode_buffer(env, ref, "the buffer");
    sized_binary(env, data, buffer->type());
    const auto current = engine();
    Pinned pinned = pin(data);
    current->runtime().write(buffer, pinned.data, std::move(pinned.owner), referenced);
    return atom(env, "ok");
  });
}
FINE_NIF(buffer_write, 0);

Term buffer_zeros(ErlNifEnv* env, Term shape, Term dtype) {
  return guarded(env, [&] {
    const TensorType type = decode_type(env, shape, dtype);
    return new_buffer(env, engine()->runtime().zeros(type));
  });
}
FINE_NIF(buffer_zeros, 0);

// The content as it is now under another type with as many elements of the same size. Both share
// their memory, which a later write to either leaves to the other.
Term buffer_view(ErlNifEnv* env, Term ref, Term shape, Term dtype) {
  return guarded(env, [&] {
    const TensorType type = decode_type(env, shape, dtype);
    const BufferPtr buffer = decode_buffer(env, ref, "the buffer");
    const TensorType& have = buffer->type();
    if (type.count() != have.count() || size_of(type.dtype) != size_of(have.dtype)) {
      throw Error(Reason::shape_mismatch,
                  text(to_string(have), " cannot be viewed as ", to_string(type),
                       ": expected as many elements of the same size"));
    }
    return new_buffer(env, engine()->runtime().scheduler().snapshot(*buffer, type, "the buffer"));
  });
}
FINE_NIF(buffer_view, 0);

// For the stages of a pipeline only: has no memory of its own.
Term buffer_temporary(ErlNifEnv* env, Term shape, Term dtype) {
  return guarded(env, [&] {
    const TensorType type = decode_type(env, shape, dtype);
    return new_buffer(env, engine()->runtime().temporary(type));
  });
}
FINE_NIF(buffer_temporary, 0);

Term buffer_type(ErlNifEnv* env, Term ref) {
  return guarded(env, [&] {
    const TensorType& type = decode_buffer(env, ref, "the buffer")->type();
    return ok(env, tuple(env, {encode_shape(env, type.shape), atom(env, to_string(type.dtype))}));
  });
}
FINE_NIF(buffer_type, 0);

// :memory, :temporary or :freed.
Term buffer_state(ErlNifEnv* env, Term ref) {
  const Caller caller(env);
  try {
    const BufferPtr buffer = decode_buffer(env, ref, "the buffer");
    if (engine()->runtime().scheduler().valid(*buffer)) {
      return atom(env, buffer->temporary() ? "temporary" : "memory");
    }
  } catch (const Error&) {
    // Collected, or of a device that is gone.
  }
  return atom(env, "freed");
}
FINE_NIF(buffer_state, 0);

Term buffer_free(ErlNifEnv* env, Term ref) {
  return guarded(env, [&] {
    const BufferPtr buffer = decode_buffer(env, ref, "the buffer");
    engine()->runtime().scheduler().free(*buffer);
    return atom(env, "ok");
  });
}
FINE_NIF(buffer_free, 0);

// `{:ok, binary}` when the content is there, else `{:pending, id, readback}`: wait for the
// command, then ask for `readback_binary`.
namespace {

Term encode_read(ErlNifEnv* env, const Runtime::Read& read) {
  if (!read.pending) return ok(env, encode_binary(env, read.readback));
  return tuple(env, {atom(env, "pending"), unsigned_integer(env, *read.pending),
                     fine::encode(env, fine::make_resource<ReadbackResource>(read.readback))});
}

}  // namespace

Term buffer_read(ErlNifEnv* env, Term ref) {
  return guarded(env, [&] {
    const BufferPtr buffer = decode_buffer(env, ref, "the buffer");
    return encode_read(env, engine()->runtime().read(buffer, waiting_client(env)));
  });
}
FINE_NIF(buffer_read, 0);

Term buffer_read_part(ErlNifEnv* env, Term ref, uint64_t offset, uint64_t count) {
  return guarded(env, [&] {
    const BufferPtr buffer = decode_buffer(env, ref, "the buffer");
    const auto elements = static_cast<uint64_t>(buffer->type().count());
    if (offset > elements || count > elements - offset) {
      throw Error(Reason::invalid_param,
                  text("the buffer has ", elements, " elements, expected the ", count,
                       " elements from ", offset, " on to be there"));
    }
    const size_t size = size_of(buffer->type().dtype);
    return encode_read(env, engine()->runtime().read_part(buffer, offset * size, count * size,
                                                          waiting_client(env)));
  });
}
FINE_NIF(buffer_read_part, 0);

Term readback_binary(ErlNifEnv* env, fine::ResourcePtr<ReadbackResource> resource) {
  return guarded(env, [&] { return encode_binary(env, resource->readback); });
}
FINE_NIF(readback_binary, 0);

Term decode_list(ErlNifEnv* env, ErlNifBinary binary, Term dtype) {
  return guarded(env, [&] {
    return decode_elements(env, binary.data, binary.size, decode_dtype(env, dtype));
  });
}
FINE_NIF(decode_list, 0);

Term decode_list_dirty(ErlNifEnv* env, ErlNifBinary binary, Term dtype) {
  return decode_list(env, binary, dtype);
}
FINE_NIF(decode_list_dirty, ERL_NIF_DIRTY_JOB_CPU_BOUND);

}  // namespace dala::nif
