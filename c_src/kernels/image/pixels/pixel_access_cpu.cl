// Loads and stores of 16 pixels of 1, 3 or 4 channels, unaligned, CPU family. One channel stands
// for red, green and blue; missing alpha is 1.
#pragma once

#include "kernels/image/pixels/pixels.cl"

// Twice the distance of each lane from the first pixel.
#define LANE_STEPS ((float16)(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30))

#if T_FLOAT
typedef float16 Elements;
#define FROM_ELEMENTS(x) (x)
#define AS_ELEMENTS(x) (x)
#else
typedef uchar16 Elements;
#define FROM_ELEMENTS(x) (TO_REALS(x) * (1.0f / 255.0f))
#ifdef __clang__
#define AS_ELEMENTS(x) __builtin_convertvector(to_levels(x), uchar16)
#else
#define AS_ELEMENTS(x) convert_uchar16(to_levels(x))
#endif
#endif

// Some compilers split wide vload and vstore calls. They do not split accesses through a vector
// type that has the alignment of its elements.
#ifdef __clang__
typedef Elements LooseElements __attribute__((aligned(sizeof(T))));
#define ELEMENTS_AT(SPACE, pointer) (*(SPACE const LooseElements *)(pointer))
#define PUT_ELEMENTS(SPACE, elements, pointer) (*(SPACE LooseElements *)(pointer) = (elements))
#else
#define ELEMENTS_AT(SPACE, pointer) vload16(0, pointer)
#define PUT_ELEMENTS(SPACE, elements, pointer) vstore16(elements, 0, pointer)
#endif

// Four bytes are one word, from which channels are extracted by shifts, without moving them between
// lanes. One shuffle converts between three bytes per pixel and words.
#if !T_FLOAT && defined(__clang__) && defined(__ENDIAN_LITTLE__)
#define WORDS 1
typedef uint16 LooseWords __attribute__((aligned(1)));
typedef uchar Bytes32 __attribute__((ext_vector_type(32)));
typedef uchar Bytes64 __attribute__((ext_vector_type(64)));
#else
#define WORDS 0
#endif

#define ONE_CHANNEL_IN(SPACE)                                                              \
  static inline Pixels __attribute__((overloadable)) load_1(SPACE const T *from) {         \
    const Reals grey = FROM_ELEMENTS(ELEMENTS_AT(SPACE, from));                            \
    const Pixels out = {grey, grey, grey, (Reals)(1.0f)};                                  \
    return out;                                                                            \
  }                                                                                        \
  static inline void __attribute__((overloadable)) store_1(const Pixels in, SPACE T *to) { \
    PUT_ELEMENTS(SPACE, AS_ELEMENTS(in.r), to);                                            \
  }
ONE_CHANNEL_IN(__global)
ONE_CHANNEL_IN(__private)

#if WORDS
// The byte indices that expand 48 bytes to 16 words with zeros, and the reverse.
#define FIRST_16 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define NEXT_16 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#define THIRD_16 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47
#define LAST_16 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63
#define FROM_THREES                                                                               \
  0, 1, 2, 48, 3, 4, 5, 48, 6, 7, 8, 48, 9, 10, 11, 48, 12, 13, 14, 48, 15, 16, 17, 48, 18, 19,   \
      20, 48, 21, 22, 23, 48, 24, 25, 26, 48, 27, 28, 29, 48, 30, 31, 32, 48, 33, 34, 35, 48, 36, \
      37, 38, 48, 39, 40, 41, 48, 42, 43, 44, 48, 45, 46, 47, 48
#define TO_THREES                                                                                 \
  0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30, 32, 33, \
      34, 36, 37, 38, 40, 41, 42, 44, 45, 46, 48, 49, 50, 52, 53, 54, 56, 57, 58, 60, 61, 62

static inline Pixels pixels_of_words(const uint16 words) {
  const Pixels out = {from_levels(words & 255u), from_levels(words >> 8u & 255u),
                      from_levels(words >> 16u & 255u), from_levels(words >> 24u)};
  return out;
}
static inline uint16 colour_words(const Pixels in) {
  return to_levels(in.r) | to_levels(in.g) << 8u | to_levels(in.b) << 16u;
}

