// Writing past the caches, for devices that are CPUs. An ordinary store first reads the line that
// it writes to; for output that is larger than the caches that is a third of all traffic, and its
// lines push out others.
//
// Blocks of STREAM_BLOCK bytes are put together in private memory and stored as whole lines, from a
// line's start on. Where the compiler has no such stores, nothing is large enough.

#define STREAM_FROM (8 << 20)  // bytes of output; less is soon read again
#define STREAM_BLOCK 256       // several lines

typedef long StreamLine __attribute__((vector_size(64)));

#ifdef __clang__

static inline bool streams(const ulong bytes) { return bytes >= STREAM_FROM; }

static inline void stream_block(const void *block, __global void *out) {
  for (int n = 0; n < STREAM_BLOCK / 64; ++n) {
    __builtin_nontemporal_store(((const StreamLine *)block)[n], (__global StreamLine *)out + n);
  }
}

// These stores are ordered with later ones only by a fence.
static inline void end_stream() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#else

static inline bool streams(const ulong bytes) { return false; }
static inline void stream_block(const void *block, __global void *out) {}
static inline void end_stream() {}

#endif

// Bytes from here to the start of a line.
static inline long to_next_line(__global const void *out) { return (long)((0 - (ulong)out) % 64); }
