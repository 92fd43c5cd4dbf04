// SPDX-License-Identifier: BSD-3-Clause
// A dense layer whose sums an equation such as "abc,cd->abd" describes: tf.keras.layers.experimental.EinsumDense.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::layers::detail {

/// An equation such as "abc,cd->abd": the axes of input, kernel and output as one letter each, with digits for the axes
/// of an ellipsis. It exists while the compiler traces a layer. `Extents` is operations::extents; it is a template so
/// that programs without such a layer do not compile its functions.
template <class Extents>
class einsum_equation {
 public:
  fixed_name input, kernel, output;
  std::string_view problem;  ///< the error; empty: none

  constexpr einsum_equation(std::string_view equation, std::string_view bias_axes, Extents const& of_input,
                            shape const& of_output) {
    split(equation);
    int const elided = of_input.rank - static_cast<int>(input.view().size()) + (has_ellipsis() ? 1 : 0);
    if (!problem.empty()) return;
    if (elided < 0 || elided > 9 || (!has_ellipsis() && elided != 0)) {
      problem = "the input has another number of axes";
      return;
    }
    if (has_ellipsis()) trailing_ = input.view().front() == ellipsis ? 0 : elided;
    bool const leads = has_ellipsis() && trailing_ == 0;
    expand(input, elided);
    expand(output, elided);
    for (int axis = 0; axis < of_input.rank; ++axis) lengths_[index(input.view()[at(axis)])] = of_input[axis];
    find_problem(bias_axes);
    if (problem.empty()) take_output(of_output, leads && elided > 1 ? elided : 1);
  }

  [[nodiscard]] constexpr int length(char axis) const { return lengths_[index(axis)]; }

  /// Sums of products: the axes of both operands, then those of the input alone, then those of the kernel alone.
  constexpr auto multiply(auto& ops, auto x, auto weights) const {
    fixed_name shared, rows, summed, columns, alone;
    for (char const axis : input.view().substr(1))
      (!has(kernel, axis) ? (has(output, axis) ? rows : alone) : has(output, axis) ? shared : summed).append(axis);
    for (char const axis : kernel.view())
      if (!has(input, axis)) columns.append(axis);
    char const batch = input.view().front();
    for (char const axis : alone.view()) x = ops.sum(x, static_cast<int>(input.view().find(axis)));
    x = ops.transpose(x, order_of(input, {fixed_name().append(batch), shared, rows, summed, alone}));
    weights = ops.transpose(weights, order_of(kernel, {shared, summed, columns}));
    int const samples = length(batch), groups = size(shared), places = size(rows), terms = size(summed);
    bool const is_one = shared.empty();
    x = ops.reshape(
        x, is_one ? operations::extents{samples * places, terms} : operations::extents{samples, groups, places, terms});
    weights = ops.reshape(weights, is_one ? operations::extents{terms, size(columns)}
                                          : operations::extents{groups, terms, size(columns)});
    auto const product = ops.matmul(x, weights);
    fixed_name const found = fixed_name().append(batch).append(shared).append(rows).append(columns);
    operations::extents all;
    for (char const axis : found.view()) all.push_back(length(axis));
    return ops.transpose(ops.reshape(product, all), order_of(found, {output}));
  }

  /// The shape of the bias: the lengths of the output from the first axis in `bias_axes` on, 1 along axes that are not
  /// in it.
  [[nodiscard]] constexpr shape bias_shape(std::string_view bias_axes) const {
    shape result;
    for (char const axis : output.view())
      if (bool const differs = bias_axes.find(axis) != bias_axes.npos; differs || result.rank() > 0)
        result.push_back(differs ? length(axis) : 1);
    return result;
  }

