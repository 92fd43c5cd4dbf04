// SPDX-License-Identifier: BSD-3-Clause
// Timetables as text, to the letter: small ones of each schedule, and what makes them different.
#include <stagecraft/report/plot_timetable.hpp>

#include <doctest/doctest.h>
#include <string>

namespace sc = stagecraft;

namespace {

constexpr int two_devices[]{0, 1};
constexpr int revisited[]{0, 1, 0};
constexpr int one_left_out[]{0, 2};
constexpr int four_devices[]{0, 1, 2, 3};

}  // namespace

TEST_CASE("the three schedules in training") {
  CHECK(sc::timetable_text({sc::grouped, two_devices, 4, true}) == &R"(
Grouped schedule: 2 stages on 2 devices, training, 4 micro-batches, 7 slots, bubble 42.9 %
          |--ramp-up---| |----| |-ramp-down--|
slot      0   1   2      3      4      5   6   7
device 0  F0  F1  F2     B0 F3  B1     B2  B3  U  stage 0
device 1  .   F0  B0 F1  B1 F2  B2 F3  B3  .   U  stage 1
)"[1]);
  CHECK(sc::timetable_text({sc::interleaved, two_devices, 4, true}) == &R"(
Interleaved schedule: 2 stages on 2 devices, training, 4 micro-batches, 10 slots, bubble 20 %
          |-up--| |-------steady--------| |down-|
slot      0   1   2   3   4   5   6   7   8   9   10
device 0  F0  .   F1  B0  F2  B1  F3  B2  .   B3  U   stage 0
device 1  .   F0  B0  F1  B1  F2  B2  F3  B3  .   U   stage 1
)"[1]);
  CHECK(sc::timetable_text({sc::schedule::sequential, two_devices, 2, true}) == &R"(
Sequential schedule: 2 stages on 2 devices, training, 2 micro-batches, 8 slots, bubble 50 %
          |-----------steady------------|
slot      0   1   2   3   4   5   6   7   8
device 0  F0  .   .   B0  F1  .   .   B1  U  stage 0
device 1  .   F0  B0  .   .   F1  B1  .   U  stage 1
)"[1]);
}

TEST_CASE("what comes and goes is shown where it has slots of its own") {
  constexpr auto none = sc::recomputation_mode::none;
  CHECK(sc::timetable_text({sc::grouped, two_devices, 6, true, 1, none, true}) == &R"(
Grouped schedule: 2 stages on 2 devices, training, 6 micro-batches, overlapped input and output, 10 slots, bubble 40 %
          |---------ramp-up---------| |-----steady------| |---------ramp-down----------|
slot      0   1      2      3         4         5         6         7         8      9   10
device 0  I0  I1 F0  I2 F1  I3 F2     I4 B0 F3  I5 B1 F4  B2 F5     B3        B4     B5  U   stage 0
device 1  .   .      F0     B0 F1 O0  B1 F2 O1  B2 F3 O2  B3 F4 O3  B4 F5 O4  B5 O5  .   U   stage 1
)"[1]);
  CHECK(sc::timetable_text({sc::grouped, two_devices, 4, false, 1, none, true}) == &R"(
Grouped schedule: 2 stages on 2 devices, inference, 4 micro-batches, overlapped input and output, 7 slots, bubble 42.9 %
          |----ramp-up----| |----| |---ramp-down---|
slot      0   1      2      3      4      5      6
device 0  I0  I1 F0  I2 F1  I3 F2  F3     .      .   stage 0
device 1  .   .      F0     F1 O0  F2 O1  F3 O2  O3  stage 1
)"[1]);
}

TEST_CASE("inference has no update") {
  CHECK(sc::timetable_text({sc::grouped, four_devices, 4, false}, {.title = "Evaluate"}) == &R"(
Evaluate: 4 stages on 4 devices, inference, 4 micro-batches, 7 slots, bubble 42.9 %
          |-ramp-up-| |-| |ramp-down|
slot      0   1   2   3   4   5   6
device 0  F0  F1  F2  F3  .   .   .   stage 0
device 1  .   F0  F1  F2  F3  .   .   stage 1
device 2  .   .   F0  F1  F2  F3  .   stage 2
device 3  .   .   .   F0  F1  F2  F3  stage 3
)"[1]);
}

TEST_CASE("a device with several stages names them; a device may have none") {
  CHECK(sc::timetable_text({sc::interleaved, revisited, 1, true}) == &R"(
Interleaved schedule: 3 stages on 2 devices, training, 1 micro-batch, 6 slots, bubble 50 %
          |-----------steady------------|
slot      0     1   2     3     4   5     6
device 0  F0.0  .   F0.2  B0.2  .   B0.0  U  stages 0, 2
device 1  .     F0  .     .     B0  .     U  stage 1
)"[1]);
  auto const text = sc::timetable_text({sc::grouped, one_left_out, 4, true});
  CHECK(text.find("device 1  .   .   .      .      .      .   .   .  no stage\n") != std::string::npos);
}

TEST_CASE("recomputation comes one slot before the backward pass, or is a part of it") {
  auto const text = [](sc::recomputation_mode mode) {
    return sc::timetable_text({sc::grouped, two_devices, 4, true, 1, mode});
  };
  auto const ahead = text(sc::recomputation_mode::automatic);
  CHECK(ahead.find("device 0  F0  F1  F2 R0  B0 F3 R1  B1 R2  B2 R3  B3  U  stage 0\n") != std::string::npos);
  CHECK(ahead.find("device 1  .   F0  B0 F1  B1 F2     B2 F3  B3     .   U  stage 1\n") != std::string::npos);
  auto const within = text(sc::recomputation_mode::recompute_and_backpropagate_interleaved);
  CHECK(within.find("device 0  F0  F1  F2     R0 B0 F3  R1 B1  R2 B2  R3 B3  U  stage 0\n") != std::string::npos);
}

TEST_CASE("of a long timetable the middle is left out") {
  CHECK(sc::timetable_text({sc::grouped, two_devices, 400, true}, {.max_slots = 7}) == &R"(
Grouped schedule: 2 stages on 2 devices, training, 400 micro-batches, 403 slots, bubble 0.7 %
          |--ramp-up---| |-steady--| |ramp-down|
slot      0   1   2      3      ...  401   402   403
device 0  F0  F1  F2     B0 F3  ...  B398  B399  U    stage 0
device 1  .   F0  B0 F1  B1 F2  ...  B399  .     U    stage 1
)"[1]);
  auto const whole = sc::timetable_text({sc::grouped, two_devices, 400, true}, {.max_slots = 0});
  CHECK(whole.find("F399") != std::string::npos);
  CHECK(whole.find("...") == std::string::npos);
  CHECK(sc::timetable_text({sc::grouped, two_devices, 8, true}, {.max_slots = 1}).find("+") == std::string::npos);
}
