// The translation of layout-independent TensorFlow operators to ONNX, with literal results.
#include "model/import/common/tensorflow.hpp"

#include "model/import/common/built_graph.hpp"

namespace dala::test {
namespace {

namespace tensorflow = model::tensorflow;

HostTensorPtr counting_tensor(const Shape& shape) {
  auto tensor = std::make_shared<HostTensor>(ElementType::f32, shape);
  for (int64_t i = 0; i < tensor->count(); ++i) {
    tensor->data<float>()[i] = static_cast<float>(i);
  }
  return tensor;
}

}  // namespace

TEST_CASE("strided slices with masks") {
  const HostTensorPtr x = counting_tensor({2, 3, 4});
  const auto cut = [&](std::vector<int64_t> begin, std::vector<int64_t> end,
                       std::vector<int64_t> strides, const tensorflow::SliceMasks& masks) {
    return computed(x, [&](GraphBuilder& builder, TensorId id) {
      return tensorflow::strided_slice(builder, id, builder.integers(begin), builder.integers(end),
                                       builder.integers(strides), masks);
    });
  };
  check_same(cut({1, 0, 3}, {2, 2, 0}, {1, 1, -2}, {}), {{1, 2, 2}, {15, 13, 19, 17}});
  // x[..., -1]
  check_same(cut({0, -1}, {0, 0}, {1, 1}, {0, 0, 1, 0, 2}), {{2, 3}, {3, 7, 11, 15, 19, 23}});
  // x[1, :, None, ::-3]
  check_same(cut({1, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, -3}, {10, 10, 0, 4, 1}),
             {{3, 1, 2}, {15, 12, 19, 16, 23, 20}});
  // x[None, ..., None, 2:]
  check_same(cut({0, 0, 0, 2}, {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 8, 2, 5, 0}),
             {{1, 2, 3, 1, 2}, {2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23}});
  CHECK(failure([&] { cut({0}, {1}, {0}, {}); }) == "invalid_model: a slice with a stride of 0");
}

TEST_CASE("argmax, slices and paddings") {
  const HostTensorPtr x = counting_tensor({2, 3});
  check_same(computed(x,
                      [](GraphBuilder& builder, TensorId id) {
                        return tensorflow::arg(builder, "ArgMax", id, builder.integers({-1}),
                                               ElementType::i32);
                      }),
             {{2}, {2, 2}});
  check_same(computed(x,
                      [](GraphBuilder& builder, TensorId id) {
                        const auto parts = tensorflow::unstack(builder, id, 1, 3);
                        return tensorflow::stack(builder, {parts[2], parts[0]}, 0);
                      }),
             {{2, 2}, {2, 5, 0, 3}});
  const auto padded = [&](bool symmetric) {
    return computed(x, [&](GraphBuilder& builder, TensorId id) {
      auto pads = std::make_shared<HostTensor>(*model::vector_of({0, 1, 1, 0}));
      pads->shape = {2, 2};
      return tensorflow::mirror_pad(builder, id, builder.constant(pads), symmetric);
    });
  };
  check_same(padded(false), {{3, 4}, {1, 0, 1, 2, 4, 3, 4, 5, 1, 0, 1, 2}});
  check_same(padded(true), {{3, 4}, {0, 0, 1, 2, 3, 3, 4, 5, 3, 3, 4, 5}});
}

}  // namespace dala::test
