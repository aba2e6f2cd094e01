// Lists of up to eight arguments, as they are stored and as floats.
#pragma once

#define NARROW_ARGUMENTS_1 const ushort a0
#define NARROW_ARGUMENTS_2 NARROW_ARGUMENTS_1, const ushort a1
#define NARROW_ARGUMENTS_3 NARROW_ARGUMENTS_2, const ushort a2
#define NARROW_ARGUMENTS_4 NARROW_ARGUMENTS_3, const ushort a3
#define NARROW_ARGUMENTS_5 NARROW_ARGUMENTS_4, const ushort a4
#define NARROW_ARGUMENTS_6 NARROW_ARGUMENTS_5, const ushort a5
#define NARROW_ARGUMENTS_7 NARROW_ARGUMENTS_6, const ushort a6
#define NARROW_ARGUMENTS_8 NARROW_ARGUMENTS_7, const ushort a7
#define WIDENED_1 FROM_STORED(a0)
#define WIDENED_2 WIDENED_1, FROM_STORED(a1)
#define WIDENED_3 WIDENED_2, FROM_STORED(a2)
#define WIDENED_4 WIDENED_3, FROM_STORED(a3)
#define WIDENED_5 WIDENED_4, FROM_STORED(a4)
#define WIDENED_6 WIDENED_5, FROM_STORED(a5)
#define WIDENED_7 WIDENED_6, FROM_STORED(a6)
#define WIDENED_8 WIDENED_7, FROM_STORED(a7)
