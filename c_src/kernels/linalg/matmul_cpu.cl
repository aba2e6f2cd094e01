// out = a * b for matrices a {m, k}, b {k, n}, out {m, n}, each `batch` times, for devices that
// are CPUs.
//
//   a, b, out      row-major elements of type T, matrix after matrix
//   m, n, k        extents of one matrix product
//   strip_rows     rows of out per work-group, a multiple of TILE_ROWS unless it is all of m
//   strip_columns  columns of out per work-group, a multiple of TILE_COLUMNS
//   block          how much of k is worked on at a time
//   packed         local memory for block * strip_columns elements of type ACC
//
//   T              element type
//   ACC            type in which products are summed: T for floats, unsigned for integers, which
//                  makes them wrap
//   LANES          elements of a vector of ACC
//   ROUND_TRIP     1 when ACC has T's size, so that vectors of it can be stored as they are
//
// A work-group is one item and owns a strip of columns over a strip of rows. For each block of k
// it packs its columns of b into panels of TILE_COLUMNS columns, which stay in the cache, and then
// computes the strip tile by tile. A tile is TILE_ROWS x TILE_COLUMNS: its sums are twelve named
// vectors, since this is what compilers keep in registers, and each step of k multiplies six
// broadcast elements of a with two vectors of b. Rows of a are read in place.
//
// Edge rules: rows past the end repeat the last one and are not stored, columns past the end are
// packed as zeros and not stored. Integers wrap. Preconditions: m, n, k > 0; out overlaps neither
// a nor b; range is {ceil(n / strip_columns), ceil(m / strip_rows), batch}.

#define TILE_ROWS 6
#define TILE_COLUMNS (2 * LANES)
#define BLOCK_ROWS 72  // rows of a that stay in the cache while the panels of b go past

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define VECTOR PASTE(ACC, LANES)
#define LOAD(pointer) PASTE(vload, LANES)(0, pointer)
#define STORE(vector, pointer) PASTE(vstore, LANES)(vector, 0, pointer)

#if T_FLOAT
#define MULTIPLY_ADD(x, y, sum) fma(x, y, sum)
#else
#define MULTIPLY_ADD(x, y, sum) ((x) * (y) + (sum))
#endif

#define FOR_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)

// Copies rows k0.. of b, `width` columns of it, into panels; short panels are filled with zeros.
static inline void pack(__global const T *b, const long n, const int depth, const int width,
                        const int block, __local ACC *packed) {
  for (int column = 0; column < width; column += TILE_COLUMNS) {
    __local ACC *to = packed + column * block;
    __global const T *from = b + column;
    if (column + TILE_COLUMNS <= width) {
      for (int p = 0; p < depth; ++p, to += TILE_COLUMNS, from += n) {
        for (int j = 0; j < TILE_COLUMNS; ++j) to[j] = (ACC)from[j];
      }
    } else {
      for (int p = 0; p < depth; ++p, to += TILE_COLUMNS, from += n) {
        for (int j = 0; j < TILE_COLUMNS; ++j) to[j] = column + j < width ? (ACC)from[j] : (ACC)0;
      }
    }
  }
}

// One tile: out[0..height)[0..width) of the product of `depth` columns of a with a panel,
// added to what is there when `add`.
static inline void tile(__global const T *a, const long k, const int depth,
                        __local const ACC *panel, __global T *out, const long n, const int height,
                        const int width, const bool add) {
#define ROW_POINTER(r) __global const T *a##r = a + min(r, height - 1) * k;
#define SUMS(r) VECTOR sum##r##l = (VECTOR)(0), sum##r##h = (VECTOR)(0);
  FOR_ROWS(ROW_POINTER)
  FOR_ROWS(SUMS)
#undef ROW_POINTER
#undef SUMS

#define ROW_STEP(r)                                                            \
  {                                                                            \
    const VECTOR factor = (VECTOR)((ACC)a##r[p]);                              \
    sum##r##l = MULTIPLY_ADD(factor, low, sum##r##l);                          \
    sum##r##h = MULTIPLY_ADD(factor, high, sum##r##h);                         \
  }
#define STEP                                                                   \
  {                                                                            \
    const VECTOR low = LOAD(panel), high = LOAD(panel + LANES);                \
    FOR_ROWS(ROW_STEP)                                                         \
    panel += TILE_COLUMNS;                                                     \
    ++p;                                                                       \
  }
  int p = 0;
  while (p + 4 <= depth) {
    STEP STEP STEP STEP
  }
  while (p < depth) STEP
#undef STEP
#undef ROW_STEP

#if ROUND_TRIP
  if (height == TILE_ROWS && width == TILE_COLUMNS) {
    __global ACC *to = (__global ACC *)out;
    if (add) {
#define ADD_ROW(r)                                                             \
  STORE(LOAD(to + r * n) + sum##r##l, to + r * n);                             \
  STORE(LOAD(to + r * n + LANES) + sum##r##h, to + r * n + LANES);
      FOR_ROWS(ADD_ROW)
#undef ADD_ROW
    } else {
#define STORE_ROW(r)                                                           \
  STORE(sum##r##l, to + r * n);                                                \
  STORE(sum##r##h, to + r * n + LANES);
      FOR_ROWS(STORE_ROW)
#undef STORE_ROW
    }
    return;
  }
#endif

  ACC sums[TILE_ROWS * TILE_COLUMNS];
#define SPILL(r)                                                               \
  STORE(sum##r##l, sums + r * TILE_COLUMNS);                                   \
  STORE(sum##r##h, sums + r * TILE_COLUMNS + LANES);
  FOR_ROWS(SPILL)
#undef SPILL
  for (int r = 0; r < height; ++r) {
    for (int j = 0; j < width; ++j) {
      const ACC before = add ? (ACC)out[r * n + j] : (ACC)0;
      out[r * n + j] = (T)(before + sums[r * TILE_COLUMNS + j]);
    }
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void matmul(__global const T *restrict a, __global const T *restrict b, __global T *restrict out,
            const long m, const long n, const long k, const long strip_rows,
            const int strip_columns, const int block, __local ACC *packed) {
  const long batch = (long)get_group_id(2);
  const long column0 = (long)get_group_id(0) * strip_columns;
  const long row0 = (long)get_group_id(1) * strip_rows;
  if (column0 >= n || row0 >= m) return;
  const int width = (int)min((long)strip_columns, n - column0);
  const long row_end = min(row0 + strip_rows, m);
  a += batch * m * k;
  b += batch * k * n + column0;
  out += batch * m * n + column0;

  for (long k0 = 0; k0 < k; k0 += block) {
    const int depth = (int)min((long)block, k - k0);
    pack(b + k0 * n, n, depth, width, block, packed);
    for (long rows = row0; rows < row_end; rows += BLOCK_ROWS) {
      const long rows_end = min(rows + BLOCK_ROWS, row_end);
      for (int column = 0; column < width; column += TILE_COLUMNS) {
        for (long row = rows; row < rows_end; row += TILE_ROWS) {
          tile(a + row * k + k0, k, depth, packed + column * block, out + row * n + column, n,
               (int)min((long)TILE_ROWS, rows_end - row), min(TILE_COLUMNS, width - column),
               k0 > 0);
        }
      }
    }
  }
}
