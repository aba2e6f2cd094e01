// INDEPENDENT_LOOP before a loop asserts that no iteration reads what another one writes. Compilers
// cannot prove this where pointers may alias, and need it to vectorise the loop.
#pragma once

#if defined(__clang__) && !defined(__cplusplus)
#define INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_LOOP
#endif