#define COLOURS_IN(SPACE)                                                                          \
  static inline uint16 __attribute__((overloadable)) words_3(SPACE const T *from) {                \
    const Bytes32 low = __builtin_shufflevector(ELEMENTS_AT(SPACE, from),                          \
                                                ELEMENTS_AT(SPACE, from + 16), FIRST_16, NEXT_16); \
    const Bytes32 high =                                                                           \
        __builtin_shufflevector(ELEMENTS_AT(SPACE, from + 32), (uchar16)(0), FIRST_16, NEXT_16);   \
    const Bytes64 bytes =                                                                          \
        __builtin_shufflevector(low, high, FIRST_16, NEXT_16, THIRD_16, LAST_16);                  \
    const Bytes64 words = __builtin_shufflevector(bytes, bytes, FROM_THREES);                      \
    return __builtin_astype(words, uint16);                                                        \
  }                                                                                                \
  static inline void __attribute__((overloadable)) put_words_3(const uint16 words, SPACE T *to) {  \
    const Bytes64 bytes = __builtin_astype(words, Bytes64);                                        \
    const Bytes64 packed = __builtin_shufflevector(bytes, bytes, TO_THREES, LAST_16);              \
    PUT_ELEMENTS(SPACE, __builtin_shufflevector(packed, packed, FIRST_16), to);                    \
    PUT_ELEMENTS(SPACE, __builtin_shufflevector(packed, packed, NEXT_16), to + 16);                \
    PUT_ELEMENTS(SPACE, __builtin_shufflevector(packed, packed, THIRD_16), to + 32);               \
  }                                                                                                \
  static inline void __attribute__((overloadable)) put_words_1(const uint16 words, SPACE T *to) {  \
    PUT_ELEMENTS(SPACE, __builtin_convertvector(words, uchar16), to);                              \
  }                                                                                                \
  static inline Pixels __attribute__((overloadable)) load_3(SPACE const T *from) {                 \
    Pixels out = pixels_of_words(words_3(from));                                                   \
    out.a = (Reals)(1.0f);                                                                         \
    return out;                                                                                    \
  }                                                                                                \
  static inline void __attribute__((overloadable)) store_3(const Pixels in, SPACE T *to) {         \
    put_words_3(colour_words(in), to);                                                             \
  }                                                                                                \
  static inline uint16 __attribute__((overloadable)) words_4(SPACE const T *from) {                \
    return *(SPACE const LooseWords *)from;                                                        \
  }                                                                                                \
  static inline void __attribute__((overloadable)) put_words_4(const uint16 words, SPACE T *to) {  \
    *(SPACE LooseWords *)to = words;                                                               \
  }                                                                                                \
  static inline Pixels __attribute__((overloadable)) load_4(SPACE const T *from) {                 \
    return pixels_of_words(words_4(from));                                                         \
  }                                                                                                \
  static inline void __attribute__((overloadable)) store_4(const Pixels in, SPACE T *to) {         \
    put_words_4(colour_words(in) | to_levels(in.a) << 24u, to);                                    \
  }
#else
#define CONCAT4(a, b, c, d, s) (Elements)((a).s, (b).s, (c).s, (d).s)
static inline Pixels pixels_of(const Elements r, const Elements g, const Elements b,
                               const Elements a) {
  const Pixels out = {FROM_ELEMENTS(r), FROM_ELEMENTS(g), FROM_ELEMENTS(b), FROM_ELEMENTS(a)};
  return out;
}

