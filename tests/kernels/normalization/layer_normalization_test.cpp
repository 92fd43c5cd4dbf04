// SPDX-License-Identifier: BSD-3-Clause
// Layer normalization against plain loops in double precision, on each architecture, with the work divided or not.
#include "normalization_cases.hpp"

#include <stagecraft/kernels/normalization/layer_normalization.hpp>

#include <cstring>
#include <vector>

using namespace normalization_cases;

namespace {

constexpr double epsilon = 1e-3;

/// The kernels of one shape and instruction set. The checks get to know these at run time only, so that a shape costs
/// no more compile time than its kernels.
struct row_kernels {
  int rows;
  int columns;
  int lanes;
  bool accumulate;
  int channel_floats;
  int workspace;
  int partial;
  void (*normalize)(float const* x, float const* gamma, float const* beta, float* y, float* mean, float* reciprocal,
                    kernels::share part);
  void (*gradient)(float const* x, float const* dy, float const* mean, float const* reciprocal, float const* gamma,
                   float* workspace, float* dx, float* partial, kernels::share part);
  void (*add)(float const* partial, float* sums);
};

template <int Rows, int Columns, class Arch, bool Accumulate = false>
constexpr row_kernels kernels_of = {
    Rows,
    Columns,
    kernels::lanes<Arch>,
    Accumulate,
    kernels::channel_rows<Columns, Arch>::channel_floats,
    static_cast<int>(kernels::layer_normalization_workspace<Columns, Arch>),
    static_cast<int>(kernels::channel_items<Rows, Columns, Arch>::partial_floats),
    [](float const* x, float const* gamma, float const* beta, float* y, float* mean, float* reciprocal,
       kernels::share part) {
      kernels::layer_normalize<Columns, Arch>(x, Rows, static_cast<float>(epsilon), gamma, beta, y, mean, reciprocal,
                                              part);
    },
    [](float const* x, float const* dy, float const* mean, float const* reciprocal, float const* gamma,
       float* workspace, float* dx, float* partial, kernels::share part) {
      kernels::layer_normalization_gradient<Rows, Columns, Accumulate, Arch>(x, dy, mean, reciprocal, gamma, workspace,
                                                                             dx, partial, part);
    },
    [](float const* partial, float* sums) { kernels::add_item_sums<Rows, Columns, Arch>(partial, Rows, sums); },
};

struct results {
  explicit results(row_kernels const& of)
      : y(of.rows * of.columns, 7.0F),
        mean(of.rows),
        reciprocal(of.rows),
        dx(of.rows * of.columns, 0.25F),
        sums(2 * of.channel_floats) {}

  buffer y, mean, reciprocal, dx, sums;

