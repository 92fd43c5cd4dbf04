// SPDX-License-Identifier: BSD-3-Clause
// Products and convolutions of bfloat16 beside oneDNN's and those of floats, the perceptron, an LSTM and layers whose
// convolutions are operations under mixed_bfloat16. One thread. Names:
// bfloat16_forward/<samples>x<inputs>x<units>/<library>, bfloat16_<conv2d, input_gradient or
// filter_gradient>/<height>x<width>x<channels>-3x3x<filters>/batch:<size>/<library>,
// mlp_bfloat16/<job>/batch:<samples>/<library>, <lstm, conv3d or separable_conv2d>_bfloat16/<job>/<library>.
#include <benchmark/benchmark.h>

#include <stagecraft/kernels/convolution/bfloat16_convolution.hpp>
#include <stagecraft/kernels/elementwise/narrow.hpp>
#include <stagecraft/kernels/product/bfloat16_pairs.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aligned_floats.hpp"
#include "machine_benchmark.hpp"
#include "mlp_trainer.hpp"
#include "predictor_steps.hpp"
#include "sequence_layers.hpp"
#include "training_data.hpp"
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include <oneapi/dnnl/dnnl.hpp>
#include "convolution_onednn.hpp"
#endif

namespace {

using namespace stagecraft::benchmarks;
namespace kernels = stagecraft::kernels;
using stagecraft::dtype;

template <class Body>
void add(std::string const& name, double operations, Body body) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) mutable {
    auto run = body();
    for (auto _ : state) {
      run();
      benchmark::ClobberMemory();
    }
    count_operations(state, operations);
  });
}

#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
/// oneDNN multiplies bfloat16 from AVX-512 on.
bool onednn_has_bfloat16() {
  auto const least = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & least) == least;
}
#endif

template <int M, int K, int N>
struct operands {
  aligned_floats x{M * K}, w{kernels::packed_matrix<K, N>::size}, y{M * N};
  aligned_floats narrow_x{M * K / 2}, pairs{kernels::packed_matrix<K / 2, N>::size};

  operands() {
    kernels::narrow<dtype::bfloat16>(x.data(), stored(), M * K);
    kernels::pack_row_pairs<K, N>(w.data(), pairs.data());
  }
  std::uint16_t* stored() { return reinterpret_cast<std::uint16_t*>(narrow_x.data()); }
};

template <int M, int K, int N>
void add_products() {
  auto const group = "bfloat16_forward/" + std::to_string(M) + "x" + std::to_string(K) + "x" + std::to_string(N) + "/";
  constexpr double operations = 2.0 * M * K * N;
  using buffers = operands<M, K, N>;
  if constexpr (kernels::multiplies_bfloat16_pairs<kernels::default_architecture>)
    add(group + "stagecraft", operations, [] {
      return [b = std::make_shared<buffers>()] {
        kernels::matmul_of_pairs<M, K, N>(b->stored(), b->pairs.data(), b->y.data());
      };
    });
  add(group + "floats", operations, [] {
    return [b = std::make_shared<buffers>()] { kernels::matmul<M, K, N>(b->x.data(), b->w.data(), b->y.data()); };
  });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  if (!onednn_has_bfloat16()) return;
  add(group + "onednn", operations, [] {
    using namespace dnnl;
    using type = memory::data_type;
    using tag = memory::format_tag;
    engine const cpu(engine::kind::cpu, 0);
    memory::desc const x({M, K}, type::bf16, tag::ab), w({K, N}, type::bf16, tag::any), y({M, N}, type::f32, tag::ab);
    matmul::primitive_desc const made(matmul::desc(x, w, y), cpu);
    memory const to_x(x, cpu), to_w(made.weights_desc(), cpu), to_y(y, cpu);
    return [=, product = matmul(made), stream = dnnl::stream(cpu)]() mutable {
      product.execute(stream, {{DNNL_ARG_SRC, to_x}, {DNNL_ARG_WEIGHTS, to_w}, {DNNL_ARG_DST, to_y}});
      stream.wait();
    };
  });
#endif
}

