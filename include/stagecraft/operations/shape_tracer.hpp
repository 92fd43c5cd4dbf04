// SPDX-License-Identifier: BSD-3-Clause
// Follows a layer's `call` by shapes alone: it finds the output, the weights and the cost, and makes no list of
// operations, which would take compilers long.
#pragma once

#include <stagecraft/graph/layer_inputs.hpp>
#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/operations/kinds/product.hpp>
#include <stagecraft/operations/kinds/windows.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

/// A tensor with known extents and no values. It has the functions that the library's layers with kernels call.
struct shape_tensor {
  extents of;
  long long* flops = nullptr;

  [[nodiscard]] constexpr extents const& shape() const noexcept { return of; }
  [[nodiscard]] constexpr int rank() const noexcept { return of.rank; }
  [[nodiscard]] constexpr int length(int axis) const { return of[axis]; }

  /// The result of a function at each place; it costs one operation for each.
  constexpr shape_tensor mapped() const {
    *flops += of.size();
    return *this;
  }
  /// The result of an operation on two tensors, one of which has all places of the other.
  constexpr shape_tensor mapped(shape_tensor const& other) const {
    long long const size = of.size(), size_of_other = other.of.size();
    *flops += size < size_of_other ? size_of_other : size;
    return size < size_of_other ? other : *this;
  }
  friend constexpr shape_tensor operator+(shape_tensor const& a, shape_tensor const& b) { return a.mapped(b); }
  friend constexpr shape_tensor operator-(shape_tensor const& a, shape_tensor const& b) { return a.mapped(b); }
  friend constexpr shape_tensor operator*(shape_tensor const& a, shape_tensor const& b) { return a.mapped(b); }
  friend constexpr shape_tensor operator+(shape_tensor const& a, float) { return a.mapped(); }
  friend constexpr shape_tensor operator*(shape_tensor const& a, float) { return a.mapped(); }
  constexpr shape_tensor& operator+=(shape_tensor const& b) { return *this = mapped(b); }
  constexpr shape_tensor& operator*=(shape_tensor const& b) { return *this = mapped(b); }
  friend constexpr shape_tensor square(shape_tensor const& a) { return a.mapped(); }
  friend constexpr shape_tensor rsqrt(shape_tensor const& a) { return a.mapped(); }
};

/// Stands in for the `tracer` of a `call`. The layer has checked its options and inputs: all shapes fit.
class shape_tracer {
 public:
  constexpr shape_tracer(layer_inputs const& in, parameter_list& weights) : in_(&in), weights_(&weights) {}

  /// One sample of the layer's input.
  [[nodiscard]] constexpr shape_tensor input() { return made(extents::of_batch(1, (*in_)[0])); }
  [[nodiscard]] constexpr long long flops() const noexcept { return flops_; }
  [[nodiscard]] static constexpr bool training() noexcept { return true; }
  [[nodiscard]] static constexpr bool is_frozen() noexcept { return false; }

  template <class... Parts>
  constexpr void error(int code, Parts const&... parts) {
    in_->error(code, parts...);
  }
  constexpr shape_tensor weight(parameter const& described) {
    weights_->add(described);
    return made(extents::of(described.shape));
  }
  constexpr shape_tensor state(std::string_view name, extents const& kept) {
    parameter described{.name = name, .shape = {}, .trainable = false, .between_batches = true};
    for (int const length : kept) described.shape.push_back(length);
    return weight(described);
  }
  constexpr shape_tensor slice(shape_tensor const& x, int axis, int, int count) {
    extents out = x.of;
    out[axis] = count;
    return made(out);
  }
  constexpr shape_tensor concatenate(std::initializer_list<shape_tensor> parts, int axis) {
    extents out = parts.begin()->of;
    out[axis] = 0;
    for (auto const& part : parts) out[axis] += part.of[axis];
    return made(out);
  }
  constexpr shape_tensor reshape(shape_tensor const&, extents const& shape) { return made(shape); }
  constexpr shape_tensor matmul(shape_tensor const& a, shape_tensor const& b) {
    extents out = a.of;
    product{}.out(a.of, b.of, out);
    flops_ += product{}.flops(a.of, out);
    return made(out);
  }
  constexpr shape_tensor dropout(shape_tensor const& x, extents const& drawn, float, std::uint64_t) {
    flops_ += drawn.size();
    return x.mapped().mapped();
  }
  constexpr shape_tensor mean(shape_tensor const& x, axis_list const& axes) { return max(x, axes); }
  constexpr shape_tensor max(shape_tensor const& x, axis_list const& axes) {
    extents out = x.of;
    for (int const axis : axes) out[axis] = 1;
    flops_ += x.of.size();
    return made(out);
  }
  constexpr shape_tensor max_pool(shape_tensor const& x, windows const& over) {
    extents out = x.of;
    over.out(x.of, x.of[-1], out);
    flops_ += out.size() * over.size();
    return made(out);
  }
  constexpr shape_tensor average_pool(shape_tensor const& x, windows const& over) { return max_pool(x, over); }
  static constexpr void update(shape_tensor const&, shape_tensor const&) {}
  constexpr shape_tensor conv(shape_tensor const& x, shape_tensor const& filter, windows const& over, int = 1) {
    extents out = x.of;
    over.out(x.of, filter.of[-1], out);
    flops_ += convolution::flops(filter.of, out);
    return made(out);
  }
  constexpr shape_tensor conv_transpose(shape_tensor const& x, shape_tensor const& filter, windows const&,
                                        extents const& shape) {
    flops_ += convolution::flops(filter.of, x.of);
    return made(shape);
  }

 private:
  /// A tensor of `shape`. If an int cannot count its elements: E1127, and a tensor of one element.
  constexpr shape_tensor made(extents shape) {
    if (shape.size() > stagecraft::shape::most_elements) {
      in_->error(1127, "makes a tensor or a weight of shape ", shape, ", which has more than ",
                 stagecraft::shape::most_elements, " elements");
      for (int axis = 0; axis < shape.rank; ++axis) shape[axis] = 1;
    }
    return {shape, &flops_};
  }

  layer_inputs const* in_;
  parameter_list* weights_;
  long long flops_ = 0;
};

}  // namespace stagecraft::operations
