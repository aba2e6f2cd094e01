// Where the pixels of an output come from: each from one pixel of the input, or from the four
// around a place.

typedef struct {
  long height, width;  // of the output
  long strip;          // rows per work-group (CPU class)
  long start;          // the input's pixel that comes first
  long down, across;   // steps between pixels of the input, per row and per column of the output
} Move;

// Output pixel (y, x) lies at x' = (x, y) . to_x + x_0, y' = (x, y) . to_y + y_0 in the input.
typedef struct {
  long height, width;
  long strip;
  long in_height, in_width;
  float to_x[2], to_y[2];
  float x_0, y_0;
} Turn;
