// Loads and stores of the elements of buffers as values of pointwise bodies, without conversion.
// One slot per element type, named after it; fusion/fused_cpu.cl explains slots.
#pragma once

#define VALUE_f32 float
#define VALUE_f64 double
#define VALUE_s32 int
#define VALUE_s64 long
#define VALUE_u32 uint
#define VALUE_u8 uchar

#define LOAD_ELEMENT(pointer, place) (pointer)[place]
#define LOAD_f32 LOAD_ELEMENT
#define LOAD_f64 LOAD_ELEMENT
#define LOAD_s32 LOAD_ELEMENT
#define LOAD_s64 LOAD_ELEMENT
#define LOAD_u32 LOAD_ELEMENT
#define LOAD_u8 LOAD_ELEMENT

#define STORE_ELEMENT(pointer, place, value) (pointer)[place] = (value)
#define STORE_f32 STORE_ELEMENT
#define STORE_f64 STORE_ELEMENT
#define STORE_s32 STORE_ELEMENT
#define STORE_s64 STORE_ELEMENT
#define STORE_u32 STORE_ELEMENT
#define STORE_u8 STORE_ELEMENT
