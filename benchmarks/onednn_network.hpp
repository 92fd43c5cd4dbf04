// SPDX-License-Identifier: BSD-3-Clause
// The peer: a network of oneDNN's primitives, called directly (oneDNN 2). Every primitive may choose the formats of its
// operands; activations stay in them from layer to layer, weights between steps. relu is a post-op of the layer before.
// Memory is taken, primitives are made and their arguments bound once.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "first_weights.hpp"
#include "hand_written.hpp"

namespace stagecraft::benchmarks {

class onednn_network {
 public:
  using dims = dnnl::memory::dims;
  using tag = dnnl::memory::format_tag;

  /// Takes samples of the shape (batch, channels, height, width), channels last in memory, or (batch, inputs).
  onednn_network(dims const& input, bool trains) : trains_(trains) {
    auto const desc = described(input, input.size() == 4 ? tag::nhwc : tag::nc);
    input_ = dnnl::memory(desc, engine_, nullptr);
    y_ = input_;
  }
  onednn_network(onednn_network const&) = delete;
  onednn_network& operator=(onednn_network const&) = delete;

  /// A square window, stride 1, no padding, and relu. The kernel is (height, width, channels, filters).
  void convolution(int filters, int window, first_weights const& weights) {
    using namespace dnnl;
    dims const x = y_.get_desc().dims();
    dims const w{filters, x[1], window, window}, y{x[0], filters, x[2] - window + 1, x[3] - window + 1};
    dims const one{1, 1}, zero{0, 0};
    auto const algorithm = algorithm::convolution_direct;
    convolution_forward::primitive_desc const forward(
        {propagation(), algorithm, any(x), any(w), plain(filters), any(y), one, zero, zero}, relu_after(true), engine_);
    layer& made = add_layer<convolution_forward>(forward, described(w, tag::hwio), weights, true);
    if (!trains_) return;
    if (layers_.size() > 1) {
      convolution_backward_data::primitive_desc const data({algorithm, any(x), any(w), any(y), one, zero, zero},
                                                           engine_, forward);
      add_input_gradient<convolution_backward_data>(made, data);
    }
    convolution_backward_weights::primitive_desc const gradient(
        {algorithm, any(x), any(w), plain(filters), any(y), one, zero, zero}, engine_, forward);
    add_weight_gradient<convolution_backward_weights>(made, gradient);
  }

  void max_pooling(int window) {
    using namespace dnnl;
    dims const x = y_.get_desc().dims();
    dims const y{x[0], x[1], x[2] / window, x[3] / window}, size{window, window}, zero{0, 0};
    pooling_forward::primitive_desc const forward(
        {propagation(), algorithm::pooling_max, y_.get_desc(), any(y), size, size, zero, zero}, engine_);
    layer& made = layers_.emplace_back();
    made.x = y_;
    made.y = allocate(forward.dst_desc());
    arguments call{{DNNL_ARG_SRC, y_}, {DNNL_ARG_DST, made.y}};
    memory indices;
    if (trains_) {
      indices = allocate(forward.workspace_desc());
      call[DNNL_ARG_WORKSPACE] = indices;
    }
    forward_.push_back({pooling_forward(forward), call});
    y_ = made.y;
    if (!trains_) return;
    made.dy = allocate(made.y.get_desc());
    made.dx = layers_[layers_.size() - 2].dy;
    pooling_backward::primitive_desc const backward(
        {algorithm::pooling_max, made.dx.get_desc(), made.dy.get_desc(), size, size, zero, zero}, engine_, forward);
    made.backward.push_back(
        {pooling_backward(backward),
         {{DNNL_ARG_DIFF_DST, made.dy}, {DNNL_ARG_DIFF_SRC, made.dx}, {DNNL_ARG_WORKSPACE, indices}}});
  }