 private:
  static constexpr char ellipsis = '.';
  static constexpr std::size_t at(int axis) { return static_cast<std::size_t>(axis); }
  static constexpr int index(char axis) { return static_cast<unsigned char>(axis) % 128; }
  static constexpr bool has(fixed_name const& axes, char axis) { return axes.view().find(axis) != axes.view().npos; }
  [[nodiscard]] constexpr bool has_ellipsis() const { return has(input, ellipsis); }
  [[nodiscard]] constexpr int size(fixed_name const& axes) const {
    int product = 1;
    for (char const axis : axes.view()) product *= length(axis);
    return product;
  }
  [[nodiscard]] constexpr bool is_too_large(fixed_name const& axes) const {
    long long product = 1;
    for (char const axis : axes.view())
      if (product <= shape::most_elements) product *= length(axis);
    return product > shape::most_elements;
  }
  static constexpr axis_list order_of(fixed_name const& from, std::initializer_list<fixed_name> to) {
    axis_list order = axis_list::none();
    for (auto const& part : to)
      for (char const axis : part.view())
        if (order.count < axis_list::capacity) order.axes[order.count++] = static_cast<int>(from.view().find(axis));
    return order;
  }

  constexpr void split(std::string_view equation) {
    fixed_name* const parts[]{&input, &kernel, &output};
    int part = 0;
    while (!equation.empty()) {
      char const next = equation.front();
      bool const is_letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
      std::size_t taken = 1;
      if (equation.starts_with("...")) {
        parts[part]->append(ellipsis);
        taken = 3;
      } else if (part == 1 ? equation.starts_with("->") : part == 0 && next == ',') {
        taken = part == 1 ? 2 : 1;
        ++part;
      } else if (is_letter && !has(*parts[part], next)) {
        parts[part]->append(next);
      } else {
        break;
      }
      equation.remove_prefix(taken);
    }
    bool const both = has(input, ellipsis) == has(output, ellipsis) && !has(kernel, ellipsis);
    bool const same_side =
        both && (!has(input, ellipsis) || (input.view().front() == ellipsis && output.view().front() == ellipsis) ||
                 (input.view().back() == ellipsis && output.view().back() == ellipsis));
    if (!equation.empty() || part != 2 || kernel.empty() || output.empty() || !same_side)
      problem = "it is like \"ab,bc->ac\", \"...b,bc->...c\" or \"ab...,bc->ac...\", and has no letter twice";
  }
  static constexpr void expand(fixed_name& axes, int elided) {
    fixed_name all;
    for (char const axis : axes.view())
      if (axis != ellipsis)
        all.append(axis);
      else
        for (int i = 0; i < elided; ++i) all.append(static_cast<char>('0' + i));
    axes = all;
  }
  constexpr void find_problem(std::string_view bias_axes) {
    for (char const axis : kernel.view())
      if (!has(input, axis) && !has(output, axis)) problem = "an axis of the kernel is in neither input nor output";
    for (char const axis : output.view())
      if (!has(input, axis) && !has(kernel, axis)) problem = "an axis of the output is in neither input nor kernel";
    for (char const axis : bias_axes)
      if (!has(output, axis)) problem = "an axis of the bias is not one of the output";
    if (problem.empty() &&
        (output.empty() || output.view().front() != input.view().front() || has(kernel, input.view().front())))
      problem = "the first axis of input and output is the batch, which the kernel has not";
    if (problem.empty() && bias_axes.find(input.view().front()) != bias_axes.npos)
      problem = "the batch is no axis of the bias";
  }
  /// Takes lengths from output_shape, which leaves out the first `first` axes and axes of an ellipsis at the end.
  constexpr void take_output(shape const& of_output, int first) {
    auto const axes = output.view().substr(at(first));
    if (of_output.rank() != static_cast<int>(axes.size()) - trailing_) {
      problem = "output_shape has another number of axes";
      return;
    }
    for (int i = 0; i < of_output.rank(); ++i) {
      int& known = lengths_[index(axes[at(i)])];
      if (of_output[i] != -1 && known != 0 && known != of_output[i])
        problem = "output_shape says another length than the input";
      if (of_output[i] > 0) known = of_output[i];
      if (known == 0) problem = "output_shape has no length for an axis of the kernel";
    }
    for (auto const& part : {input, kernel, output})
      if (problem.empty() && is_too_large(part)) problem = "a tensor has more elements than an int counts";
  }

