// The cast of a complex number to its own type, under the name BODY.

static inline float2 BODY(float2 x) { return x; }
