// SPDX-License-Identifier: BSD-3-Clause
// Elementwise functions, reductions, softmax, layer normalization and updates of weights over 16 K and 1 M floats,
// beside Eigen's and oneDNN's. One thread. Counter: bytes of input and output per second.
//   taskset -c 0 env OMP_NUM_THREADS=1 elementwise_benchmark --benchmark_enable_random_interleaving=true
//       --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
// Eigen's gelu is its exact form, with erf of its unsupported SpecialFunctions.
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/normalization/layer_normalization.hpp>
#include <stagecraft/kernels/normalization/softmax.hpp>
#include <stagecraft/kernels/reduction/reduce.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <string>
#include <unsupported/Eigen/SpecialFunctions>

#include "aligned_floats.hpp"
#include "machine_benchmark.hpp"
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include "elementwise_onednn.hpp"
#endif

namespace {

namespace sc = stagecraft;
namespace kernels = stagecraft::kernels;
using stagecraft::benchmarks::aligned_floats;
using row_major = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using array = Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64>;
using unaligned_array = Eigen::Map<Eigen::ArrayXf>;
using matrix = Eigen::Map<row_major, Eigen::Aligned64>;

struct buffers {
  explicit buffers(std::size_t n)
      : x(n), y(n), z(n), gradient(n), slots(2 * n, 0.0F), scale(2048, 1.0F), shift(2048, 0.0F) {
    for (std::size_t i = 0; i < n; ++i) x.data()[i] = static_cast<float>(i * 7919 % 2048) / 256.0F - 4.0F;
    for (std::size_t i = 0; i < n; ++i) gradient.data()[i] = static_cast<float>(i * 6101 % 2048) / 2048.0F + 0.01F;
  }
  aligned_floats x;
  aligned_floats y;
  aligned_floats z;
  aligned_floats gradient;
  aligned_floats slots;  // of an optimizer, one after the other
  aligned_floats scale;
  aligned_floats shift;
};

/// Bytes that one run reads, and those that it writes.
struct traffic {
  double read;
  double written;
  double held = 0;           ///< what the arrays take, if some are read again or written where they are read; else 0
  bool is_in_place = false;  ///< whether all that is written lies where it has been read
};

/// Runs what `prepare` returns for the buffers.
template <class Prepare>
void add(std::string const& name, std::size_t n, traffic bytes, Prepare const& prepare) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    buffers memory(n);
    auto body = prepare(memory);
    for (auto _ : state) {
      body();
      benchmark::ClobberMemory();
    }
    state.counters["bytes/s"] =
        benchmark::Counter(bytes.read + bytes.written, benchmark::Counter::kIsIterationInvariantRate);
    stagecraft::benchmarks::count_bytes(state, bytes.read, bytes.written, bytes.is_in_place ? bytes.written : 0);
    if (bytes.held > 0) state.counters["bytes held"] = bytes.held;
  });
}

#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
namespace onednn = stagecraft::benchmarks::onednn;

template <class Make>
void add_onednn(std::string const& name, std::size_t n, traffic bytes, Make const& make) {
  add(name + "/onednn", n, bytes, [make](buffers& b) { return [runner = make(b)]() mutable { runner.run(); }; });
}
#endif

template <sc::activation Act, class Eigen>
void add_activation(std::string const& name, std::size_t n, Eigen const& eigen, [[maybe_unused]] int algorithm) {
  double const size_in_bytes = 4.0 * static_cast<double>(n);
  traffic const bytes{size_in_bytes, size_in_bytes};
  auto const size = static_cast<std::int64_t>(n);
  add(name + "/stagecraft", n, bytes, [size](buffers& b) {
    return [size, x = b.x.data(), y = b.y.data()] { kernels::activation_forward<Act>(x, y, size); };
  });
  add(name + "/eigen", n, bytes, [size, eigen](buffers& b) {
    return [size, eigen, x = b.x.data(), y = b.y.data()] { eigen(array(x, size), array(y, size)); };
  });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_onednn(name, n, bytes, [size, algorithm](buffers& b) {
    return onednn::elementwise(static_cast<dnnl::algorithm>(algorithm), b.x.data(), b.y.data(), size);
  });
#endif
}

