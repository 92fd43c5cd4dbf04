// SPDX-License-Identifier: BSD-3-Clause
// Batch normalization against plain loops in double precision, on each architecture, with the work divided or not.
#include "normalization_cases.hpp"

#include <stagecraft/kernels/normalization/batch_normalization.hpp>
#include <stagecraft/kernels/normalization/batch_normalization_planes.hpp>

#include <cstring>
#include <vector>

using namespace normalization_cases;

namespace {

constexpr double epsilon = 1e-3;

/// What one channel's numbers give: `at(i)` is the place of the i-th of `count` numbers.
struct expected_channel {
  double mean = 0, variance = 0, reciprocal = 0, of_gradient = 0, of_gradient_deviation = 0;

  template <class At>
  expected_channel(float const* x, float const* dy, std::int64_t count, At const& at) {
    auto const n = static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i) mean += static_cast<double>(x[at(i)]) / n;
    for (std::int64_t i = 0; i < count; ++i) {
      double const d = static_cast<double>(x[at(i)]) - mean, g = static_cast<double>(dy[at(i)]);
      variance += d * d / n;
      of_gradient += g;
      of_gradient_deviation += g * d;
    }
    reciprocal = 1 / std::sqrt(variance + epsilon);
  }
  [[nodiscard]] double output(float x, float gamma, float beta) const {
    return (static_cast<double>(x) - mean) * reciprocal * static_cast<double>(gamma) + static_cast<double>(beta);
  }
  [[nodiscard]] double gradient(float x, float dy, float gamma, std::int64_t count) const {
    auto const n = static_cast<double>(count);
    double const d = static_cast<double>(x) - mean;
    return reciprocal * static_cast<double>(gamma) *
           (static_cast<double>(dy) - of_gradient / n - d * reciprocal * reciprocal * of_gradient_deviation / n);
  }
};

/// The kernels of one shape and instruction set. The checks get to know these at run time only, so that a shape costs
/// no more compile time than its kernels.
struct row_kernels {
  int rows;
  int channels;
  int lanes;
  bool accumulate;
  int channel_floats;
  int workspace;
  int partial;
  void (*statistics)(float const* x, int rows, float* workspace, float* partial, kernels::share part);
  void (*join)(float const* x, float const* partial, int rows, float* workspace, float* mean, float* variance,
               float* reciprocal);
  void (*normalize)(float const* x, float const* mean, float const* reciprocal, float const* gamma, float const* beta,
                    float* workspace, float* y, kernels::share part);
  void (*sums)(float const* x, float const* dy, int rows, float const* mean, float* workspace, float* partial,
               kernels::share part);
  void (*add)(float const* partial, int rows, float* sums);
  void (*gradient)(float const* x, float const* dy, int rows, float const* mean, float const* reciprocal,
                   float const* gamma, float const* sums, float* workspace, float* dx, kernels::share part);
};

template <int Rows, int Channels, class Arch, bool Accumulate = false>
constexpr row_kernels kernels_of = {
    Rows,
    Channels,
    kernels::lanes<Arch>,
    Accumulate,
    kernels::channel_rows<Channels, Arch>::channel_floats,
    static_cast<int>(kernels::batch_normalization_workspace<Channels, Arch>),
    static_cast<int>(kernels::channel_items<Rows, Channels, Arch>::partial_floats),
    [](float const* x, int rows, float* workspace, float* partial, kernels::share part) {
      kernels::batch_statistics<Rows, Channels, Arch>(x, rows, workspace, partial, part);
    },
    [](float const* x, float const* partial, int rows, float* workspace, float* mean, float* variance,
       float* reciprocal) {
      kernels::join_batch_statistics<Rows, Channels, Arch>(x, partial, rows, workspace, mean, variance);
      kernels::reciprocal_deviation<Arch>(variance, static_cast<float>(epsilon), reciprocal, Channels);
    },
    [](float const* x, float const* mean, float const* reciprocal, float const* gamma, float const* beta,
       float* workspace, float* y, kernels::share part) {
      kernels::batch_normalize<Channels, Arch>(x, Rows, mean, reciprocal, gamma, beta, workspace, y, part);
    },
    [](float const* x, float const* dy, int rows, float const* mean, float* workspace, float* partial,
       kernels::share part) {
      kernels::batch_normalization_sums<Rows, Channels, Arch>(x, dy, rows, mean, workspace, partial, part);
    },
    [](float const* partial, int rows, float* sums) {
      kernels::add_item_sums<Rows, Channels, Arch>(partial, rows, sums);
    },
    [](float const* x, float const* dy, int rows, float const* mean, float const* reciprocal, float const* gamma,
       float const* sums, float* workspace, float* dx, kernels::share part) {
      kernels::batch_normalization_gradient<Channels, Accumulate, Arch>(x, dy, rows, mean, reciprocal, gamma, sums,
                                                                        workspace, dx, part);
    },
};

