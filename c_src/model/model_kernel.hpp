// A model as a kernel, which can be run and submitted by name and be a stage of a pipeline.
#pragma once

#include <memory>
#include <string>

#include "kernels/descriptor.hpp"
#include "model/model.hpp"

namespace dala::model {

// The kernel of a model with several outputs has a parameter `output`, the name of the output to
// write. With `keep` it owns the model; otherwise it is gone when the model's last owner is.
Descriptor model_kernel(const std::string& name, const std::shared_ptr<Model>& model, bool keep);

}  // namespace dala::model