void add_activations(std::string const& size, std::size_t n) {
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  using dnnl::algorithm;
#else
  enum class algorithm {
    eltwise_relu,
    eltwise_exp,
    eltwise_tanh,
    eltwise_logistic,
    eltwise_gelu_erf,
    eltwise_gelu_tanh
  };
#endif
  auto const number = [](algorithm a) { return static_cast<int>(a); };
  add_activation<sc::relu>(
      "relu/" + size, n, [](array x, array y) { y = x.max(0.0F); }, number(algorithm::eltwise_relu));
  add_activation<sc::exponential>(
      "exp/" + size, n, [](array x, array y) { y = x.exp(); }, number(algorithm::eltwise_exp));
  add_activation<sc::tanh>("tanh/" + size, n, [](array x, array y) { y = x.tanh(); }, number(algorithm::eltwise_tanh));
  add_activation<sc::sigmoid>(
      "sigmoid/" + size, n, [](array x, array y) { y = x.logistic(); }, number(algorithm::eltwise_logistic));
  add_activation<sc::gelu>(
      "gelu/" + size, n, [](array x, array y) { y = 0.5F * x * (1.0F + (x * 0.70710678F).erf()); },
      number(algorithm::eltwise_gelu_erf));
  add_activation<sc::activations::gelu(true)>(
      "gelu_tanh/" + size, n,
      [](array x, array y) { y = 0.5F * x * (1.0F + (0.79788456F * (x + 0.044715F * x * x * x)).tanh()); },
      number(algorithm::eltwise_gelu_tanh));
}

template <int Rows, int Columns>
void add_softmax(std::string const& size) {
  std::size_t const n = static_cast<std::size_t>(Rows) * Columns;
  double const size_in_bytes = 4.0 * static_cast<double>(n);
  traffic const bytes{size_in_bytes, size_in_bytes};
  std::string const name = "softmax_" + std::to_string(Columns) + "/" + size;
  add(name + "/stagecraft", n, bytes,
      [](buffers& b) { return [x = b.x.data(), y = b.y.data()] { kernels::softmax<Rows, Columns>(x, y); }; });
  add(name + "/eigen", n, bytes, [](buffers& b) {
    return [x = b.x.data(), y = b.y.data()] {
      if constexpr (Columns < 16) {
        matrix const from(x, Rows, Columns);
        matrix to(y, Rows, Columns);
        to = (from.colwise() - from.rowwise().maxCoeff()).exp();
        to.colwise() /= to.rowwise().sum().eval();
      } else {
        for (int row = 0; row < Rows; ++row) {
          unaligned_array const from(x + row * Columns, Columns);
          unaligned_array to(y + row * Columns, Columns);
          to = (from - from.maxCoeff()).exp();
          to *= 1.0F / to.sum();
        }
      }
    };
  });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_onednn(name, n, bytes, [](buffers& b) { return onednn::softmax(b.x.data(), b.y.data(), Rows, Columns); });
#endif

  std::string const gradient = "softmax_gradient_" + std::to_string(Columns) + "/" + size;
  traffic const gradient_bytes{2 * size_in_bytes, size_in_bytes};
  add(gradient + "/stagecraft", n, gradient_bytes, [](buffers& b) {
    return [y = b.x.data(), dy = b.y.data(), dx = b.z.data()] { kernels::softmax_gradient<Rows, Columns>(y, dy, dx); };
  });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_onednn(gradient, n, gradient_bytes,
             [](buffers& b) { return onednn::softmax_gradient(b.x.data(), b.y.data(), b.z.data(), Rows, Columns); });
#endif
}

template <int Rows, int Columns>
void add_layer_normalization(std::string const& size) {
  std::size_t const n = static_cast<std::size_t>(Rows) * Columns;
  double const size_in_bytes = 4.0 * static_cast<double>(n);
  traffic const bytes{size_in_bytes, size_in_bytes};
  std::string const name = "layer_normalization_" + std::to_string(Columns) + "/" + size;
  add(name + "/stagecraft", n, bytes, [](buffers& b) {
    return [x = b.x.data(), y = b.y.data(), gamma = b.scale.data(), beta = b.shift.data()] {
      kernels::layer_normalize<Columns>(x, Rows, 1e-3F, gamma, beta, y, nullptr, nullptr);
    };
  });
  add(name + "/eigen", n, bytes, [](buffers& b) {
    return [x = b.x.data(), y = b.y.data(), gamma = b.scale.data(), beta = b.shift.data()] {
      array const scale(gamma, Columns);
      array const shift(beta, Columns);
      for (int row = 0; row < Rows; ++row) {
        unaligned_array const from(x + row * Columns, Columns);
        unaligned_array to(y + row * Columns, Columns);
        to = from - from.mean();
        float const factor = 1.0F / std::sqrt(to.square().mean() + 1e-3F);
        to = to * (factor * scale) + shift;
      }
    };
  });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_onednn(name, n, bytes, [](buffers& b) {
    return onednn::layer_normalization(b.x.data(), b.scale.data(), b.shift.data(), b.y.data(), Rows, Columns);
  });
#endif
}

