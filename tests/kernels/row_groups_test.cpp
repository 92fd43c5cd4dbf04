// SPDX-License-Identifier: BSD-3-Clause
// Operations on rows give the same bits one after the other as together, whatever memory they share, and in the later
// trips of a loop.
#include <stagecraft/kernels/elementwise/row_step.hpp>
#include <stagecraft/kernels/reduction/reduce.hpp>
#include <doctest/doctest.h>

#include "share_check.hpp"

#include <cstring>
#include <random>
#include <vector>

namespace {

namespace kernels = stagecraft::kernels;
using stagecraft::operations::function;
using groups = kernels::row_groups<>;
using rows_of = kernels::row_step::rows;

constexpr int rows = 37, memory_floats = 70'000;

/// A step on rows somewhere in a memory of a few places, so that many of them meet.
groups::member drawn(std::mt19937& random, float* memory, bool moves) {
  auto const number = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  constexpr int lengths[]{64, 64, 64, 130, 1};
  auto const place = [&](int length) {
    int const stride = number(4) == 0 ? 2 * length + number(3) : length;
    return rows_of{memory + number(5) * 9000 + (number(3) == 0 ? 16 * number(40) : 0), stride, length};
  };
  groups::member result{};
  result.moved = -1;
  auto& step = result.step;
  int const length = lengths[number(5)];
  step.y = place(length);
  step.operands = 1;
  switch (number(4)) {
    case 0:
      step.x[0] = place(length);
      step.run = &kernels::detail::copy_rows<kernels::default_architecture>;
      if (moves) {
        result.moved = number(2);
        result.per_trip = number(2) == 0 ? 70 : -70;
        (result.moved == 0 ? step.y : step.x[0]).begin = memory + 46'500;  // where nothing else lies
      }
      break;
    case 1:
      step.y = place(1);
      step.x[0] = place(64);
      step.run = kernels::row_kernel(number(2) == 0 ? stagecraft::operations::reduction::sum
                                                    : stagecraft::operations::reduction::max);
      break;
    default: {
      function const f[]{function::tanh, function::add, function::multiply, function::subtract, function::select};
      auto const apply = f[number(5)];
      step.run = kernels::row_kernel(apply);
      step.operands = stagecraft::operations::arity(apply);
      for (int i = 0; i < step.operands; ++i) {
        step.x[i] = place(length);
        if (int const kind = number(5); kind == 0)
          step.x[i] = {step.x[i].begin, 0, 1};
        else if (kind == 1)
          step.x[i] = {step.x[i].begin, 1, 1};
        else if (kind == 2)
          step.x[i].stride = 0;
      }
    }
  }
  // An operation may write over its own operands only place by place.
  for (int i = 0; i < step.operands; ++i) {
    auto const& x = step.x[i];
    bool const is_same = x.begin == step.y.begin && x.stride == step.y.stride && x.length == step.y.length;
    bool const is_apart = x.begin + (rows + 1) * 300 < step.y.begin || step.y.begin + (rows + 1) * 300 < x.begin;
    if (!is_same && !is_apart) return drawn(random, memory, moves);
  }
  step.is_one_row = step.y.is_one();
  for (int i = 0; i < step.operands; ++i) {
    auto const& x = step.x[i];
    step.is_one_row = step.is_one_row && (x.stride == 0 ? x.length == 1 : x.is_one() && x.length == step.y.length);
  }
  return result;
}

}  // namespace

TEST_CASE("operations on rows, together and alone") {
  std::mt19937 random(3);
  int together = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    std::vector<float> expected(memory_floats);
    for (float& value : expected) value = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
    std::vector<float> found = expected;
    int const count = 1 + static_cast<int>(random() % 12), trips = 3;
    std::vector<groups::member> steps;
    for (int i = 0; i < count; ++i) steps.push_back(drawn(random, found.data() + 4000, i == 3));

    auto const moved_to = [&](rows_of& at) { at.begin = expected.data() + (at.begin - found.data()); };
    auto alone = steps;
    for (auto& each : alone) {
      moved_to(each.step.y);
      for (int i = 0; i < each.step.operands; ++i) moved_to(each.step.x[i]);
    }
    for (int trip = 0; trip < trips; ++trip)
      for (auto& each : alone) {
        each.step.run(each.step, 0, rows);
        if (each.moved >= 0) (each.moved == 0 ? each.step.y : each.step.x[each.moved - 1]).begin += each.per_trip;
      }

    groups grouped;
    grouped.begin(true);
    for (int trip = 0; trip < trips; ++trip) {
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (trip > 0)
          if (auto const [is_done, next] = grouped.repeat(i); is_done) {
            together += next > i + 1 ? 1 : 0;
            i = next - 1;
            continue;
          }
        auto each = steps[i];
        if (each.moved >= 0)
          (each.moved == 0 ? each.step.y : each.step.x[each.moved - 1]).begin += trip * each.per_trip;
        if (grouped.add(each, rows, i)) continue;
        grouped.finish(i);
        each.step.run(each.step, 0, rows);
      }
      grouped.finish(steps.size());
    }
    REQUIRE(std::memcmp(expected.data(), found.data(), expected.size() * sizeof(float)) == 0);
  }
  CHECK(together > 200);
}