  /// Rows in the order of Keras's flatten, for inner products of two axes: those are faster than of four.
  void flatten() {
    using namespace dnnl;
    dims const x = y_.get_desc().dims();
    auto const from = described(x, tag::nhwc), to = described({x[0], x[1] * x[2] * x[3]}, tag::nc);
    memory const below_dy = trains_ ? layers_.back().dy : memory();
    layer& made = layers_.emplace_back();
    made.x = in_format(y_, from, forward_);
    y_ = made.y = memory(to, engine_, made.x.get_data_handle());
    if (!trains_) return;
    made.dx = allocate(from);
    made.dy = memory(to, engine_, made.dx.get_data_handle());
    made.backward.push_back({reorder(made.dx, below_dy), {{DNNL_ARG_FROM, made.dx}, {DNNL_ARG_TO, below_dy}}});
  }

  /// A dense layer; the kernel is (inputs, units). The last layer has no relu.
  void inner_product(int units, bool relu, first_weights const& weights) {
    using namespace dnnl;
    dims const x = y_.get_desc().dims(), w{units, x[1]}, y{x[0], units};
    auto const y_format = relu ? any(y) : described(y, tag::nc);
    inner_product_forward::primitive_desc const forward({propagation(), any(x), any(w), plain(units), y_format},
                                                        relu_after(relu), engine_);
    layer& made = add_layer<inner_product_forward>(forward, described(w, tag::io), weights, relu);
    if (!trains_) return;
    if (layers_.size() > 1) {
      inner_product_backward_data::primitive_desc const data({any(x), any(w), any(y)}, engine_, forward);
      add_input_gradient<inner_product_backward_data>(made, data);
    }
    inner_product_backward_weights::primitive_desc const gradient({any(x), any(w), plain(units), any(y)}, engine_,
                                                                  forward);
    add_weight_gradient<inner_product_backward_weights>(made, gradient);
  }

  /// Logits of one batch, (batch, classes).
  float* forward(float const* x) {
    input_.set_data_handle(const_cast<float*>(x));
    for (auto& call : forward_) call.primitive.execute(stream_, call.bound);
    stream_.wait();
    return values(y_);
  }
  /// Where the gradient of the logits goes before `backward`.
  [[nodiscard]] float* logits_gradient() { return values(layers_.back().dy); }

  /// Gradients from the last layer to the first; update(parameter number, weights, gradient, size) as soon as a layer's
  /// weights are no longer needed.
  template <class Update>
  void backward(Update const& update) {
    for (std::size_t i = layers_.size(); i-- > 0;) {
      layer& current = layers_[i];
      for (auto& call : current.backward) call.primitive.execute(stream_, call.bound);
      stream_.wait();
      if (!current.dw) continue;
      update(2 * i, values(current.w), values(current.dw), floats(current.w));
      update(2 * i + 1, values(current.b), values(current.db), floats(current.b));
    }
  }
  [[nodiscard]] std::size_t parameter_count() const { return 2 * layers_.size(); }

 private:
  using arguments = std::unordered_map<int, dnnl::memory>;
  struct execution {
    dnnl::primitive primitive;
    arguments bound;
  };
  struct layer {
    dnnl::memory x, y, w, b, dx, dy, dw, db;
    std::vector<execution> backward;
  };

  static dnnl::memory::desc described(dims const& extents, tag format) {
    return {extents, dnnl::memory::data_type::f32, format};
  }
  static dnnl::memory::desc any(dims const& extents) { return described(extents, tag::any); }
  static dnnl::memory::desc plain(int size) { return described({size}, tag::x); }
  static float* values(dnnl::memory const& memory) { return static_cast<float*>(memory.get_data_handle()); }
  static std::int64_t floats(dnnl::memory const& memory) {
    return static_cast<std::int64_t>(memory.get_desc().get_size() / sizeof(float));
  }
  [[nodiscard]] dnnl::prop_kind propagation() const {
    return trains_ ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  }
  static dnnl::primitive_attr relu_after(bool relu) {
    dnnl::primitive_attr attributes;
    dnnl::post_ops after;
    if (relu) after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(after);
    return attributes;
  }
  dnnl::memory allocate(dnnl::memory::desc const& desc) {
    dnnl::memory memory(desc, engine_);
    float* const first = values(memory);
    for (std::int64_t i = 0; i < floats(memory); ++i) first[i] = 0;
    return memory;
  }
  /// `memory` itself if it has the format, else another one that `calls` fill from it.
  dnnl::memory in_format(dnnl::memory const& memory, dnnl::memory::desc const& desc, std::vector<execution>& calls) {
    if (memory.get_desc() == desc) return memory;
    dnnl::memory other = allocate(desc);
    calls.push_back({dnnl::reorder(memory, other), {{DNNL_ARG_FROM, memory}, {DNNL_ARG_TO, other}}});
    return other;
  }