/// All that the kernels write.
struct results {
  explicit results(row_kernels const& of)
      : mean(of.channel_floats),
        variance(of.channel_floats),
        reciprocal(of.channel_floats),
        sums(2 * of.channel_floats),
        y(of.rows * of.channels, 7.0F),
        dx(of.rows * of.channels, 0.25F) {}

  buffer mean, variance, reciprocal, sums, y, dx;

  [[nodiscard]] bool same_bits(results& other) {
    auto const same = [](buffer& a, buffer& b) {
      return std::memcmp(a.data(), b.data(), sizeof(float) * static_cast<std::size_t>(a.size())) == 0;
    };
    return same(mean, other.mean) && same(variance, other.variance) && same(sums, other.sums) && same(y, other.y) &&
           same(dx, other.dx);
  }
  [[nodiscard]] bool guards_are_intact() {
    return mean.guard_is_intact() && variance.guard_is_intact() && reciprocal.guard_is_intact() &&
           sums.guard_is_intact() && y.guard_is_intact() && dx.guard_is_intact();
  }
};

void run(row_kernels const& tested, int shares, int rows, buffer& x, buffer& dy, float const* gamma, float const* beta,
         results& r) {
  buffer partial(tested.partial);
  for_each_share(shares, tested.workspace, [&](kernels::share part, float* workspace) {
    tested.statistics(x.data(), rows, workspace, partial.data(), part);
  });
  for_each_share(shares, tested.workspace, [&](kernels::share part, float* workspace) {
    tested.join(x.data(), partial.data(), rows, workspace, r.mean.data(), r.variance.data(), r.reciprocal.data());
    tested.normalize(x.data(), r.mean.data(), r.reciprocal.data(), gamma, beta, workspace, r.y.data(), part);
  });
  for_each_share(shares, tested.workspace, [&](kernels::share part, float* workspace) {
    tested.sums(x.data(), dy.data(), rows, r.mean.data(), workspace, partial.data(), part);
  });
  tested.add(partial.data(), rows, r.sums.data());
  for_each_share(shares, tested.workspace, [&](kernels::share part, float* workspace) {
    tested.gradient(x.data(), dy.data(), rows, r.mean.data(), r.reciprocal.data(), gamma, r.sums.data(), workspace,
                    r.dx.data(), part);
  });
  CHECK(partial.guard_is_intact());
}

/// The first `rows` rows of all are samples.
void check_rows(row_kernels const& tested, int rows, double mean, double deviation) {
  int const all_rows = tested.rows, channels = tested.channels;
  CAPTURE(all_rows);
  CAPTURE(channels);
  CAPTURE(rows);
  CAPTURE(tested.lanes);
  buffer x(all_rows * channels), dy(all_rows * channels), gamma(tested.channel_floats), beta(tested.channel_floats);
  fill(x, mean, deviation, 1);
  fill(dy, 0.1, 1, 2);
  fill(gamma, 1, 0.3, 3);
  fill(beta, 0, 1, 4);
  bool const scales = rows % 3 != 0, centers = rows % 2 == 0;
  float const *const g = scales ? gamma.data() : nullptr, *const b = centers ? beta.data() : nullptr;
  results r(tested);
  run(tested, 1, rows, x, dy, g, b, r);
  CHECK(r.guards_are_intact());

  double of_mean = 0, of_variance = 0, of_output = 0, of_sums = 0, of_gradient = 0;
  for (int c = 0; c < channels; ++c) {
    expected_channel const e(x.data(), dy.data(), rows, [&](std::int64_t i) { return i * channels + c; });
    note(of_mean, r.mean.data()[c], e.mean);
    note(of_variance, r.variance.data()[c], e.variance);
    note(of_sums, r.sums.data()[c], e.of_gradient);
    note(of_sums, r.sums.data()[tested.channel_floats + c], e.of_gradient_deviation);
    float const gc = scales ? gamma.data()[c] : 1.0F, bc = centers ? beta.data()[c] : 0.0F;
    for (int row = 0; row < all_rows; ++row) {
      int const i = row * channels + c;
      note(of_output, r.y.data()[i], e.output(x.data()[i], gc, bc));
      double const before = tested.accumulate ? 0.25 : 0;
      note(of_gradient, r.dx.data()[i], row < rows ? before + e.gradient(x.data()[i], dy.data()[i], gc, rows) : 0.25);
    }
  }
  // A mean is rounded to half a unit of its last place; what is divided by the deviation grows with that.
  double const rounding = std::abs(mean) * 6e-8 / deviation;
  CHECK(of_mean < std::abs(mean) * 6.5e-8 + deviation * 2e-7);
  CHECK(of_variance < 2e-6 * deviation * deviation);
  CHECK(of_output < 3e-6 + 2.5 * rounding);
  CHECK(of_sums < 1e-5 * deviation * std::sqrt(rows) + 1e-5 * std::sqrt(rows) + rounding * deviation * rows);
  CHECK(of_gradient < (3e-6 + 12 * rounding) / std::sqrt(deviation * deviation + epsilon) * 2);

  for (int const shares : {2, 3}) {
    results divided(tested);
    run(tested, shares, rows, x, dy, g, b, divided);
    CHECK(divided.same_bits(r));
  }
}

