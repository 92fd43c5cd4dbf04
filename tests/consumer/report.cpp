// SPDX-License-Identifier: BSD-3-Clause
// Pictures of a model and its timetable: what stagecraft::report is for.
#include <stagecraft/report/report.hpp>
#include <stagecraft/stagecraft.hpp>

#include <cstdio>

namespace sc = stagecraft;
using namespace sc::layers;

using perceptron = sc::sequential<input{8}, dense{4, sc::relu}, dense{2}>;
using two_stages = sc::pipelined<perceptron, sc::stages<0, 1>>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{},
                                              .batch_size = 4,
                                              .steps_per_execution = 4,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

int main() {
  auto const text = sc::timetable_text(sc::timetable_of<two_stages, training>);
  std::puts(text.c_str());
  return text.empty() ? 1 : 0;
}
