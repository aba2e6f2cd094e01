// A model as a kernel: under its name it can be run, submitted, and be a stage of a pipeline.
#pragma once

#include <memory>
#include <string>

#include "kernels/descriptor.hpp"
#include "model/model.hpp"

namespace dala::model {

// A model with several outputs has a parameter `output`, the name of the one that is wanted.
// `keep` says whether the kernel keeps the model alive, or is gone when nobody else does.
Descriptor model_kernel(const std::string& name, const std::shared_ptr<Model>& model, bool keep);

}  // namespace dala::model
