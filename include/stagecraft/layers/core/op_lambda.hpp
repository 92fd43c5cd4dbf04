// SPDX-License-Identifier: BSD-3-Clause
// Layers that Keras makes of operators on symbolic tensors: a + b, 2 * a, x[{sc::all(), sc::slice(1, 3)}].
// Keras counterpart: TFOpLambda and SlicingOpLambda.
#pragma once

#include <stagecraft/graph/symbolic_tensor.hpp>
#include <stagecraft/layers/broadcast.hpp>
#include <stagecraft/layers/layer.hpp>
#include <concepts>
#include <string_view>
#include <type_traits>

namespace stagecraft {

/// The operators of symbolic tensors that are layers, as in Keras.
enum class tensor_operator : unsigned char { add, subtract, multiply, divide, negative };

namespace layers {

/// An operator between two tensors, or a tensor and a number: `a + b`, `1 - a`, `a += b`. Programs do not name it. `-a`
/// is a layer of its own, too: the product with -1.
///
/// Shapes as TensorFlow broadcasts them: tensors of one rank (the batch is an axis), whose axes are equal or 1; the
/// merging layers also take tensors of different ranks. No weights.
/// Errors: E1064 shapes that do not fit.
/// Definition: Keras, layers/core, TFOpLambda.
template <tensor_operator Operator>
struct tf_op_lambda : layer<tf_op_lambda<Operator>> {
  static constexpr std::string_view class_name = "TFOpLambda";
  static constexpr std::string_view default_name = Operator == tensor_operator::add        ? "tf.__operators__.add"
                                                   : Operator == tensor_operator::subtract ? "tf.math.subtract"
                                                   : Operator == tensor_operator::multiply ? "tf.math.multiply"
                                                   : Operator == tensor_operator::divide   ? "tf.math.truediv"
                                                                                           : "tf.math.negative";
  static constexpr int no_number = -1;

  float number = 0;
  int number_place = no_number;  ///< the operand that is the number

  static constexpr int least_inputs = 1, most_inputs = 2;

  constexpr auto call(auto& ops, tensor_list in) const {
    if (in.size() == 1) {
      if constexpr (Operator == tensor_operator::negative) return -in[0];
      auto const other = operations::number(ops.list(), number);
      return number_place == 0 ? apply(other, in[0]) : apply(in[0], other);
    }
    shape const a = detail::sample_shape(in[0]), b = detail::sample_shape(in[1]);
    if (detail::broadcast_shape(a, b).fits && a.rank() == b.rank()) return apply(in[0], in[1]);
    ops.error(1064, "is an operator between tensors of shapes ", a, " and ", b,
              ", which do not fit; axes are equal or one of them is 1, ",
              "and only layers such as add{} and multiply{} take tensors of different ranks");
    return in[0];
  }

 private:
  static constexpr operations::tensor apply(operations::tensor a, operations::tensor b) {
    switch (Operator) {
      case tensor_operator::add: return a + b;
      case tensor_operator::subtract: return a - b;
      case tensor_operator::multiply: return a * b;
      case tensor_operator::divide: return a / b;
      default: return -a;
    }
  }
};

}  // namespace layers

}  // namespace stagecraft

namespace stagecraft::layers::detail {

template <class T>
concept Number = std::integral<T> || std::floating_point<T>;
// It is a template on the number's type, so that nothing is compiled before there is one.
template <tensor_operator Operator>
constexpr symbolic_tensor operate(first_tensor const& tensor, Number auto number, int place) {
  layers::tf_op_lambda<Operator> operation;
  operation.number = static_cast<float>(number);
  operation.number_place = place;
  return operation(tensor);
}

template <class T>
concept Operand = Number<T> || std::derived_from<T, symbolic_tensor>;

/// The variable in front of +=; the conversion to it records the source line.
struct tensor_variable {
  symbolic_tensor& tensor;
  source_line where;

  constexpr tensor_variable(symbolic_tensor& given, char const* file = __builtin_FILE(), int line = __builtin_LINE())
      : tensor(given), where{file, line} {}
  [[nodiscard]] constexpr first_tensor value() const { return {tensor, where.file, where.line}; }
};

}  // namespace stagecraft::layers::detail