  template <class Primitive, class Description>
  layer& add_layer(Description const& forward, dnnl::memory::desc const& kernel_desc, first_weights const& weights,
                   bool relu) {
    layer& made = layers_.emplace_back();
    made.x = in_format(y_, forward.src_desc(), forward_);
    made.y = allocate(forward.dst_desc());
    made.w = allocate(forward.weights_desc());
    made.b = allocate(forward.bias_desc());
    dnnl::memory given(kernel_desc, engine_, const_cast<float*>(weights.kernel.data()));
    dnnl::reorder(given, made.w).execute(stream_, given, made.w);
    stream_.wait();
    std::copy(weights.bias.begin(), weights.bias.end(), values(made.b));
    forward_.push_back(
        {Primitive(forward),
         {{DNNL_ARG_SRC, made.x}, {DNNL_ARG_WEIGHTS, made.w}, {DNNL_ARG_BIAS, made.b}, {DNNL_ARG_DST, made.y}}});
    y_ = made.y;
    if (!trains_) return made;
    made.dy = allocate(made.y.get_desc());
    if (relu) add_relu_gradient(made);
    return made;
  }

  /// From the output, in place.
  void add_relu_gradient(layer& made) {
    using namespace dnnl;
    auto const format = made.y.get_desc();
    auto const algorithm = algorithm::eltwise_relu_use_dst_for_bwd;
    eltwise_forward::primitive_desc const hint({propagation(), algorithm, format, 0.0F}, engine_);
    eltwise_backward::primitive_desc const backward({algorithm, format, format, 0.0F}, engine_, hint);
    made.backward.push_back({eltwise_backward(backward),
                             {{DNNL_ARG_DST, made.y}, {DNNL_ARG_DIFF_DST, made.dy}, {DNNL_ARG_DIFF_SRC, made.dy}}});
  }

  template <class Primitive, class Description>
  void add_input_gradient(layer& made, Description const& data) {
    auto const w = in_format(made.w, data.weights_desc(), made.backward);
    auto const dy = in_format(made.dy, data.diff_dst_desc(), made.backward);
    layer& below = layers_[layers_.size() - 2];
    bool const same = data.diff_src_desc() == below.dy.get_desc();
    made.dx = same ? below.dy : allocate(data.diff_src_desc());
    made.backward.push_back(
        {Primitive(data), {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, made.dx}}});
    if (!same)
      made.backward.push_back({dnnl::reorder(made.dx, below.dy), {{DNNL_ARG_FROM, made.dx}, {DNNL_ARG_TO, below.dy}}});
  }

  template <class Primitive, class Description>
  void add_weight_gradient(layer& made, Description const& gradient) {
    auto const x = in_format(made.x, gradient.src_desc(), made.backward);
    auto const dy = in_format(made.dy, gradient.diff_dst_desc(), made.backward);
    auto const dw = allocate(gradient.diff_weights_desc());
    made.db = allocate(gradient.diff_bias_desc());
    made.backward.push_back(
        {Primitive(gradient),
         {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_WEIGHTS, dw}, {DNNL_ARG_DIFF_BIAS, made.db}}});
    made.dw = in_format(dw, made.w.get_desc(), made.backward);
  }

  bool trains_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::memory input_, y_;
  std::vector<layer> layers_;
  std::vector<execution> forward_;
};

}  // namespace stagecraft::benchmarks