/// A convolution as floats and as pairs; what a step rounds and pairs before its gradients is measured with them.
template <int Batch, kernels::convolution_shape Shape>
struct convolution_operands {
  static constexpr std::size_t inputs = static_cast<std::size_t>(Batch) * Shape.input_size(),
                               outputs = static_cast<std::size_t>(Batch) * Shape.output_size();
  aligned_floats x{inputs}, y{outputs}, w{kernels::filter_floats<Shape>}, pairs{kernels::filter_pair_floats<Shape>},
      turned{kernels::turned_filter_floats<Shape>}, narrow_x{inputs / 2}, narrow_y{outputs / 2}, x_pairs{inputs / 2},
      y_pairs{outputs / 2},
      workspace{static_cast<std::size_t>(kernels::convolution_input_gradient_workspace<Shape> +
                                         kernels::convolution_filter_gradient_workspace<Shape>)};

  convolution_operands() {
    kernels::narrow<dtype::bfloat16>(x.data(), stored(narrow_x), inputs);
    kernels::pack_filter_pairs<Shape>(w.data(), pairs.data());
  }
  static std::uint16_t* stored(aligned_floats& floats) { return reinterpret_cast<std::uint16_t*>(floats.data()); }
};

template <int Batch, kernels::convolution_shape Shape>
void add_convolution() {
  using buffers = convolution_operands<Batch, Shape>;
  constexpr double operations = 1.0 * Batch * Shape.flops();
  auto const add_one = [](std::string const& product, std::string const& library, auto run) {
    auto const number = [](int n) { return std::to_string(n); };
    add("bfloat16_" + product + "/" + number(Shape.height) + "x" + number(Shape.width) + "x" + number(Shape.channels) +
            "-3x3x" + number(Shape.filters) + "/batch:" + number(Batch) + "/" + library,
        operations, [run] { return [run, b = std::make_shared<buffers>()] { run(*b); }; });
  };
  if constexpr (kernels::multiplies_bfloat16_pairs<kernels::default_architecture>) {
    add_one("conv2d", "stagecraft", [](buffers& b) {
      kernels::convolution_of_pairs<Batch, Shape>(buffers::stored(b.narrow_x), b.pairs.data(), b.y.data());
    });
    add_one("input_gradient", "stagecraft", [](buffers& b) {
      kernels::narrow<dtype::bfloat16>(b.y.data(), buffers::stored(b.narrow_y), buffers::outputs);
      kernels::turn_filter_pairs<Shape>(b.pairs.data(), b.turned.data());
      kernels::convolution_input_gradient_of_pairs<Batch, Shape>(buffers::stored(b.narrow_y), b.turned.data(),
                                                                 b.workspace.data(), b.x.data());
    });
    add_one("filter_gradient", "stagecraft", [](buffers& b) {
      kernels::pair_rows<Batch, Shape.input_size()>(buffers::stored(b.narrow_x), b.x_pairs.data());
      kernels::pair_rows<Batch, Shape.output_size()>(b.y.data(), b.y_pairs.data());
      kernels::convolution_filter_gradient_of_pairs<Batch, Shape>(b.x_pairs.data(), b.y_pairs.data(),
                                                                  b.workspace.data(), b.w.data());
    });
  }
  add_one("conv2d", "floats", [](buffers& b) {
    kernels::convolution<Batch, Shape>(b.x.data(), b.w.data(), b.workspace.data(), b.y.data());
  });
  add_one("input_gradient", "floats", [](buffers& b) {
    kernels::convolution_input_gradient<Batch, Shape>(b.y.data(), b.w.data(), b.workspace.data(), b.x.data());
  });
  add_one("filter_gradient", "floats", [](buffers& b) {
    kernels::convolution_filter_gradient<Batch, Shape>(b.x.data(), b.y.data(), b.workspace.data(), b.w.data());
  });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  if (!onednn_has_bfloat16()) return;
  using peer = onednn_convolution;
  for (auto const& [name, product] :
       {std::pair{"conv2d", peer::product::forward}, std::pair{"input_gradient", peer::product::input_gradient},
        std::pair{"filter_gradient", peer::product::filter_gradient}})
    add_one(
        name, "onednn",
        [run = std::make_shared<peer>(product, Batch, Shape, dnnl::memory::data_type::bf16)](buffers&) { (*run)(); });
#endif
}

