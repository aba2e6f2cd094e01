// Loads and stores of the elements of buffers as values of pointwise bodies, without conversion.
// One slot per element type, named after it; fusion/fused_cpu.cl explains slots. A float of 16 bits
// stays one between stages, so that it is rounded as often as without fusion.
#pragma once

#define VALUE_f32 float
#define VALUE_f64 double
#define VALUE_s32 int
#define VALUE_s64 long
#define VALUE_u32 uint
#define VALUE_u8 uchar
#define VALUE_f16 ushort
#define VALUE_bf16 ushort
#define VALUE_s8 char
#define VALUE_s16 short
#define VALUE_u16 ushort
#define VALUE_u64 ulong
#define VALUE_c64 float2

#define LOAD_ELEMENT(pointer, place) (pointer)[place]
#define LOAD_f32 LOAD_ELEMENT
#define LOAD_f64 LOAD_ELEMENT
#define LOAD_s32 LOAD_ELEMENT
#define LOAD_s64 LOAD_ELEMENT
#define LOAD_u32 LOAD_ELEMENT
#define LOAD_u8 LOAD_ELEMENT
#define LOAD_f16 LOAD_ELEMENT
#define LOAD_bf16 LOAD_ELEMENT
#define LOAD_s8 LOAD_ELEMENT
#define LOAD_s16 LOAD_ELEMENT
#define LOAD_u16 LOAD_ELEMENT
#define LOAD_u64 LOAD_ELEMENT
#define LOAD_c64 LOAD_ELEMENT

#define STORE_ELEMENT(pointer, place, value) (pointer)[place] = (value)
#define STORE_f32 STORE_ELEMENT
#define STORE_f64 STORE_ELEMENT
#define STORE_s32 STORE_ELEMENT
#define STORE_s64 STORE_ELEMENT
#define STORE_u32 STORE_ELEMENT
#define STORE_u8 STORE_ELEMENT
#define STORE_f16 STORE_ELEMENT
#define STORE_bf16 STORE_ELEMENT
#define STORE_s8 STORE_ELEMENT
#define STORE_s16 STORE_ELEMENT
#define STORE_u16 STORE_ELEMENT
#define STORE_u64 STORE_ELEMENT
#define STORE_c64 STORE_ELEMENT
