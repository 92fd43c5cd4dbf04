// SPDX-License-Identifier: BSD-3-Clause
// Declares the words of `ops` that <stagecraft/operations/words.hpp> defines. Programs that do not include it pay for
// the declarations alone.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <initializer_list>
#include <string_view>

namespace stagecraft::operations {

class tracer;
struct found_elements;

/// The elements that padding puts around a tensor.
enum class pad_mode : unsigned char {
  edge,       ///< the element at the end
  reflect,    ///< the elements before it, from the last but one on
  symmetric,  ///< the elements before it, from the last on
  wrap,       ///< the elements from the other end on
};

/// The map from places of a resized axis to places of the old one.
enum class resize_places : unsigned char {
  half_pixel,     ///< place i is (i + 0.5) old / new - 0.5, as in Keras
  align_corners,  ///< place i is i (old - 1) / (new - 1)
  asymmetric,     ///< place i is i old / new
};

/// A base of `tracer`: words that are composed of its other operations, from which gradients, costs and tasks of tiles
/// follow. Arguments that do not fit are E1070, as there. Include <stagecraft/operations/words.hpp> to use them.
class composed_words {
 public:
  /// x as elements of another type: Keras's `cast`; see operations/whole_numbers.hpp. E1187.
  static constexpr tensor cast(tensor x, dtype type) { return operations::cast(x, type); }

