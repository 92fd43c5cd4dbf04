// SPDX-License-Identifier: BSD-3-Clause
// Gradients of replicas become one: all-reduce and reduce-scatter of 16 K and 1 M floats over 2 and 4 replicas, beside
// Eigen's sums and beside memcpy of as many bytes. One thread. Counter: bytes read and written per second.
//   taskset -c 0 collectives_benchmark --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
//       --benchmark_report_aggregates_only=true
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/kernels/update/accumulate.hpp>
#include <benchmark/benchmark.h>

#if defined(STAGECRAFT_BENCHMARK_EIGEN)
#include <Eigen/Core>
#endif
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "aligned_floats.hpp"

namespace {

namespace kernels = stagecraft::kernels;
using stagecraft::benchmarks::aligned_floats;

/// An array of each replica, 0 all over: numbers that grow from run to run would end as infinities.
struct replicas {
  replicas(int count, std::size_t n) {
    for (int replica = 0; replica < count; ++replica) {
      arrays.push_back(std::make_unique<aligned_floats>(n, 0.0F));
      writable.push_back(arrays.back()->data());
      readable.push_back(arrays.back()->data());
    }
  }
  std::vector<std::unique_ptr<aligned_floats>> arrays;
  std::vector<float*> writable;
  std::vector<float const*> readable;
};

/// Runs body(replicas, another array); it moves `bytes`.
template <class Body>
void add(std::string const& name, int count, std::size_t n, double bytes, Body const& body) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    replicas memory(count, n);
    aligned_floats other(n * static_cast<std::size_t>(count), 0.0F);
    for (auto _ : state) {
      body(memory, other.data());
      benchmark::ClobberMemory();
    }
    state.counters["bytes/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
  });
}

/// Copies half of `bytes`: they are read and written.
void add_memcpy(std::string const& name, std::size_t n, double bytes) {
  benchmark::RegisterBenchmark((name + "/memcpy").c_str(), [=](benchmark::State& state) {
    auto const size = static_cast<std::size_t>(bytes / 2);
    aligned_floats from(n * 8), to(n * 8);
    for (auto _ : state) {
      std::memcpy(to.data(), from.data(), size);
      benchmark::ClobberMemory();
    }
    state.counters["bytes/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
  });
}

#if defined(STAGECRAFT_BENCHMARK_EIGEN)
using array = Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64>;
using const_array = Eigen::Map<Eigen::ArrayXf const, Eigen::Aligned64>;

/// One pass: the whole sum is one expression.
template <int Count>
void eigen_sum(std::vector<float const*> const& x, float* y, std::int64_t n) {
  array to(y, n);
  if constexpr (Count == 2)
    to = const_array(x[0], n) + const_array(x[1], n);
  else
    to = const_array(x[0], n) + const_array(x[1], n) + const_array(x[2], n) + const_array(x[3], n);
}
#endif

template <int Count>
void add_size(std::string const& size, std::size_t n) {
  std::string const name = "/replicas:" + std::to_string(Count) + "/" + size;
  auto const elements = static_cast<std::int64_t>(n);
  double const array_bytes = 4.0 * static_cast<double>(n);

  double const all_bytes = 2 * Count * array_bytes;
  add("all_reduce" + name + "/stagecraft", Count, n, all_bytes,
      [elements](replicas& memory, float*) { kernels::all_reduce(memory.writable.data(), Count, {0, elements}); });
  add_memcpy("all_reduce" + name, n, all_bytes);

  double const bytes = (Count + 1) * array_bytes;
  add("reduce_scatter" + name + "/stagecraft", Count, n, bytes, [elements](replicas& memory, float* to) {
    kernels::reduce_scatter(memory.readable.data(), Count, to, {0, elements});
  });
  add_memcpy("reduce_scatter" + name, n, bytes);

#if defined(STAGECRAFT_BENCHMARK_EIGEN)
  add("all_reduce" + name + "/eigen", Count, n, all_bytes, [elements](replicas& memory, float*) {
    eigen_sum<Count>(memory.readable, memory.writable[0], elements);
    for (std::size_t i = 1; i < Count; ++i)
      array(memory.writable[i], elements) = const_array(memory.readable[0], elements);
  });
  add("reduce_scatter" + name + "/eigen", Count, n, bytes,
      [elements](replicas& memory, float* to) { eigen_sum<Count>(memory.readable, to, elements); });
#endif
}

/// What a micro-batch adds to an accumulator of floats or of halves.
template <class Stored>
void add_accumulation(std::string const& name, std::size_t n) {
  double const bytes = static_cast<double>(n) * (4.0 + 2.0 * sizeof(Stored));
  add("accumulate_" + name + "/stagecraft", 1, n, bytes, [n](replicas& memory, float* to) {
    kernels::accumulate_gradient({}, memory.readable[0], reinterpret_cast<Stored*>(to), static_cast<std::int64_t>(n));
  });
  add_memcpy("accumulate_" + name, n, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_size<2>("16K", 1U << 14U);
  add_size<2>("1M", 1U << 20U);
  add_size<4>("16K", 1U << 14U);
  add_size<4>("1M", 1U << 20U);
  add_accumulation<float>("float/16K", 1U << 14U);
  add_accumulation<float>("float/1M", 1U << 20U);
  add_accumulation<std::uint16_t>("half/16K", 1U << 14U);
  add_accumulation<std::uint16_t>("half/1M", 1U << 20U);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