template <class... Arch>
void check_all_rows() {
  (check_rows(kernels_of<1, 1, Arch>, 1, 0, 1), ...);
  (check_rows(kernels_of<2, 5, Arch>, 2, 0, 1), ...);
  (check_rows(kernels_of<37, 1, Arch>, 37, 3, 1), ...);
  (check_rows(kernels_of<100, 3, Arch>, 97, 0, 1), ...);
  (check_rows(kernels_of<65, 8, Arch, true>, 64, 0, 1), ...);
  (check_rows(kernels_of<130, 15, Arch>, 127, 0, 1), ...);
  (check_rows(kernels_of<64, 16, Arch>, 64, 0, 1), ...);
  (check_rows(kernels_of<131, 17, Arch, true>, 131, 0, 1), ...);
  (check_rows(kernels_of<70, 33, Arch>, 69, 0, 1), ...);
  (check_rows(kernels_of<40, 63, Arch>, 40, 0, 1), ...);
  (check_rows(kernels_of<50, 64, Arch, true>, 48, 0, 1), ...);
  (check_rows(kernels_of<20, 129, Arch>, 20, 0, 1), ...);
  (check_rows(kernels_of<17, 1030, Arch>, 16, 0, 1), ...);
}
template <class... Arch>
void check_large_means() {
  (check_rows(kernels_of<1000, 3, Arch>, 1000, 1000, 0.1), ...);
  (check_rows(kernels_of<20000, 7, Arch>, 19999, 1000, 0.1), ...);
  (check_rows(kernels_of<3000, 64, Arch>, 3000, -1000, 0.1), ...);
}

/// Channels that are not the last axis.
struct plane_kernels {
  int outer;
  int channels;
  int inner;
  int lanes;
  bool accumulate;
  void (*measure)(float const* x, int used, int channel, float* mean, float* variance);
  void (*normalize)(float const* x, int channel, float mean, float factor, float beta, float* y);
  void (*sums)(float const* x, float const* dy, int used, int channel, float mean, float* of_gradient,
               float* of_gradient_deviation);
  void (*gradient)(float const* x, float const* dy, int used, int channel, float mean, float factor, float constant,
                   float slope, float* dx);
};

template <int Outer, int Channels, int Inner, class Arch, bool Accumulate>
constexpr plane_kernels planes_of = {
    Outer,
    Channels,
    Inner,
    kernels::lanes<Arch>,
    Accumulate,
    [](float const* x, int used, int channel, float* mean, float* variance) {
      auto const found = kernels::channel_planes<Channels, Inner, Arch>::measure(x, used, channel);
      *mean = found.mean;
      *variance = found.variance;
    },
    [](float const* x, int channel, float mean, float factor, float beta, float* y) {
      kernels::channel_planes<Channels, Inner, Arch>::normalize(x, Outer, channel, mean, factor, beta, y);
    },
    [](float const* x, float const* dy, int used, int channel, float mean, float* of_gradient,
       float* of_gradient_deviation) {
      auto const sums = kernels::channel_planes<Channels, Inner, Arch>::gradient_sums(x, dy, used, channel, mean);
      *of_gradient = sums.of_gradient;
      *of_gradient_deviation = sums.of_gradient_deviation;
    },
    [](float const* x, float const* dy, int used, int channel, float mean, float factor, float constant, float slope,
       float* dx) {
      kernels::channel_planes<Channels, Inner, Arch>::template gradient<Accumulate>(x, dy, used, channel, mean, factor,
                                                                                    constant, slope, dx);
    },
};

