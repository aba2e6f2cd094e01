// Rules that descriptors share: types and shapes of operands that must agree.
#pragma once

#include <iterator>
#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "runtime/error.hpp"

namespace dala {

inline const std::vector<DType> kEveryDType{DType::f32, DType::f64, DType::s32,
                                            DType::s64, DType::u32, DType::u8};
inline const std::vector<DType> kFloatDTypes{DType::f32, DType::f64};
inline const std::vector<DType> kIntegerDTypes{DType::s32, DType::s64, DType::u32, DType::u8};
// The types that are computed in the type in which they are stored.
inline const std::vector<DType> kPlainDTypes{DType::f32, DType::f64, DType::s32, DType::s64,
                                             DType::u32, DType::u8,  DType::s8,  DType::s16,
                                             DType::u16, DType::u64};
// Includes f16 and bf16, which kernels have to load and store with FROM_STORED and TO_STORED
// (kernels/element.hpp), unless with_narrow_floats describes them.
inline const std::vector<DType> kRealDTypes{DType::f32, DType::f64, DType::s32, DType::s64,
                                            DType::u32, DType::u8,  DType::s8,  DType::s16,
                                            DType::u16, DType::u64, DType::f16, DType::bf16};
inline const std::vector<DType> kAllFloatDTypes{DType::f32, DType::f64, DType::f16, DType::bf16};
inline const std::vector<DType> kAllIntegerDTypes{DType::s32, DType::s64, DType::u32, DType::u8,
                                                  DType::s8,  DType::s16, DType::u16, DType::u64};
// All element types, for kernels that only move elements.
inline const std::vector<DType> kMovedDTypes(std::begin(kAllDTypes), std::end(kAllDTypes));
// The element types of indices.
inline const std::vector<DType> kIndexDTypes{DType::s32, DType::s64, DType::u32};

// Every input has the element type of input 0.
void need_same_inputs(const std::string& kernel, const Call& call);
// Each input has the element type at its place. The first that differs is compared with input 0
// where both have to be the same.
void need_input_dtypes(const std::string& kernel, const Call& call,
                       const std::vector<DType>& expected);
// Input `index` has one of the element types.
void need_input_dtype(const std::string& kernel, const Call& call, size_t index,
                      const std::vector<DType>& allowed);
// The output has one of the element types.
void need_output_dtype(const std::string& kernel, const Call& call,
                       const std::vector<DType>& allowed);
// The output has one of the shapes.
void need_output_shape(const std::string& kernel, const Call& call,
                       const std::vector<Shape>& allowed);

// The axes of input 0 that the call's `axes` names, ascending. Throws `invalid_param` for an axis
// that is out of range or named twice.
std::vector<size_t> distinct_axes(const std::string& kernel, const Call& call);

// A parameter that is true or false, and false by default.
ParamSpec flag_param(const std::string& name, const std::string& summary);
// One of these names, the first by default.
ParamSpec choice_param(const std::string& name, std::vector<std::string> choices,
                       const std::string& summary);

}  // namespace dala