#define COLOURS_IN(SPACE)                                                                     \
  static inline Pixels __attribute__((overloadable)) load_3(SPACE const T *from) {            \
    const Elements p = ELEMENTS_AT(SPACE, from), q = ELEMENTS_AT(SPACE, from + 16),           \
                   s = ELEMENTS_AT(SPACE, from + 32);                                         \
    const Elements r = (Elements)(p.s0, p.s3, p.s6, p.s9, p.sc, p.sf, q.s2, q.s5, q.s8, q.sb, \
                                  q.se, s.s1, s.s4, s.s7, s.sa, s.sd);                        \
    const Elements g = (Elements)(p.s1, p.s4, p.s7, p.sa, p.sd, q.s0, q.s3, q.s6, q.s9, q.sc, \
                                  q.sf, s.s2, s.s5, s.s8, s.sb, s.se);                        \
    const Elements b = (Elements)(p.s2, p.s5, p.s8, p.sb, p.se, q.s1, q.s4, q.s7, q.sa, q.sd, \
                                  s.s0, s.s3, s.s6, s.s9, s.sc, s.sf);                        \
    const Pixels out = {FROM_ELEMENTS(r), FROM_ELEMENTS(g), FROM_ELEMENTS(b), (Reals)(1.0f)}; \
    return out;                                                                               \
  }                                                                                           \
  static inline void __attribute__((overloadable)) store_3(const Pixels in, SPACE T *to) {    \
    const Elements r = AS_ELEMENTS(in.r), g = AS_ELEMENTS(in.g), b = AS_ELEMENTS(in.b);       \
    PUT_ELEMENTS(SPACE,                                                                       \
                 (Elements)(r.s0, g.s0, b.s0, r.s1, g.s1, b.s1, r.s2, g.s2, b.s2, r.s3, g.s3, \
                            b.s3, r.s4, g.s4, b.s4, r.s5),                                    \
                 to);                                                                         \
    PUT_ELEMENTS(SPACE,                                                                       \
                 (Elements)(g.s5, b.s5, r.s6, g.s6, b.s6, r.s7, g.s7, b.s7, r.s8, g.s8, b.s8, \
                            r.s9, g.s9, b.s9, r.sa, g.sa),                                    \
                 to + 16);                                                                    \
    PUT_ELEMENTS(SPACE,                                                                       \
                 (Elements)(b.sa, r.sb, g.sb, b.sb, r.sc, g.sc, b.sc, r.sd, g.sd, b.sd, r.se, \
                            g.se, b.se, r.sf, g.sf, b.sf),                                    \
                 to + 32);                                                                    \
  }                                                                                           \
  static inline Pixels __attribute__((overloadable)) load_4(SPACE const T *from) {            \
    const Elements p = ELEMENTS_AT(SPACE, from), q = ELEMENTS_AT(SPACE, from + 16),           \
                   s = ELEMENTS_AT(SPACE, from + 32), t = ELEMENTS_AT(SPACE, from + 48);      \
    return pixels_of(CONCAT4(p, q, s, t, s048c), CONCAT4(p, q, s, t, s159d),                  \
                     CONCAT4(p, q, s, t, s26ae), CONCAT4(p, q, s, t, s37bf));                 \
  }                                                                                           \
  static inline void __attribute__((overloadable)) store_4(const Pixels in, SPACE T *to) {    \
    const Elements r = AS_ELEMENTS(in.r), g = AS_ELEMENTS(in.g), b = AS_ELEMENTS(in.b),       \
                   a = AS_ELEMENTS(in.a);                                                     \
    PUT_ELEMENTS(SPACE,                                                                       \
                 (Elements)(r.s0, g.s0, b.s0, a.s0, r.s1, g.s1, b.s1, a.s1, r.s2, g.s2, b.s2, \
                            a.s2, r.s3, g.s3, b.s3, a.s3),                                    \
                 to);                                                                         \
    PUT_ELEMENTS(SPACE,                                                                       \
                 (Elements)(r.s4, g.s4, b.s4, a.s4, r.s5, g.s5, b.s5, a.s5, r.s6, g.s6, b.s6, \
                            a.s6, r.s7, g.s7, b.s7, a.s7),                                    \
                 to + 16);                                                                    \
    PUT_ELEMENTS(SPACE,                                                                       \
                 (Elements)(r.s8, g.s8, b.s8, a.s8, r.s9, g.s9, b.s9, a.s9, r.sa, g.sa, b.sa, \
                            a.sa, r.sb, g.sb, b.sb, a.sb),                                    \
                 to + 32);                                                                    \
    PUT_ELEMENTS(SPACE,                                                                       \
                 (Elements)(r.sc, g.sc, b.sc, a.sc, r.sd, g.sd, b.sd, a.sd, r.se, g.se, b.se, \
                            a.se, r.sf, g.sf, b.sf, a.sf),                                    \
                 to + 48);                                                                    \
  }
#endif
COLOURS_IN(__global)
COLOURS_IN(__private)