namespace stagecraft {

// These are found by argument-dependent lookup. They are templates, so that programs without them do not compile them.
constexpr symbolic_tensor operator+(detail::first_tensor a, std::derived_from<symbolic_tensor> auto b) {
  return layers::tf_op_lambda<tensor_operator::add>{}(a, b);
}
constexpr symbolic_tensor operator-(detail::first_tensor a, std::derived_from<symbolic_tensor> auto b) {
  return layers::tf_op_lambda<tensor_operator::subtract>{}(a, b);
}
constexpr symbolic_tensor operator*(detail::first_tensor a, std::derived_from<symbolic_tensor> auto b) {
  return layers::tf_op_lambda<tensor_operator::multiply>{}(a, b);
}
constexpr symbolic_tensor operator/(detail::first_tensor a, std::derived_from<symbolic_tensor> auto b) {
  return layers::tf_op_lambda<tensor_operator::divide>{}(a, b);
}
constexpr symbolic_tensor operator+(detail::first_tensor a, detail::Number auto b) {
  return detail::operate<tensor_operator::add>(a, b, 1);
}
constexpr symbolic_tensor operator-(detail::first_tensor a, detail::Number auto b) {
  return detail::operate<tensor_operator::subtract>(a, b, 1);
}
constexpr symbolic_tensor operator*(detail::first_tensor a, detail::Number auto b) {
  return detail::operate<tensor_operator::multiply>(a, b, 1);
}
constexpr symbolic_tensor operator/(detail::first_tensor a, detail::Number auto b) {
  return detail::operate<tensor_operator::divide>(a, b, 1);
}
constexpr symbolic_tensor operator+(detail::Number auto a, detail::first_tensor b) {
  return detail::operate<tensor_operator::add>(b, a, 0);
}
constexpr symbolic_tensor operator-(detail::Number auto a, detail::first_tensor b) {
  return detail::operate<tensor_operator::subtract>(b, a, 0);
}
constexpr symbolic_tensor operator*(detail::Number auto a, detail::first_tensor b) {
  return detail::operate<tensor_operator::multiply>(b, a, 0);
}
constexpr symbolic_tensor operator/(detail::Number auto a, detail::first_tensor b) {
  return detail::operate<tensor_operator::divide>(b, a, 0);
}
template <tensor_operator Negative = tensor_operator::negative>
constexpr symbolic_tensor operator-(detail::first_tensor a) {
  return detail::operate<Negative>(a, -1, 1);
}

// As in Python, the variable stands for the result from then on; other copies of it do not change.
constexpr symbolic_tensor& operator+=(detail::tensor_variable a, detail::Operand auto b) {
  return a.tensor = a.value() + b;
}
constexpr symbolic_tensor& operator-=(detail::tensor_variable a, detail::Operand auto b) {
  return a.tensor = a.value() - b;
}
constexpr symbolic_tensor& operator*=(detail::tensor_variable a, detail::Operand auto b) {
  return a.tensor = a.value() * b;
}
constexpr symbolic_tensor& operator/=(detail::tensor_variable a, detail::Operand auto b) {
  return a.tensor = a.value() / b;
}

namespace layers {

/// A slice of a tensor. Programs do not name it: Python's `x[:, 1:3]` is `x[{sc::all(), sc::slice(1, 3)}]`. The first
/// entry is for the batch, which stays as it is: `sc::all()` or `sc::ellipsis()`. Slices have step 1.
///
/// Shape: a sliced axis is as long as the slice; an axis with a number goes away. No weights.
/// Errors: E1065 an axis or element that is not there; E1066 the batch, or a step.
/// Definition: Keras, layers/core, SlicingOpLambda.
struct slicing_op_lambda : layer<slicing_op_lambda> {
  static constexpr std::string_view class_name = "SlicingOpLambda";
  static constexpr std::string_view default_name = "tf.__operators__.getitem";

  tracing::slice_list list;

  /// The part of an axis of a sample that is taken.
  struct part {
    slice::elements axis[shape::max_rank]{};
    bool keeps[shape::max_rank]{};
  };
  [[nodiscard]] constexpr part part_of(shape const& in) const {
    part result;
    for (int axis = 0; axis < in.rank(); ++axis) {
      auto const entry = entry_of(axis + 1, in.rank() + 1);
      int const index = entry.index < 0 ? entry.index + in[axis] : entry.index;
      result.axis[axis] = entry.is_index ? slice::elements{index, 1} : entry.range.of(in[axis]);
      result.keeps[axis] = !entry.is_index;
    }
    return result;
  }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    int const rank = in.rank();
    int ellipses = 0;
    for (int i = 0; i < list.count && i < tracing::slice_list::capacity; ++i)
      ellipses += list.entries[i].is_ellipsis ? 1 : 0;
    if (ellipses > 1 || list.count - ellipses > rank + 1) {
      ops.error(1065, "slices with ", list.count, " entries, of which ", ellipses,
                ellipses == 1 ? " is an ellipsis" : " are ellipses", ", a tensor of shape ", in,
                " behind the batch; there is at most one ellipsis, and at most one entry for each axis");
      return x;
    }
    auto const batch = entry_of(0, rank + 1);
    if (batch.is_index || batch.range.start.is_given || batch.range.stop.is_given || batch.range.step != 1) {
      ops.error(1066, "slices the batch, which is axis 0; begin with sc::all() or sc::ellipsis()");
      return x;
    }
    auto const taken = part_of(in);
    auto result = x;
    shape kept;
    for (int axis = 0; axis < rank; ++axis) {
      auto const [first, count] = taken.axis[axis];
      if (int const step = entry_of(axis + 1, rank + 1).range.step; step != 1) {
        ops.error(1066, "slices axis ", axis + 1, " with step ", step, "; slices have step 1");
        return x;
      }
      if (first < 0 || count < 1 || first + count > in[axis]) {
        ops.error(1065, "takes nothing of axis ", axis + 1, ", or an element that it does not have, of a tensor ",
                  "of shape ", in, " behind the batch, which is axis 0");
        return x;
      }
      result = ops.slice(result, axis + 1, first, count);
      if (taken.keeps[axis]) kept.push_back(count);
    }
    return ops.reshape(result, operations::extents::of_batch(x.length(0), kept));
  }

 private:
  /// The entry of an axis, the batch being axis 0.
  [[nodiscard]] constexpr tracing::slice_entry entry_of(int axis, int axes) const {
    int position = 0;
    for (int i = 0; i < list.count && i < tracing::slice_list::capacity; ++i) {
      int const length = list.entries[i].is_ellipsis ? axes - (list.count - 1) : 1;
      if (axis < position + length) return list.entries[i].is_ellipsis ? tracing::slice_entry(all()) : list.entries[i];
      position += length;
    }
    return all();
  }
};

}  // namespace layers

template <class Part>
constexpr symbolic_tensor symbolic_tensor::operator[](tracing::slice_list const& part) const {
  std::conditional_t<std::is_same_v<Part, tracing::slice_list>, layers::slicing_op_lambda, Part> layer;
  layer.list = part;
  layer.list.where = {};
  return layer(detail::first_tensor(*this, part.where.file, part.where.line));
}

}  // namespace stagecraft