void add_sum(std::string const& size, std::size_t n) {
  traffic const bytes{4.0 * static_cast<double>(n), 0};
  auto const count = static_cast<std::int64_t>(n);
  add("sum/" + size + "/stagecraft", n, bytes,
      [count](buffers& b) { return [count, x = b.x.data()] { benchmark::DoNotOptimize(kernels::sum(x, count)); }; });
  add("sum/" + size + "/eigen", n, bytes,
      [count](buffers& b) { return [count, x = b.x.data()] { benchmark::DoNotOptimize(array(x, count).sum()); }; });
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
  add_onednn("sum/" + size, n, bytes, [count](buffers& b) { return onednn::sum(b.x.data(), b.y.data(), count); });
#endif
}

/// An update of weights with up to two slots, the norms of its step found first; `eigen(w, m, v, g)`. Each of these is
/// read, and all but the gradient are written, after another pass over them for norms.
template <auto Optimizer, class Eigen>
void add_update(std::string const& name, std::size_t n, Eigen const& eigen) {
  constexpr unsigned norms = sc::detail::norms_of_round<Optimizer>(0);
  double const floats = 4.0 * static_cast<double>(n);
  constexpr int slots_of_weight = sc::detail::slots_of<Optimizer>;
  traffic const bytes{floats * (2 + slots_of_weight) * (norms != 0 ? 2 : 1), floats * (1 + slots_of_weight),
                      floats * (2 + slots_of_weight), true};
  auto const size = static_cast<std::int64_t>(n);
  add(name + "/stagecraft", n, bytes, [size](buffers& b) {
    return [size, w = b.x.data(), g = b.gradient.data(), slots = b.slots.data()] {
      std::array<double, sc::update_tracer::most_norms> found{};
      if constexpr (norms != 0) {
        kernels::add_squares<Optimizer, norms>(
            kernels::given_everywhere<Optimizer>(0.001F, 1000, found.data()), w, g, slots, size, size,
            [](std::int64_t) { return kernels::lanes<>; }, found.data());
        for (double& norm : found) norm = std::sqrt(norm);
      }
      kernels::update<Optimizer>(0.001F, 1000, w, g, slots, size, size, found.data());
    };
  });
  add(name + "/eigen", n, bytes, [size, eigen](buffers& b) {
    return [size, eigen, w = b.x.data(), g = b.gradient.data(), m = b.slots.data(), v = b.slots.data() + size] {
      eigen(array(w, size), array(m, size), array(v, size), array(g, size));
    };
  });
}

/// What an optimizer's generated loop is held against: the same by hand, in registers. `step(w, m, v, g)`.
template <int Slots, class Step>
void add_update_by_hand(std::string const& name, std::size_t n, Step const& step) {
  using value = kernels::batch<>;
  double const floats = 4.0 * static_cast<double>(n);
  add(name + "/hand_loop", n, {floats * (2 + Slots), floats * (1 + Slots), floats * (2 + Slots), true},
      [n, step](buffers& b) {
        return [n, step, w = b.x.data(), g = b.gradient.data(), m = b.slots.data(), v = b.slots.data() + n] {
          for (std::size_t i = 0; i < n; i += kernels::lanes<>) {
            value weight = value::load_unaligned(w + i), first = value::load_unaligned(m + i), second(0.0F);
            if constexpr (Slots > 1) second = value::load_unaligned(v + i);
            step(weight, first, second, value::load_unaligned(g + i));
            weight.store_unaligned(w + i);
            first.store_unaligned(m + i);
            if constexpr (Slots > 1) second.store_unaligned(v + i);
          }
        };
      });
}

void add_updates_by_hand(std::string const& size, std::size_t n) {
  using value = kernels::batch<>;
  add_update_by_hand<2>("adamw/" + size, n, [](value& w, value& m, value& v, value const& g) {
    m = m + value(0.1F) * (g - m);
    v = v + value(0.001F) * (g * g - v);
    w = w - value(1e-7F) * w - value(0.00063F) * m / (xsimd::sqrt(v) + value(1e-7F));
  });
  add_update_by_hand<1>("adagrad/" + size, n, [](value& w, value& a, value&, value const& g) {
    a = kernels::fused_multiply_add(g, g, a);
    w = w - value(0.001F) * (g / (xsimd::sqrt(a + value(0.1F)) + value(1e-7F)));
  });
  add_update_by_hand<1>("sgdw/" + size, n, [](value& w, value& m, value&, value const& g) {
    m = value(0.9F) * m - value(0.001F) * g;
    w = w + m - value(1e-4F) * w;
  });
}

