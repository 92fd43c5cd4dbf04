// SPDX-License-Identifier: BSD-3-Clause
// Products of bfloat16 beside oneDNN's and those of floats, and the perceptron under mixed_bfloat16. One thread. Names:
// bfloat16_forward/<samples>x<inputs>x<units>/<library>, mlp_bfloat16/<job>/batch:<samples>/<library>.
#include <benchmark/benchmark.h>

#include <stagecraft/kernels/elementwise/narrow.hpp>
#include <stagecraft/kernels/product/bfloat16_pairs.hpp>

#include <cstdint>
#include <memory>
#include <string>

#include "aligned_floats.hpp"
#include "machine_benchmark.hpp"
#include "mlp_trainer.hpp"
#include "predictor_steps.hpp"
#include "training_data.hpp"
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include <oneapi/dnnl/dnnl.hpp>
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
    add(group + "kernels", operations, [] {
      return [b = std::make_shared<buffers>()] {
        kernels::matmul_of_pairs<M, K, N>(b->stored(), b->pairs.data(), b->y.data());
      };
    });
  add(group + "floats", operations, [] {
    return [b = std::make_shared<buffers>()] { kernels::matmul<M, K, N>(b->x.data(), b->w.data(), b->y.data()); };
  });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
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
  add_fma_peak();
  add_products<128, 784, 256>();
  add_products<128, 256, 128>();
  add_products<1, 784, 256>();
  add_perceptron<stagecraft::dtype_policies::float32, 128>("floats");
  add_perceptron<stagecraft::dtype_policies::mixed_bfloat16, 128>("stagecraft");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