  int lengths_[128]{};
  int trailing_ = 0;  ///< axes of an ellipsis at the end
};

}  // namespace stagecraft::layers::detail

namespace stagecraft::layers {

/// Keras's keyword arguments of EinsumDense after the activation.
struct einsum_dense_options {
  fixed_name bias_axes = {};  ///< the letters of the output along which the bias differs; empty: there is no bias
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  initializer bias_initializer = initializers::zeros{};             ///< the values that the bias begins with
  regularizer kernel_regularizer = {};  ///< a penalty on the kernel that is added to the loss: l1, l2 or both
  regularizer bias_regularizer = {};    ///< a penalty on the bias that is added to the loss: l1, l2 or both
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// The constraint on the kernel after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  constraint bias_constraint = {};  ///< the constraint on the bias after each update: non_neg, max_norm and the like
#include <stagecraft/layers/common_options.hpp>
};

/// output = activation(einsum(equation, input, kernel) + bias): `einsum_dense{"abc,cd->abd", {12, 64}}`, where each
/// letter is an axis, the first one the batch. "...b,bc->...c" leaves the axes in front as they are, and
/// "ab...,bc->ac..." those at the end; `output_shape` has the other axes of the output, without the batch, and -1
/// (Keras's None) for those of the input.
///
/// Weights: kernel, with the axes of the equation, and, with `bias_axes`, bias. Cost: a product. Errors:
/// E1001; E1124 an equation that is none, or does not fit the input and `output_shape`. Definition: Keras API,
/// layers/experimental/EinsumDense.
struct einsum_dense : argument_layer<einsum_dense, einsum_dense_options> {
  static constexpr std::string_view class_name = "EinsumDense";
  static constexpr std::string_view usage =
      "einsum_dense{\"ab,bc->ac\", 64} or einsum_dense{\"abc,cd->abd\", {12, 64}, sc::relu, {.bias_axes = \"d\"}}"sv;

  fixed_name equation;
  shape output_shape;
  stagecraft::activation activation = linear;
  using arguments = argument_list<&einsum_dense::equation, &einsum_dense::output_shape, &einsum_dense::activation>;

  constexpr einsum_dense(std::string_view equation_, shape const& output_shape_,
                         einsum_dense_options const& options_ = {})
      : argument_layer(with{}, options_), equation(equation_), output_shape(output_shape_) {}
  // It is a template, since inside templates Clang takes `{.name = "..."}` for an activation, too.
  template <std::convertible_to<stagecraft::activation> Activation>
  constexpr einsum_dense(std::string_view equation_, shape const& output_shape_, Activation activation_,
                         einsum_dense_options const& options_ = {})
      : argument_layer(with{}, options_), equation(equation_), output_shape(output_shape_), activation(activation_) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto& ops, auto x) const {
    detail::einsum_equation const of(equation.view(), options.bias_axes.view(), x.shape(), output_shape);
    if (output_shape.already_reported()) return ops.error(1126, output_shape), x;
    if (!of.problem.empty())
      return ops.error(1124, "has the equation '", equation, "' for an input of shape ", detail::sample_shape(x), ": ",
                       of.problem),
             x;
    shape lengths;
    for (char const axis : of.kernel.view()) lengths.push_back(of.length(axis));
    auto const kernel = ops.weight(parameter::with("kernel", lengths, options.kernel_initializer,
                                                   options.kernel_regularizer, options.kernel_constraint));
    auto y = of.multiply(ops, x, kernel);
    if (!options.bias_axes.empty())
      y += ops.weight(parameter::with("bias", of.bias_shape(options.bias_axes.view()), options.bias_initializer,
                                      options.bias_regularizer, options.bias_constraint));
    return activation(y);
  }
};

}  // namespace stagecraft::layers
