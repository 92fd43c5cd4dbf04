// SPDX-License-Identifier: BSD-3-Clause
// The peer: an LSTM layer of oneDNN's primitives, called directly (oneDNN 2). The primitives choose the formats of
// their weights, which stay in them between steps; sequences are turned to (steps, samples, features) and back, since
// its loops want them so. Memory is taken and primitives are made once.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hand_written.hpp"
#include "sequence_layers.hpp"

namespace stagecraft::benchmarks {

class lstm_onednn {
  using dims = dnnl::memory::dims;
  using tag = dnnl::memory::format_tag;
  using desc = dnnl::memory::desc;
  using arguments = std::unordered_map<int, dnnl::memory>;

 public:
  /// Keras's weights: kernel (features, 4 * units), recurrent kernel (units, 4 * units), bias; gates i, f, c, o.
  lstm_onednn(layer_weights const& weights, bool trains) {
    using namespace dnnl;
    dims const x{lstm_steps, lstm_batch, lstm_features}, y{lstm_steps, lstm_batch, lstm_units};
    dims const kernel{1, 1, lstm_features, 4, lstm_units}, recurrent{1, 1, lstm_units, 4, lstm_units};
    dims const bias{1, 1, 4, lstm_units};
    auto const direction = rnn_direction::unidirectional_left2right;
    lstm_forward::primitive_desc const forward({trains ? prop_kind::forward_training : prop_kind::forward_inference,
                                                direction,
                                                described(x, tag::tnc),
                                                {},
                                                {},
                                                described(kernel, tag::any),
                                                described(recurrent, tag::any),
                                                described(bias, tag::ldgo),
                                                described(y, tag::tnc),
                                                {},
                                                {}},
                                               engine_);
    x_ = allocate(forward.src_layer_desc());
    y_ = allocate(forward.dst_layer_desc());
    kernel_ = filled(forward.weights_layer_desc(), described(kernel, tag::ldigo), weights[0]);
    recurrent_ = filled(forward.weights_iter_desc(), described(recurrent, tag::ldigo), weights[1]);
    bias_ = filled(forward.bias_desc(), described(bias, tag::ldgo), weights[2]);
    forward_ = lstm_forward(forward);
    of_forward_ = {{DNNL_ARG_SRC_LAYER, x_},
                   {DNNL_ARG_WEIGHTS_LAYER, kernel_},
                   {DNNL_ARG_WEIGHTS_ITER, recurrent_},
                   {DNNL_ARG_BIAS, bias_},
                   {DNNL_ARG_DST_LAYER, y_}};
    given_ = memory(described(x, tag::ntc), engine_, nullptr);
    last_.resize(std::size_t{lstm_batch} * lstm_units);
    if (!trains) return;

    auto const workspace = allocate(forward.workspace_desc());
    of_forward_[DNNL_ARG_WORKSPACE] = workspace;
    lstm_backward::primitive_desc const backward({prop_kind::backward,
                                                  direction,
                                                  described(x, tag::tnc),
                                                  {},
                                                  {},
                                                  described(kernel, tag::any),
                                                  described(recurrent, tag::any),
                                                  described(bias, tag::ldgo),
                                                  described(y, tag::tnc),
                                                  {},
                                                  {},
                                                  described(x, tag::tnc),
                                                  {},
                                                  {},
                                                  described(kernel, tag::any),
                                                  described(recurrent, tag::any),
                                                  described(bias, tag::ldgo),
                                                  described(y, tag::tnc),
                                                  {},
                                                  {}},
                                                 engine_, forward);
    dy_ = allocate(backward.diff_dst_layer_desc());
    kernel_gradient_ = allocate(backward.diff_weights_layer_desc());
    recurrent_gradient_ = allocate(backward.diff_weights_iter_desc());
    bias_gradient_ = allocate(backward.diff_bias_desc());
    kernel_of_backward_ = allocate(backward.weights_layer_desc());
    recurrent_of_backward_ = allocate(backward.weights_iter_desc());
    backward_ = lstm_backward(backward);
    of_backward_ = {{DNNL_ARG_SRC_LAYER, x_},
                    {DNNL_ARG_WEIGHTS_LAYER, kernel_of_backward_},
                    {DNNL_ARG_WEIGHTS_ITER, recurrent_of_backward_},
                    {DNNL_ARG_BIAS, bias_},
                    {DNNL_ARG_DST_LAYER, y_},
                    {DNNL_ARG_DIFF_SRC_LAYER, allocate(backward.diff_src_layer_desc())},
                    {DNNL_ARG_DIFF_WEIGHTS_LAYER, kernel_gradient_},
                    {DNNL_ARG_DIFF_WEIGHTS_ITER, recurrent_gradient_},
                    {DNNL_ARG_DIFF_BIAS, bias_gradient_},
                    {DNNL_ARG_DIFF_DST_LAYER, dy_},
                    {DNNL_ARG_WORKSPACE, workspace}};
    kernel_in_order_ = allocate(kernel_.get_desc());
    recurrent_in_order_ = allocate(recurrent_.get_desc());
  }
  lstm_onednn(lstm_onednn const&) = delete;
  lstm_onednn& operator=(lstm_onednn const&) = delete;