/// Whole expressions where there can be: Eigen has no loop with several results.
void add_updates(std::string const& size, std::size_t n) {
  auto const moments = [](array& m, array& v, array const& g) {
    m = 0.9F * m + 0.1F * g;
    v = 0.999F * v + 0.001F * g.square();
  };
  add_update<sc::optimizers::adamw{.weight_decay = 1e-4F}>("adamw/" + size, n,
                                                           [moments](array w, array m, array v, array const& g) {
                                                             moments(m, v, g);
                                                             w -= 0.00063F * m / (v.sqrt() + 1e-7F) + 1e-4F * w;
                                                           });
  add_update<sc::optimizers::lamb{.weight_decay = 1e-4F}>(
      "lamb/" + size, n, [moments](array w, array m, array v, array const& g) {
        moments(m, v, g);
        auto const step = m / ((1.58F * v).sqrt() + 1e-6F) + 1e-4F * w;
        w -= 0.001F * std::sqrt(w.square().sum() / step.square().sum()) * step;
      });
  add_update<sc::optimizers::adagrad{}>("adagrad/" + size, n, [](array w, array a, array, array const& g) {
    a += g.square();
    w -= 0.001F * g / ((a + 0.1F).sqrt() + 1e-7F);
  });
  add_update<sc::optimizers::adadelta{}>("adadelta/" + size, n, [](array w, array a, array d, array const& g) {
    a = 0.95F * a + 0.05F * g.square();
    auto const scale = (d + 1e-7F) / (a + 1e-7F);
    w -= 0.001F * g * scale.sqrt();
    d = 0.95F * d + 0.05F * g.square() * scale;
  });
  add_update<sc::optimizers::adamax{}>("adamax/" + size, n, [](array w, array m, array v, array const& g) {
    m = 0.9F * m + 0.1F * g;
    v = (0.999F * v).max(g.abs());
    w -= 0.001F * m / (v + 1e-7F);
  });
  add_update<sc::optimizers::ftrl{}>("ftrl/" + size, n, [](array w, array a, array z, array const& g) {
    z += g - ((a + g.square() + 0.1F).sqrt() - (a + 0.1F).sqrt()) * 1000.0F * w;
    a += g.square();
    w = (z != 0.0F).select(z * -0.001F / (a + 0.1F).sqrt(), 0.0F);
  });
  add_update<sc::optimizers::sgdw{.weight_decay = 1e-4F, .momentum = 0.9F}>(
      "sgdw/" + size, n, [](array w, array m, array, array const& g) {
        m = 0.9F * m - 0.001F * g;
        w += m - 1e-4F * w;
      });
  add_update<sc::optimizers::lars{.weight_decay_rate = 1e-4F}>(
      "lars/" + size, n, [](array w, array m, array, array const& g) {
        auto const step = g + 1e-4F * w;
        m = 0.9F * m + 1e-6F * std::sqrt(w.square().sum() / step.square().sum()) * step;
        w -= m;
      });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Eigen::setNbThreads(1);
  benchmark::AddCustomContext("floats in a register", std::to_string(kernels::lanes<>));

  stagecraft::benchmarks::add_limits();
  add_activations("16K", 1U << 14U);
  add_activations("1M", 1U << 20U);
  add_sum("16K", 1U << 14U);
  add_sum("1M", 1U << 20U);
  add_updates("16K", 1U << 14U);
  add_updates("1M", 1U << 20U);
  add_updates_by_hand("16K", 1U << 14U);
  add_updates_by_hand("1M", 1U << 20U);
  add_softmax<(1 << 14) / 10, 10>("16K");
  add_softmax<(1 << 20) / 10, 10>("1M");
  add_softmax<(1 << 14) / 1024, 1024>("16K");
  add_softmax<(1 << 20) / 1024, 1024>("1M");
  add_layer_normalization<(1 << 14) / 10, 10>("16K");
  add_layer_normalization<(1 << 20) / 10, 10>("1M");
  add_layer_normalization<(1 << 14) / 1024, 1024>("16K");
  add_layer_normalization<(1 << 20) / 1024, 1024>("1M");

  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
