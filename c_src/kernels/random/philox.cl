// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011):
// four random words from a counter of 128 bits and a key of 64 bits.
//
//   LANES   how many counters a vector holds; 1 for scalars
//
// The counter is the block in its lower half and the stream in its upper half; the key is the seed.
#pragma once

#include "kernels/common/paste.h"
#include "kernels/random/random_args.h"

#if LANES == 1
#define UINTS uint
#define ULONGS ulong
#else
#define UINTS PASTE(uint, LANES)
#define ULONGS PASTE(ulong, LANES)
#endif

// Some compilers scalarise convert_.
#if LANES > 1 && defined(__clang__)
#define CONVERT(x, TYPE) __builtin_convertvector(x, TYPE)
#else
#define CONVERT(x, TYPE) PASTE(convert_, TYPE)(x)
#endif

typedef struct Words {
  UINTS w0, w1, w2, w3;
} Words;

static inline Words philox(const ULONGS block, const ulong stream, const ulong seed) {
  Words c;
  c.w0 = CONVERT(block, UINTS);
  c.w1 = CONVERT(block >> (ULONGS)32, UINTS);
  c.w2 = (UINTS)(uint)stream;
  c.w3 = (UINTS)(uint)(stream >> 32);
  uint k0 = (uint)seed, k1 = (uint)(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const ULONGS a = CONVERT(c.w0, ULONGS) * (ULONGS)0xD2511F53UL;
    const ULONGS b = CONVERT(c.w2, ULONGS) * (ULONGS)0xCD9E8D57UL;
    c.w0 = CONVERT(b >> (ULONGS)32, UINTS) ^ c.w1 ^ (UINTS)k0;
    c.w1 = CONVERT(b, UINTS);
    c.w2 = CONVERT(a >> (ULONGS)32, UINTS) ^ c.w3 ^ (UINTS)k1;
    c.w3 = CONVERT(a, UINTS);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}
