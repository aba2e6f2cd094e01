// Non-temporal stores for the CPU family. An ordinary store first reads the cache line that it
// writes to; for output larger than the caches that is a third of all traffic, and it evicts other
// lines.
//
// Blocks of STREAM_BLOCK bytes are assembled in private memory and stored as whole lines, aligned
// to a line. Where the compiler has no non-temporal stores, streams() is always false.
#pragma once

#define STREAM_FROM (8 << 20)  // bytes of output; smaller outputs are likely to be read again soon
#define STREAM_BLOCK 256       // several lines

typedef long StreamLine __attribute__((vector_size(64)));

#ifdef __clang__

static inline bool streams(const ulong bytes) { return bytes >= STREAM_FROM; }

static inline void stream_block(const void *block, __global void *out) {
  for (int n = 0; n < STREAM_BLOCK / 64; ++n) {
    __builtin_nontemporal_store(((const StreamLine *)block)[n], (__global StreamLine *)out + n);
  }
}

// Only a fence orders non-temporal stores with later ones.
static inline void end_stream() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#else

static inline bool streams(const ulong bytes) { return false; }
static inline void stream_block(const void *block, __global void *out) {}
static inline void end_stream() {}

#endif

// The distance to the next line boundary in bytes; 0 on a boundary.
static inline long to_next_line(__global const void *out) { return (long)((0 - (ulong)out) % 64); }
