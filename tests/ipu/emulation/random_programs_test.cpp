// SPDX-License-Identifier: BSD-3-Clause
// Random compositions of operations, and their gradients, on small IPUs: values as the reference computes them on
// doubles; cycles and memory as foretold.
#include <stagecraft/ipu/convolution/plan_convolution.hpp>
#include <stagecraft/ipu/emulation/run_operation.hpp>
#include <stagecraft/ipu/lowering/program_of_call.hpp>
#include <stagecraft/ipu/operations/step_cost.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <random>
#include <vector>

#include "../../host/lists/random_program.hpp"
#include "../../host/lists/run_plan.hpp"
#include "../tiles/codelets/run_on_tiles.hpp"

namespace sc = stagecraft;
using sc::tensor_role;
using sc::operations::runs::floats;

namespace {

floats drawn(std::mt19937& engine, long long count) {
  std::normal_distribution<float> normal;
  floats result(static_cast<std::size_t>(count));
  for (auto& x : result) x = normal(engine);
  return result;
}

/// Both steps of a plan, lowered at run time.
class plan_on_tiles {
 public:
  plan_on_tiles(sc::operations::traced_plan const& plan, sc::ipu_target const& target, sc::dtype type)
      : plan_(plan), target_(target), type_(type), wanted_(plan.traced.gradients.size()) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) wanted_[i] = plan.traced.gradients[i] >= 0;
  }

  /// False if it has an operation that tiles do not know.
  bool run(sc::operations::runs::numbers& with) {
    with.gradients.assign(wanted_.size(), {});
    return run(with, false) && run(with, true);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  bool run(sc::operations::runs::numbers& with, bool backward) {
    sc::detail::traced_options const options{.type = type_, .variable_type = type_, .target = target_};
    std::array<bool, 8> wanted{};
    for (std::size_t i = 0; i < wanted_.size(); ++i) wanted[i] = wanted_[i] != 0;
    sc::detail::traced_steps<> steps(sc::operations::plan_view(plan_), options, backward, plan_.updates,
                                     {wanted.data(), wanted_.size()}, static_cast<int>(plan_.traced.inputs.size()));
    if (steps.program.failed) return false;
    steps.lay_out();
    std::vector<sc::convolution_plan> plans;
    for (auto const& shape : steps.program.shapes) plans.push_back(sc::plan_convolution(shape, target_, {}));
    sc::tile_program_view program;
    program.tensors = steps.program.tensors;
    program.operations = steps.program.operations;
    program.loops = steps.program.loops;
    program.shapes = steps.program.shapes;
    program.plans = plans;
    program.copies = steps.copies;
    sc::detail::set_cost(program, target_, sc::detail::cost_of_program(program, target_, 0, program.operations.size()));

    sc::lowered_step step;
    sc::detail::named_tensors named;
    std::vector<floats> values;
    for (auto const& each : program.tensors)
      if (each.given >= 0) {
        auto const& tensor = each.tensor;
        named.add_input(step.tensor(tensor.role, tensor.index, tensor.type, tensor.elements));
        values.push_back(before(with, tensor));
      }
    for (auto const& each : program.tensors)
      if (each.given >= 0 && each.written) named.add_output(named.inputs[each.given]);
    append_program(step, program, named);
    sc::step_cost const foretold(step, target_);
    auto const result = tests::run_on_tiles(step, target_, values, sc::run_operation, {}, foretold.temporary_bytes);
    for (int i = 0; i < named.output_count; ++i)
      after(with, step.tensors[named.outputs[i]], result.tensors[at(named.outputs[i])]);
    auto cost = foretold.cost;
    cost.temporary_bytes = 0;
    CHECK(result.counted == cost);
    CHECK(sc::rounded_bytes(result.high_water_mark) == result.tensor_bytes + foretold.temporary_bytes);
    return true;
  }
  floats before(sc::operations::runs::numbers const& with, sc::tile_tensor const& tensor) {
    switch (tensor.role) {
      case tensor_role::input: return with.inputs[at(tensor.index)];
      case tensor_role::weight: return with.weights[at(tensor.index)];
      case tensor_role::output_gradient: return with.output_gradient;
      case tensor_role::output:
        return with.output.empty() ? floats(at(static_cast<int>(tensor.elements))) : with.output;
      case tensor_role::saved:
        for (auto const& [index, elements] : kept_)
          if (index == tensor.index) return elements;
        [[fallthrough]];
      default: return floats(at(static_cast<int>(tensor.elements)), std::nanf(""));
    }
  }
  void after(sc::operations::runs::numbers& with, sc::tile_tensor const& tensor, floats const& values) {
    switch (tensor.role) {
      case tensor_role::output: with.output = values; break;
      case tensor_role::weight: with.weights[at(tensor.index)] = values; break;
      case tensor_role::saved: kept_.push_back({tensor.index, values}); break;
      case tensor_role::input_gradient: with.gradients[at(tensor.index)] = values; break;
      default: with.gradients[plan_.traced.inputs.size() + at(tensor.index)] = values;
    }
  }

  struct kept {
    int index;
    floats values;
  };
  sc::operations::traced_plan const& plan_;
  sc::ipu_target target_;
  sc::dtype type_;
  std::vector<char> wanted_;
  std::vector<kept> kept_;
};

void check_close(floats const& found, floats const& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::fabs(found[i] - expected[i]) <= 1e-4F * (1 + std::fabs(expected[i]))))
      FAIL_CHECK("element " << i << " is " << found[i] << ", not " << expected[i]);
}

}  // namespace

TEST_CASE("random compositions, some of them with a loop") {
  using namespace sc::operations;  // NOLINT: as a layer is written
  int done = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    extents const shapes[]{{2, 3, 4}, {3, 4}, {1, 4}};
    auto traced = trace_call(
        [&](tracer& ops, std::span<tensor const> in) {
          std::vector<tensor> given(in.begin(), in.end());
          if (seed % 3 == 0) {
            auto const kernel = ops.weight({.name = "kernel", .shape = {4, 4}});
            auto const step = [&](tensor here, auto state) {
              return std::array{tanh(here + ops.matmul(state[0], kernel)), state[0] * 0.5F};
            };
            given[0] = ops.scan(in[0], 1, std::array{ops.full({2, 4}, 0.25F), ops.full({2, 4}, 0)}, step, seed % 2 == 0)
                           .all[seed / 6 % 2];
          }
          return runs::random_program(seed).write(ops, given);
        },
        shapes);
    REQUIRE(!traced.list.problem.failed());
    traced_plan const plan(std::move(traced), true);
    runs::numbers found;
    std::mt19937 engine(seed);
    for (auto const& shape : shapes) found.inputs.push_back(drawn(engine, shape.size()));
    for (auto const& weight : plan.traced.weights) found.weights.push_back(drawn(engine, weight.shape.size()));
    found.output_gradient = drawn(engine, plan.traced.list.node_of(plan.traced.outputs[0]).shape.size());
    auto expected = found;
    runs::reference_run(plan, expected);
    auto const target = tests::target_of(1 + static_cast<int>(seed % 9));
    auto in_halves = found;  // which take other ways at conditions: only what was counted is compared
    done += plan_on_tiles(plan, target, sc::dtype::float16).run(in_halves);
    if (!plan_on_tiles(plan, target, sc::dtype::float32).run(found)) continue;
    ++done;
    check_close(found.output, expected.output);
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) check_close(found.gradients[i], expected.gradients[i]);
    for (std::size_t i = 0; i < expected.weights.size(); ++i) check_close(found.weights[i], expected.weights[i]);
  }
  CHECK(done == 2 * 300);
}
