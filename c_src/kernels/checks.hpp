// Rules that descriptors share: types and shapes of operands that must agree.
#pragma once

#include <string>
#include <vector>

#include "kernels/descriptor.hpp"
#include "runtime/error.hpp"

namespace dala {

inline const std::vector<DType> kEveryDType{DType::f32, DType::f64, DType::s32,
                                            DType::s64, DType::u32, DType::u8};
inline const std::vector<DType> kFloatDTypes{DType::f32, DType::f64};

// Every input has the element type of input 0.
void need_same_inputs(const std::string& kernel, const Call& call);
// The output has one of the element types.
void need_output_dtype(const std::string& kernel, const Call& call,
                       const std::vector<DType>& allowed);
// The output has one of the shapes.
void need_output_shape(const std::string& kernel, const Call& call,
                       const std::vector<Shape>& allowed);

}  // namespace dala
