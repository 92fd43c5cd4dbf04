// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` and functions of tensors against TensorFlow, NumPy and ONNX Runtime: by the reference on doubles, by
// the runner on floats, and by it for some samples at a time.
#include "operation_words.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

using namespace stagecraft::operations;        // NOLINT: words of layers are tested
using namespace stagecraft::operations::runs;  // NOLINT: the tests' own

namespace {

/// The largest difference, of 1 and the number; infinite if one is no number.
double deviation(floats const& found, floats const& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i] == expected[i]) continue;
    double const value = static_cast<double>(expected[i]);
    double const here = std::abs(static_cast<double>(found[i]) - value) / (1 + std::abs(value));
    if (!(here < INFINITY)) return INFINITY;
    worst = std::max(worst, here);
  }
  return worst;
}

void compare(numbers const& found, std::string const& name, double tolerance) {
  CHECK(deviation(found.output, words_file()[name + "/output"].values) < tolerance);
  for (std::size_t i = 0; i < found.gradients.size(); ++i) {
    std::string const gradient = name + "/input_" + std::to_string(i) + "_gradient";
    CAPTURE(gradient);
    if (!words_file().contains(gradient)) continue;
    auto const& expected = words_file()[gradient].values;
    if (found.gradients[i].empty())
      for (float const each : expected) CHECK(each == 0);
    else
      CHECK(deviation(found.gradients[i], expected) < tolerance);
  }
}

}  // namespace

TEST_CASE("words compute what TensorFlow, NumPy and ONNX Runtime do") {
  for (auto const& [name, computed, tolerance] : word_cases()) {
    CAPTURE(name);
    numbers with;
    auto const shapes = read_inputs(name, with);
    int const batch = shapes[0][0];
    traced_plan const plan(trace_call(computed, shapes), true),
        by_sample(trace_call(computed, shapes), true, {}, batch);
    REQUIRE_MESSAGE(!plan.traced.list.problem.failed(), plan.traced.list.problem.text.view());
    CHECK(plan.traced.list.node_of(plan.traced.outputs[0]).shape ==
          shape_of(words_file()[name + "/output"]));
    auto on_doubles = with, of_samples = with;
    reference_run(plan, on_doubles);
    compare(on_doubles, name, tolerance);
    float_run const on_floats(plan, with);
    compare(with, name, tolerance);
    float_run const two_by_two(by_sample, of_samples, batch, 2);
    CHECK(deviation(of_samples.output, with.output) == 0);
    for (std::size_t i = 0; i < with.gradients.size(); ++i)
      CHECK(deviation(of_samples.gradients[i], with.gradients[i]) == 0);
  }
}