void check_planes(plane_kernels const& tested, int used, double mean, double deviation) {
  int const channels = tested.channels, inner = tested.inner;
  CAPTURE(channels);
  CAPTURE(inner);
  CAPTURE(tested.lanes);
  int const size = tested.outer * channels * inner;
  buffer x(size), dy(size), y(size, 7.0F), dx(size, 0.25F);
  fill(x, mean, deviation, 5);
  fill(dy, 0.1, 1, 6);
  int const count = used * inner;
  double of_statistics = 0, of_output = 0, of_gradient = 0;
  for (int c = 0; c < channels; ++c) {
    auto const at = [&](std::int64_t i) { return (i / inner * channels + c) * inner + i % inner; };
    expected_channel const e(x.data(), dy.data(), count, at);
    float found_mean = 0, found_variance = 0, sum = 0, sum_deviation = 0;
    tested.measure(x.data(), used, c, &found_mean, &found_variance);
    note(of_statistics, found_mean, e.mean);
    note(of_statistics, found_variance, e.variance);
    auto const reciprocal = static_cast<float>(e.reciprocal);
    tested.normalize(x.data(), c, found_mean, reciprocal * 1.5F, -0.5F, y.data());
    tested.sums(x.data(), dy.data(), used, c, found_mean, &sum, &sum_deviation);
    float const n = static_cast<float>(count);
    tested.gradient(x.data(), dy.data(), used, c, found_mean, reciprocal * 1.5F, sum / n,
                    sum_deviation / n * reciprocal * reciprocal, dx.data());
    for (int i = 0; i < tested.outer * inner; ++i) {
      note(of_output, y.data()[at(i)], e.output(x.data()[at(i)], 1.5F, -0.5F));
      double const before = tested.accumulate ? 0.25 : 0;
      note(of_gradient, dx.data()[at(i)],
           i < count ? before + e.gradient(x.data()[at(i)], dy.data()[at(i)], 1.5F, count) : 0.25);
    }
  }
  double const rounding = std::abs(mean) * 6e-8 / deviation;
  CHECK(of_statistics < std::abs(mean) * 6.5e-8 + deviation * 5e-7);
  CHECK(of_output < 3e-6 + 4 * rounding);
  CHECK(of_gradient < (3e-6 + 12 * rounding) / std::sqrt(deviation * deviation + epsilon) * 2);
  CHECK(y.guard_is_intact());
  CHECK(dx.guard_is_intact());
}

template <class... Arch>
void check_all_planes() {
  (check_planes(planes_of<3, 4, 2, Arch, false>, 3, 0, 1), ...);
  (check_planes(planes_of<5, 3, 17, Arch, true>, 4, 0, 1), ...);
  (check_planes(planes_of<4, 7, 64, Arch, false>, 4, 1000, 0.1), ...);
  (check_planes(planes_of<2, 1, 131, Arch, true>, 1, 2, 1), ...);
}

template <class Arch>
void check_moving() {
  buffer value(20), moving(20, 2.0F);
  fill(value, 5, 1, 7);
  kernels::move_statistic<Arch>(0.75F, 2.0F, value.data(), moving.data(), 19);
  for (int i = 0; i < 19; ++i) CHECK(moving.data()[i] == doctest::Approx(1.5 + 0.5 * value.data()[i]));
  CHECK(moving.data()[19] == 2.0F);
  // 1 - momentum as Keras computes it, in double: 1e-5F. In float it would be 1.0014e-5.
  for (int i = 0; i < 19; ++i) {
    value.data()[i] = 100000.0F;
    moving.data()[i] = 0;
  }
  kernels::move_statistic<Arch>(0.99999, 1.0F, value.data(), moving.data(), 19);
  for (int i = 0; i < 19; ++i) CHECK(moving.data()[i] == 100000.0F * 1e-5F);
}
template <class... Arch>
void check_all_moving() {
  (check_moving<Arch>(), ...);
}

}  // namespace

TEST_CASE("batch normalization is what plain loops give") { check_all_rows<MATMUL_ARCHITECTURES>(); }
TEST_CASE("batch normalization of large means and small variances") { check_large_means<MATMUL_ARCHITECTURES>(); }
TEST_CASE("batch normalization along an axis that is not the last") { check_all_planes<MATMUL_ARCHITECTURES>(); }
TEST_CASE("moving statistics") { check_all_moving<MATMUL_ARCHITECTURES>(); }
