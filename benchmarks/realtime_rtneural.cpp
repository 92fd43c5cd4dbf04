// SPDX-License-Identifier: BSD-3-Clause
// RTNeural's networks of each row, with the back end that macros name. Compiled once for each.
#include <RTNeural/RTNeural.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "realtime_rtneural.hpp"

namespace stagecraft::benchmarks::STAGECRAFT_RTNEURAL_BACK_END {
namespace {

namespace peer = RTNEURAL_NAMESPACE;
using matrix = std::vector<std::vector<float>>;

/// Rows of `columns` numbers.
matrix rows_of(std::vector<float> const& values, std::size_t columns) {
  matrix result;
  for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(columns))
    result.emplace_back(at, at + static_cast<std::ptrdiff_t>(columns));
  return result;
}

template <int In, int Out>
void set_weights(peer::DenseT<float, In, Out>& layer, std::vector<float> const* weights) {
  matrix rows(Out, std::vector<float>(In));
  for (int i = 0; i < Out; ++i)
    for (int k = 0; k < In; ++k) rows[i][k] = weights[0][k * Out + i];
  layer.setWeights(rows);
  layer.setBias(weights[1].data());
}
template <int In, int Out, peer::SampleRateCorrectionMode Mode, class Maths>
void set_weights(peer::LSTMLayerT<float, In, Out, Mode, Maths>& layer, std::vector<float> const* weights) {
  layer.setWVals(rows_of(weights[0], 4 * Out));
  layer.setUVals(rows_of(weights[1], 4 * Out));
  layer.setBVals(weights[2]);
}
template <int In, int Out, peer::SampleRateCorrectionMode Mode, class Maths>
void set_weights(peer::GRULayerT<float, In, Out, Mode, Maths>& layer, std::vector<float> const* weights) {
  layer.setWVals(rows_of(weights[0], 3 * Out));
  layer.setUVals(rows_of(weights[1], 3 * Out));
  layer.setBVals(rows_of(weights[2], 3 * Out));
}
/// Filters begin with the newest sample here, and with the oldest in Keras.
template <int In, int Out, int Kernel, int Dilation, int Groups, bool Dynamic>
void set_weights(peer::Conv1DT<float, In, Out, Kernel, Dilation, Groups, Dynamic>& layer,
                 std::vector<float> const* weights) {
  std::vector<matrix> filters(Out, matrix(In, std::vector<float>(Kernel)));
  for (int time = 0; time < Kernel; ++time)
    for (int k = 0; k < In; ++k)
      for (int i = 0; i < Out; ++i) filters[i][k][Kernel - 1 - time] = weights[0][(time * In + k) * Out + i];
  layer.setWeights(filters);
  layer.setBias(weights[1]);
}

/// `Steps` steps of one number a call, or one step of In numbers.
template <int Steps, int In, int Out, class... Layers>
class program {
 public:
  explicit program(network_row const& row) {
    auto const* next = row.weights.data();
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            set_weights(model_.template get<I>(), next);
            next += std::is_base_of_v<two_weights, kind_of<Layers>> ? 2 : 3;
          }(),
          ...);
    }(std::index_sequence_for<Layers...>{});
    model_.reset();
  }
  float const* call(float const* x) {
    if constexpr (Steps == 1) {
      model_.forward(x);
      return model_.getOutputs();
    } else {
      for (int step = 0; step < Steps; ++step) y_[step] = model_.forward(x + step);
      return y_;
    }
  }

 private:
  struct two_weights {};
  struct three_weights {};
  template <class Layer>
  using kind_of = std::conditional_t<requires(Layer layer) { layer.setUVals(matrix{}); }, three_weights, two_weights>;

  peer::ModelT<float, In, Out, Layers...> model_;
  float y_[Steps];
};

template <int Steps, int In, int Out, class... Layers>
void add(network_row const& row, char const* name) {
  if (row.name != name) return;
  using peers = program<Steps, In, Out, Layers...>;
  static peers own(row);
  check<std::size_t{Steps} * In>(row, STAGECRAFT_RTNEURAL_NAME, own);
  add_program<std::size_t{Steps} * In>(row, STAGECRAFT_RTNEURAL_NAME, own);
}
template <int N>
using dense = peer::DenseT<float, N, N>;

}  // namespace

void add_row(network_row const& row) {
  add<1, 8, 8, dense<8>>(row, "dense 8");
  add<1, 32, 32, dense<32>>(row, "dense 32");
  add<1, 64, 64, dense<64>>(row, "dense 64");
  add<1, 4, 4, peer::Conv1DT<float, 4, 4, 3, 1>>(row, "conv1d 4, kernel 3");
  add<1, 8, 8, peer::Conv1DT<float, 8, 8, 7, 2>>(row, "conv1d 8, kernel 7, dilation 2");
  add<1, 16, 16, peer::Conv1DT<float, 16, 16, 15, 4>>(row, "conv1d 16, kernel 15, dilation 4");
  add<1, 1, 16, peer::Conv1DT<float, 1, 16, 3, 512>>(row, "conv1d 1 to 16, kernel 3, dilation 512");
  add<1, 8, 8, peer::GRULayerT<float, 8, 8>>(row, "gru 8");
  add<1, 64, 64, peer::GRULayerT<float, 64, 64>>(row, "gru 64");
  add<1, 16, 16, peer::LSTMLayerT<float, 16, 16>>(row, "lstm 16");
  add<1, 64, 64, peer::LSTMLayerT<float, 64, 64>>(row, "lstm 64");
  using amplifier_lstm = peer::LSTMLayerT<float, 1, 40>;
  using amplifier_dense = peer::DenseT<float, 40, 1>;
  add<1, 1, 1, amplifier_lstm, amplifier_dense>(row, "amplifier: lstm 40, dense 1");
  add<64, 1, 1, amplifier_lstm, amplifier_dense>(row, "amplifier, 64 samples a call");
}

}  // namespace stagecraft::benchmarks::STAGECRAFT_RTNEURAL_BACK_END

void stagecraft::benchmarks::STAGECRAFT_RTNEURAL_ADD(network_row const& row) {
  STAGECRAFT_RTNEURAL_BACK_END::add_row(row);
}
