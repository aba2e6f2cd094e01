// What the matrix product kernels share: extents, where the matrices of a batch are, and what is
// done to a result before it is stored.
//
//   T, UT        element type, and its unsigned counterpart (T itself for floats)

#define MAX_BATCH_RANK 8

typedef struct {
  long m;
  long n;
  long k;
  long a_pitch;  // elements from one stored row to the next
  long b_pitch;
  long transpose_a;  // stored as {k, m}
  long transpose_b;  // stored as {n, k}
  long has_bias;
  long batch;  // products, along dimensions that begin with the innermost
  long batch_rank;
  long batch_dims[MAX_BATCH_RANK];
  long a_steps[MAX_BATCH_RANK];  // elements between neighbours; 0 where an operand is repeated
  long b_steps[MAX_BATCH_RANK];
  // How the work is cut for devices that are CPUs, see matmul_cpu.cl and matmul_thin_cpu.cl.
  long strip_rows;
  long strip_columns;
  long block;
  long block_rows;
  long split;  // products of k per work-group; all of k where sums are not split
  long in_place;
  long thin;
  long thin_is_b;
} Product;

// Where matrix `index` of an operand begins.
static inline long matrix_at(const Product *product, const long *steps, long index) {
  long at = 0;
  for (int d = 0; d < product->batch_rank; ++d) {
    at += index % product->batch_dims[d] * steps[d];
    index /= product->batch_dims[d];
  }
  return at;
}

// The bounds of an activation; NaN stays.
#define BOUNDED(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))

static inline T finished(const UT sum, const UT bias, const T low, const T high) {
  const T x = (T)(UT)(sum + bias);
  return BOUNDED(x, low, high);
}
