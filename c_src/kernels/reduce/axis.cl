// What the kernels along one axis share: the view of a tensor as [outer][axis][inner], and how its
// axis is cut into segments, each reduced on its own, so that one long axis can keep several
// work-groups busy. Without cutting there is one segment.

typedef struct {
  long outer;
  long axis;
  long inner;
  long segment;   // elements of the axis per segment; the last one may be shorter
  long segments;  // ceil(axis / segment)
  long columns;   // neighbouring ones per piece of work (CPU class), at most COLUMNS
  long units;     // pieces of work per group (CPU class)
  long total;     // elements that go into one result, before any cutting
} AxisView;

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

// CPU class: the most columns that are worked on side by side, and the lanes that one row is
// folded into.
#define COLUMNS 1024
#define LANES 64

#ifdef __clang__
#define INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT_LOOP
#endif

// A piece of work: result `result` = outer * segments + segment, from column `column` on.
typedef struct {
  long from;   // first element read
  long to;     // first element written
  long depth;  // elements of the axis
  long start;  // of the segment along the axis
  int width;   // columns
} Piece;

static inline long pieces_of(const AxisView view) {
  return view.outer * view.segments * ((view.inner + view.columns - 1) / view.columns);
}

static inline Piece piece_at(const AxisView view, const long index) {
  const long blocks = (view.inner + view.columns - 1) / view.columns;
  const long result = index / blocks;
  const long column = index % blocks * view.columns;
  const long start = result % view.segments * view.segment;
  Piece piece;
  piece.from = (result / view.segments * view.axis + start) * view.inner + column;
  piece.to = result * view.inner + column;
  piece.depth = min(view.segment, view.axis - start);
  piece.start = start;
  piece.width = (int)min(view.columns, view.inner - column);
  return piece;
}
