// SPDX-License-Identifier: BSD-3-Clause
// Training the perceptron and the small convolutional network on an emulated IPU, beside the same steps on the host:
// what the emulation of all tiles together costs (host).
#include <benchmark/benchmark.h>

#include <stagecraft/ipu/emulation/ipu.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cnn_trainer.hpp"
#include "mlp_trainer.hpp"
#include "network_benchmark.hpp"

namespace {

using namespace stagecraft::benchmarks;
using namespace stagecraft;

/// Steps of a session, fed as a trainer feeds it.
template <Model M, auto Training, class Session>
class session_steps {
 public:
  explicit session_steps(network_weights const& weights) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      (session_.template write_weight<Parameter>(
           (Parameter % 2 == 0 ? weights[Parameter / 2].kernel : weights[Parameter / 2].bias).data()),
       ...);
    }(std::make_index_sequence<graph_of<M>.parameters.size()>{});
  }

  float train_on_batch(float const* x, std::int32_t const* labels) {
    float loss = 0;
    auto const feed = [&](auto& to, int, int) {
      std::copy_n(x, batch * Session::input_shape(0).size(), to.input(0));
      std::copy_n(labels, batch, to.template target<0>());
      std::fill_n(to.scale(0), batch, 1.0F / batch);
    };
    session_.train(1, feed, [&](auto const& step) { loss = step.total_loss(); });
    return loss;
  }

 private:
  static constexpr int batch = Training.batch_size;
  Session session_;
};

template <class M, auto Training>
void add_programs(network_benchmark& benchmarks, char const* job) {
  constexpr int batch = Training.batch_size;
  benchmarks.add_training<session_steps<M, Training, engine::session_of<M, Training, ipu<>>>, batch>(job, "stagecraft");
  benchmarks.add_training<session_steps<M, Training, engine::session_of<M, Training, host<>>>, batch>(job, "host");
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  constexpr optimizers::rmsprop rmsprop{};
  network_benchmark perceptron("ipu_mlp", mlp_weights(), mlp_training_operations, mlp_forward_operations);
  network_benchmark network("ipu_cnn", cnn_weights(), cnn_training_operations, cnn_forward_operations);
  add_fma_peak();
  add_programs<mlp, mlp_training<32, rmsprop>>(perceptron, "rmsprop");
  add_programs<mlp, mlp_training<128, rmsprop>>(perceptron, "rmsprop");
  add_programs<cnn, cnn_training<32, rmsprop>>(network, "rmsprop");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
