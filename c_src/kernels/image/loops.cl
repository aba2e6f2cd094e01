// A loop whose rounds do not depend on each other, for compilers that cannot see it.

#ifdef __clang__
#define INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_LOOP
#endif