  [[nodiscard]] bool same_bits(results& other) {
    auto const same = [](buffer& a, buffer& b) {
      return std::memcmp(a.data(), b.data(), sizeof(float) * static_cast<std::size_t>(a.size())) == 0;
    };
    return same(mean, other.mean) && same(reciprocal, other.reciprocal) && same(sums, other.sums) && same(y, other.y) &&
           same(dx, other.dx);
  }
  [[nodiscard]] bool guards_are_intact() {
    return mean.guard_is_intact() && reciprocal.guard_is_intact() && sums.guard_is_intact() && y.guard_is_intact() &&
           dx.guard_is_intact();
  }
};

void run(row_kernels const& tested, int shares, buffer& x, buffer& dy, float const* gamma, float const* beta,
         results& r) {
  buffer partial(tested.partial);
  for_each_share(shares, 0, [&](kernels::share part, float*) {
    tested.normalize(x.data(), gamma, beta, r.y.data(), r.mean.data(), r.reciprocal.data(), part);
  });
  for_each_share(shares, tested.workspace, [&](kernels::share part, float* workspace) {
    tested.gradient(x.data(), dy.data(), r.mean.data(), r.reciprocal.data(), gamma, workspace, r.dx.data(),
                    partial.data(), part);
  });
  tested.add(partial.data(), r.sums.data());
  CHECK(partial.guard_is_intact());
}

void check_rows(row_kernels const& tested, double mean, double deviation) {
  int const rows = tested.rows, columns = tested.columns;
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(tested.lanes);
  buffer x(rows * columns), dy(rows * columns), gamma(columns), beta(columns);
  fill(x, mean, deviation, 1);
  fill(dy, 0.1, 1, 2);
  fill(gamma, 1, 0.3, 3);
  fill(beta, 0, 1, 4);
  bool const scales = rows % 3 != 0, centers = rows % 2 == 0;
  float const *const g = scales ? gamma.data() : nullptr, *const b = centers ? beta.data() : nullptr;
  results r(tested);
  run(tested, 1, x, dy, g, b, r);
  CHECK(r.guards_are_intact());

  std::vector<double> of_beta(static_cast<std::size_t>(columns)), of_gamma(static_cast<std::size_t>(columns));
  double of_output = 0, of_gradient = 0, of_sums = 0;
  for (int row = 0; row < rows; ++row) {
    auto const at = [&](buffer& from, int c) { return static_cast<double>(from.data()[row * columns + c]); };
    double m = 0, variance = 0, sum = 0, slope = 0;
    for (int c = 0; c < columns; ++c) m += at(x, c) / columns;
    for (int c = 0; c < columns; ++c) variance += (at(x, c) - m) * (at(x, c) - m) / columns;
    double const reciprocal = 1 / std::sqrt(variance + epsilon);
    for (int c = 0; c < columns; ++c) {
      double const normalized = (at(x, c) - m) * reciprocal;
      double const gamma_c = scales ? static_cast<double>(gamma.data()[c]) : 1;
      double const beta_c = centers ? static_cast<double>(beta.data()[c]) : 0;
      note(of_output, r.y.data()[row * columns + c], normalized * gamma_c + beta_c);
      sum += at(dy, c) * gamma_c / columns;
      slope += at(dy, c) * gamma_c * normalized / columns;
      of_beta[static_cast<std::size_t>(c)] += at(dy, c);
      of_gamma[static_cast<std::size_t>(c)] += at(dy, c) * normalized;
    }
    for (int c = 0; c < columns; ++c) {
      double const gamma_c = scales ? static_cast<double>(gamma.data()[c]) : 1;
      double const normalized = (at(x, c) - m) * reciprocal;
      note(of_gradient, r.dx.data()[row * columns + c],
           (tested.accumulate ? 0.25 : 0) + reciprocal * (at(dy, c) * gamma_c - sum - normalized * slope));
    }
  }
  for (int c = 0; c < columns; ++c) {
    note(of_sums, r.sums.data()[c], of_beta[static_cast<std::size_t>(c)]);
    note(of_sums, r.sums.data()[tested.channel_floats + c], of_gamma[static_cast<std::size_t>(c)]);
  }
  // A mean is rounded to half a unit of its last place; what is divided by the deviation grows with that.
  double const rounding = std::abs(mean) * 6e-8 / deviation;
  CHECK(of_output < 3e-6 + 4 * rounding);
  CHECK(of_gradient < (3e-6 + 20 * rounding) / std::sqrt(deviation * deviation + epsilon) * 2);
  CHECK(of_sums < 2e-5 * std::sqrt(rows) + 3 * rounding * rows);

  for (int const shares : {2, 3}) {
    results divided(tested);
    run(tested, shares, x, dy, g, b, divided);
    CHECK(divided.same_bits(r));
  }
}

template <class... Arch>
void check_all_rows() {
  (check_rows(kernels_of<1, 1, Arch>, 0, 1), ...);
  (check_rows(kernels_of<35, 1, Arch>, 3, 1), ...);
  (check_rows(kernels_of<50, 3, Arch, true>, 0, 1), ...);
  (check_rows(kernels_of<33, 7, Arch>, 0, 1), ...);
  (check_rows(kernels_of<100, 10, Arch>, 0, 1), ...);
  (check_rows(kernels_of<31, 15, Arch, true>, 0, 1), ...);
  (check_rows(kernels_of<16, 16, Arch>, 0, 1), ...);
  (check_rows(kernels_of<17, 17, Arch>, 0, 1), ...);
  (check_rows(kernels_of<8, 33, Arch>, 0, 1), ...);
  (check_rows(kernels_of<40, 64, Arch, true>, 0, 1), ...);
  (check_rows(kernels_of<5, 131, Arch>, 0, 1), ...);
  (check_rows(kernels_of<6, 257, Arch, true>, 0, 1), ...);
  (check_rows(kernels_of<4, 1031, Arch>, 0, 1), ...);
}
template <class... Arch>
void check_large_means() {
  (check_rows(kernels_of<2000, 10, Arch>, 1000, 0.1), ...);
  (check_rows(kernels_of<400, 64, Arch>, -1000, 0.1), ...);
  (check_rows(kernels_of<40, 1024, Arch>, 1000, 0.1), ...);
}

}  // namespace

TEST_CASE("layer normalization is what plain loops give") { check_all_rows<MATMUL_ARCHITECTURES>(); }
TEST_CASE("layer normalization of large means and small variances") { check_large_means<MATMUL_ARCHITECTURES>(); }

TEST_CASE("without statistics to keep, and without one of the gradients") {
  constexpr int rows = 20, columns = 12;
  buffer x(rows * columns), y(rows * columns), kept(rows * columns), mean(rows), reciprocal(rows);
  fill(x, 1, 2, 8);
  kernels::layer_normalize<columns>(x.data(), rows, 1e-3F, nullptr, nullptr, y.data(), nullptr, nullptr);
  kernels::layer_normalize<columns>(x.data(), rows, 1e-3F, nullptr, nullptr, kept.data(), mean.data(),
                                    reciprocal.data());
  CHECK(matmul_cases::first_difference(y.data(), kept.data(), rows * columns) == -1);

  buffer workspace(static_cast<int>(kernels::layer_normalization_workspace<columns>));
  buffer partial(static_cast<int>(kernels::channel_items<rows, columns>::partial_floats)), again(partial.size());
  buffer dx(rows * columns), other(rows * columns);
  auto const gradient = [&](float* to, float* sums) {
    kernels::layer_normalization_gradient<rows, columns>(x.data(), y.data(), mean.data(), reciprocal.data(), nullptr,
                                                         workspace.data(), to, sums);
  };
  gradient(dx.data(), partial.data());
  gradient(other.data(), nullptr);
  gradient(nullptr, again.data());
  CHECK(matmul_cases::first_difference(dx.data(), other.data(), rows * columns) == -1);
  CHECK(matmul_cases::first_difference(partial.data(), again.data(), partial.size()) == -1);
}