/// A layer alone: what it trains with has the shape of its output.
template <class Model, int Batch, stagecraft::dtype_policy Policy>
void add_layer(std::string const& name, std::string const& library, double operations) {
  static constexpr auto trained = stagecraft::training{.optimizer = stagecraft::optimizers::sgd{},
                                                       .loss = stagecraft::losses::mean_squared_error{},
                                                       .batch_size = Batch,
                                                       .dtype_policy = Policy};
  static constexpr auto run = stagecraft::inference{.batch_size = Batch, .dtype_policy = Policy};
  static auto const x = [] {
    std::vector<std::size_t> lengths{Batch};
    for (int const length : stagecraft::graph_of<Model>.calls[0].shape)
      lengths.push_back(static_cast<std::size_t>(length));
    xt::xarray<float> values = xt::xarray<float>::from_shape(lengths);
    values.fill(0.25F);
    return values;
  }();
  add(name + "_bfloat16/train/" + library, 3 * operations, [] {
    auto model = std::make_shared<stagecraft::trainer<Model, trained>>();
    xt::xarray<float> const y = model->predict(x) + 0.25F;
    return [=] { model->train_on_batch(x, y); };
  });
  add(name + "_bfloat16/predict/" + library, operations, [] {
    return [model = std::make_shared<stagecraft::predictor<Model, run>>()] {
      benchmark::DoNotOptimize(model->predict(x));
    };
  });
}
template <class Model, int Batch>
void add_layer(std::string const& name, double operations) {
  add_layer<Model, Batch, stagecraft::dtype_policies::float32>(name, "floats", operations);
  add_layer<Model, Batch, stagecraft::dtype_policies::mixed_bfloat16>(name, "stagecraft", operations);
}

struct last_state : stagecraft::functional<last_state> {
  static constexpr auto build(auto& model) {
    return stagecraft::layers::lstm(lstm_units)(model.input(lstm_steps, lstm_features));
  }
};
struct volumes : stagecraft::functional<volumes> {
  static constexpr auto build(auto& model) {
    return stagecraft::layers::conv3d(64, 3, {.padding = stagecraft::padding::same})(model.input(12, 12, 12, 32));
  }
};
struct separated : stagecraft::functional<separated> {
  static constexpr auto build(auto& model) {
    return stagecraft::layers::separable_conv2d(128, 3,
                                                {.padding = stagecraft::padding::same})(model.input(28, 28, 64));
  }
};

template <stagecraft::dtype_policy Policy, int Batch>
void add_perceptron(std::string const& library) {
  static constexpr auto trained = [] {
    auto result = mlp_training<Batch, stagecraft::optimizers::rmsprop{}>;
    result.dtype_policy = Policy;
    return result;
  }();
  static constexpr auto run = stagecraft::inference{.batch_size = Batch, .dtype_policy = Policy};
  auto const name = [&](char const* job) {
    return std::string("mlp_bfloat16/") + job + "/batch:" + std::to_string(Batch) + "/" + library;
  };
  add(name("rmsprop"), mlp_training_operations * Batch, [] {
    return [model = std::make_shared<trainer_steps<mlp, trained, stagecraft::host<>>>(mlp_weights()),
            data = std::make_shared<training_data<Batch>>(), step = 0]() mutable {
      model->train_on_batch(data->x(step), data->labels(step));
      ++step;
    };
  });
  add(name("predict"), mlp_forward_operations * Batch, [] {
    return [model = std::make_shared<predictor_steps<mlp, run>>(mlp_weights()),
            data = std::make_shared<training_data<Batch>>(), step = 0]() mutable {
      benchmark::DoNotOptimize(model->predict_on_batch(data->x(step)));
      ++step;
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_products<128, 784, 256>();
  add_products<128, 256, 128>();
  add_products<1, 784, 256>();
  add_convolution<32,
                  {.height = 26, .width = 26, .channels = 32, .filters = 64, .kernel_height = 3, .kernel_width = 3}>();
  add_convolution<8, {.height = 28,
                      .width = 28,
                      .channels = 64,
                      .filters = 64,
                      .kernel_height = 3,
                      .kernel_width = 3,
                      .top = 1,
                      .left = 1,
                      .bottom = 1,
                      .right = 1}>();
  add_layer<last_state, lstm_batch>("lstm",
                                    2.0 * lstm_batch * lstm_steps * 4 * lstm_units * (lstm_features + lstm_units));
  add_layer<volumes, 4>("conv3d", 2.0 * 4 * 12 * 12 * 12 * 27 * 32 * 64);
  add_layer<separated, 8>("separable_conv2d", 2.0 * 8 * 28 * 28 * 64 * (9 + 128));
  add_perceptron<stagecraft::dtype_policies::float32, 128>("floats");
  add_perceptron<stagecraft::dtype_policies::mixed_bfloat16, 128>("stagecraft");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