  /// The product over axes. Its gradient is right where elements are 0. It takes log2(n) products of halves.
  constexpr tensor prod(tensor x, axis_list const& axes);
  /// log(sum(exp(x))) over axes, without overflow.
  constexpr tensor logsumexp(tensor x, axis_list const& axes);
  /// The sum of absolute values over axes: ONNX's ReduceL1.
  constexpr tensor l1_norm(tensor x, axis_list const& axes);
  /// The root of the sum of squares over axes: ONNX's ReduceL2. Its gradient at 0 is NaN, as in TensorFlow.
  constexpr tensor l2_norm(tensor x, axis_list const& axes);
  /// The place of the largest element of an axis, the first one or the last one. It has no gradient. An axis that holds
  /// NaN has no such place; the result is then the axis's length, or -1 for the last.
  constexpr tensor argmax(tensor x, int axis = -1, bool last = false);
  /// The place of the smallest element of an axis; else as `argmax`.
  constexpr tensor argmin(tensor x, int axis = -1, bool last = false);
  /// Element i is the sum of the elements up to i, or of those before i if `exclusive`; from the end if `reverse`. It
  /// takes log2(n) sums of the whole tensor.
  constexpr tensor cumsum(tensor x, int axis, bool exclusive = false, bool reverse = false);
  /// Element i is the product of the elements up to i; else as `cumsum`.
  constexpr tensor cumprod(tensor x, int axis, bool exclusive = false, bool reverse = false);
  /// x / (bias + alpha / size s)^beta, where s is the sum of squares in a window of `size` places of an axis around
  /// each: ONNX's LRN, of AlexNet and GoogLeNet. TensorFlow's `alpha` is ONNX's alpha / size.
  constexpr tensor local_response_normalization(tensor x, int size, float alpha = 1e-4F, float beta = 0.75F,
                                                float bias = 1, int axis = -1);
  /// The nearest whole number to x / scale, the even one of two, from `range.least` to `range.least` + 255: what a
  /// layer with that `input_bytes` takes. Its gradient is 0. Counterpart: ONNX's QuantizeLinear without the zero point.
  constexpr tensor quantize(tensor x, float scale, bytes_from range = bytes_from(-128));
  /// Adds an axis of length 1.
  constexpr tensor expand_dims(tensor x, int axis);
  /// Removes an axis of length 1.
  constexpr tensor squeeze(tensor x, int axis);
  /// Moves an axis to another place; the others keep their order.
  constexpr tensor moveaxis(tensor x, int from, int to);
  /// Repeats the whole tensor counts[i] times along axis i, or along the last axes if there are fewer counts.
  constexpr tensor tile(tensor x, extents const& counts);
  /// Cuts an axis into parts of these lengths, whose sum is the axis's length.
  constexpr tracing::growing_array<tensor> split(tensor x, std::initializer_list<int> lengths, int axis = -1);
  /// Cuts an axis into `count` equal parts.
  constexpr tracing::growing_array<tensor> split(tensor x, int count, int axis = -1);
  /// Joins tensors of one shape along a new axis.
  constexpr tensor stack(tracing::array_view<tensor const> parts, int axis = 0);
  /// Shifts the elements of an axis by `shift` places; those that leave at the end enter at the front.
  constexpr tensor roll(tensor x, int shift, int axis);
  /// x with `before` and `after` copies of `value` around it along an axis.
  constexpr tensor pad(tensor x, int axis, int before, int after, float value);
  /// x with `before` and `after` of its own elements around it along an axis. Only `edge` and `wrap` take more than the
  /// axis has.
  constexpr tensor pad(tensor x, int axis, int before, int after, pad_mode mode);
  /// 0 above diagonal k of the matrices of the last two axes.
  constexpr tensor tril(tensor x, int k = 0);
  /// 0 below diagonal k of the matrices of the last two axes.
  constexpr tensor triu(tensor x, int k = 0);
  /// (batch, rows, columns, channels): squares of block x block places become channels. In the new channels the places
  /// of a square come first or, without `places_first`, the old channels.
  constexpr tensor space_to_depth(tensor x, int block, bool places_first = true);
  /// The inverse of `space_to_depth`: ONNX's DCR, or CRD without `places_first`, which is PyTorch's pixel_shuffle.
  constexpr tensor depth_to_space(tensor x, int block, bool places_first = true);
  constexpr tensor stack(std::initializer_list<tensor> parts, int axis = 0);
  /// The places of an axis that constant indices name, in their order. Each run of indices with one step becomes a
  /// slice.
  constexpr tensor take(tensor x, tracing::array_view<int const> indices, int axis);
  /// The places of an axis that indices name; the axis becomes the indices' axes. Negative indices count from the end;
  /// those outside of the axis return 0, as in all words with indices.
  constexpr tensor take(tensor x, tensor indices, int axis);
  /// The element of an axis that the index at each place names: NumPy's word, and ONNX's GatherElements. Other axes of
  /// x and the indices are equally long. E1160 for x of more than 2^24 elements, which floats cannot count.
  constexpr tensor take_along_axis(tensor x, tensor indices, int axis);
  /// x with `values` at the places of an axis that the indices name: ONNX's ScatterElements. Several values for one
  /// place are added up. With `adds`, they are added to x as well. E1160 as `take_along_axis`.
  constexpr tensor put_along_axis(tensor x, tensor indices, tensor values, int axis, bool adds = false);
  /// The rows of x at the places that rows of indices name, (..., k): places of the first k axes of x, or of those
  /// after `batch_axes` axes that both have, for each sample by itself: ONNX's GatherND. E1160 for more than 2^24
  /// places.
  constexpr tensor gather_nd(tensor x, tensor indices, int batch_axes = 0);
  /// x with rows of `values` at the places that rows of indices name, as `gather_nd`: ONNX's ScatterND. Several values
  /// for one place are added up. With `adds`, they are added to x as well. E1160 as there.
  constexpr tensor scatter_nd(tensor x, tensor indices, tensor values, bool adds = false);
  /// 1 at the place that an index names along a new axis of length `depth`, else 0.
  constexpr tensor one_hot(tensor indices, int depth, int axis = -1);
  /// The k largest elements of an axis, or the smallest, in order; equal ones keep their order. The values have a
  /// gradient. It makes k passes over the axis, so that it is slow to sort a long one: 1.4 ms for 1,000 elements. NaN
  /// has no place in the order: an axis that holds NaN has no result. E1160 for x of more than 2^24 elements.
  constexpr found_elements top_k(tensor x, int k, int axis = -1, bool largest = true);
  /// The elements of an axis in rising order, or in falling order: `top_k` of all elements.
  constexpr tensor sort(tensor x, int axis = -1, bool falling = false);
  /// The places of an axis's elements in the order of `sort`.
  constexpr tensor argsort(tensor x, int axis = -1, bool falling = false);
  constexpr tensor take(tensor x, std::initializer_list<int> indices, int axis);
  /// Sums of products in Einstein's notation: `einsum("bij,bjk->bik", {a, b})`, of one or two tensors. A letter stands
  /// at most once for each tensor and in the result. E1161 for a formula that is written otherwise.
  constexpr tensor einsum(std::string_view formula, std::initializer_list<tensor> of);
  /// Resizes an axis: each element is the nearest one of x, the earlier one if two are equally near. With `earlier` it
  /// is always the one at or before the place: PyTorch's nearest, which is `asymmetric`.
  constexpr tensor resize_nearest(tensor x, int axis, int length, resize_places places = resize_places::half_pixel,
                                  bool earlier = false);
  /// Resizes an axis: each element is interpolated between two of x. New lengths that are multiples of the old one are
  /// sums of neighbours; others are products with a matrix.
  constexpr tensor resize_linear(tensor x, int axis, int length, resize_places places = resize_places::half_pixel);

 private:
  constexpr tracer& ops();
};

}  // namespace stagecraft::operations