  /// The last output of each of the samples (batch, steps, features).
  float const* predict_on_batch(float const* x) {
    given_.set_data_handle(const_cast<float*>(x));
    reorder(given_, x_);
    forward_.execute(stream_, of_forward_);
    stream_.wait();
    return values(y_) + std::size_t{lstm_steps - 1} * lstm_batch * lstm_units;
  }

  /// One step of stochastic gradient descent. Gives the mean squared error before it.
  float train_on_batch(float const* x, float const* target) {
    float const* const y = predict_on_batch(x);
    float const loss = squared_error(y, target, last_.data(), lstm_batch, lstm_units);
    std::copy(last_.begin(), last_.end(), values(dy_) + std::size_t{lstm_steps - 1} * lstm_batch * lstm_units);
    reorder(kernel_, kernel_of_backward_);
    reorder(recurrent_, recurrent_of_backward_);
    for (auto* gradient : {&kernel_gradient_, &recurrent_gradient_, &bias_gradient_})  // to which it adds
      std::fill_n(values(*gradient), floats(*gradient), 0.0F);
    backward_.execute(stream_, of_backward_);
    reorder(kernel_gradient_, kernel_in_order_);
    reorder(recurrent_gradient_, recurrent_in_order_);
    stream_.wait();
    sgd_pass(values(kernel_), values(kernel_in_order_), floats(kernel_));
    sgd_pass(values(recurrent_), values(recurrent_in_order_), floats(recurrent_));
    sgd_pass(values(bias_), values(bias_gradient_), floats(bias_));
    return loss;
  }

 private:
  static desc described(dims const& extents, tag format) { return {extents, dnnl::memory::data_type::f32, format}; }
  static float* values(dnnl::memory const& memory) { return static_cast<float*>(memory.get_data_handle()); }
  static std::int64_t floats(dnnl::memory const& memory) {
    return static_cast<std::int64_t>(memory.get_desc().get_size() / sizeof(float));
  }
  dnnl::memory allocate(desc const& of) {
    dnnl::memory memory(of, engine_);
    std::fill_n(values(memory), floats(memory), 0.0F);
    return memory;
  }
  dnnl::memory filled(desc const& of, desc const& plain, std::vector<float> const& from) {
    auto made = allocate(of);
    reorder(dnnl::memory(plain, engine_, const_cast<float*>(from.data())), made);
    stream_.wait();
    return made;
  }
  void reorder(dnnl::memory const& from, dnnl::memory const& to) {
    if (from.get_desc() == to.get_desc())
      std::copy_n(values(from), floats(from), values(to));
    else
      dnnl::reorder(from, to).execute(stream_, const_cast<dnnl::memory&>(from), const_cast<dnnl::memory&>(to));
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::memory given_, x_, y_, kernel_, recurrent_, bias_, dy_, kernel_gradient_, recurrent_gradient_, bias_gradient_,
      kernel_of_backward_, recurrent_of_backward_, kernel_in_order_, recurrent_in_order_;
  dnnl::primitive forward_, backward_;
  arguments of_forward_, of_backward_;
  std::vector<float> last_;
};

}  // namespace stagecraft::benchmarks
