// SPDX-License-Identifier: BSD-3-Clause
// Timetables: Graphcore's formulas for stages on devices of their own, and the three figures of its guide.
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <initializer_list>
#include <span>
#include <string>

namespace sc = stagecraft;
using sc::pass_kind;
using sc::schedule;

namespace {

/// Stage i on device i.
constexpr auto own_devices = [] {
  std::array<int, sc::timetable::capacity> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<int>(i);
  return result;
}();
constexpr sc::timetable on_own_devices(schedule order, int stages, int count, bool trains) {
  return {order, std::span<int const>(own_devices).first(static_cast<std::size_t>(stages)), count, trains};
}

/// What is known of S stages on S devices and N micro-batches.
struct formulas {
  int overlap;
  int slots;
  int ramp;
  double bubble;
  int between_starts;
  int fifo_per_stage;  ///< times the stages behind this one
};

constexpr formulas formulas_of(schedule order, int s, int n, bool trains) {
  if (order == schedule::sequential) return {1, (trains ? 2 : 1) * s * n, 0, (s - 1.0) / s, (trains ? 2 : 1) * s, 0};
  if (!trains) return {s, n + s - 1, s - 1, (s - 1.0) / (n + s - 1), 1, 0};
  if (order == schedule::grouped) return {2 * s, n + 2 * s - 1, 2 * s - 1, (2.0 * s - 1) / (n + 2 * s - 1), 1, 2};
  return {s, 2 * n + 2 * s - 2, 2 * s - 2, (s - 1.0) / (n + s - 1), 2, 1};
}

constexpr bool formulas_hold(schedule order, int s, int n, bool trains) {
  auto const t = on_own_devices(order, s, n, trains);
  auto const known = formulas_of(order, s, n, trains);
  bool holds = t.overlap_length() == known.overlap && t.slots() == known.slots && t.bubble() == known.bubble &&
               t.ramp_up_slots() == known.ramp && t.ramp_down_slots() == known.ramp &&
               t.steady_slots() == known.slots - 2 * known.ramp && t.steady_slots() > 0;
  for (int pass = 0; pass < t.passes(); ++pass)
    for (int m = 0; m < n; ++m) holds = holds && t.slot(pass, m) == known.between_starts * m + pass;
  for (int stage = 0; stage < s; ++stage) {
    int const depth = known.fifo_per_stage * (s - 1 - stage);
    holds = holds && t.fifo_depth(stage) == depth && t.activations_alive(stage) == depth + 1;
  }
  return holds && t.stages() == s && t.devices() == s && t.micro_batches() == n;
}

/// The least legal counts, and a larger one.
template <int Stages>
inline constexpr bool formulas_hold_for = [] {
  bool holds = true;
  for (bool const trains : {false, true})
    for (auto const order : {schedule::grouped, schedule::interleaved, schedule::sequential}) {
      int const overlap = on_own_devices(order, Stages, 1, trains).overlap_length();
      for (int const blocks : {1, 2, 5}) holds = holds && formulas_hold(order, Stages, blocks * overlap, trains);
    }
  return holds;
}();
static_assert(formulas_hold_for<1> && formulas_hold_for<2> && formulas_hold_for<3> && formulas_hold_for<4>);
static_assert(formulas_hold_for<5> && formulas_hold_for<6> && formulas_hold_for<7> && formulas_hold_for<8>);
static_assert(formulas_hold_for<16>);

// Sixteen stages and 256 micro-batches are far from what a compiler carries out in one constant.
constexpr auto large = on_own_devices(sc::interleaved, 16, 256, true);
static_assert(large.bubble() == 15.0 / 271 && large.slots() == 542 && large.overlap_length() == 16);
static_assert([] {
  int most = 0;
  for (int first = 0; first < large.passes(); ++first)
    for (int last = first; last < large.passes(); ++last)
      if (large.alive(first, last) > most) most = large.alive(first, last);
  return most;
}() == 16);

TEST_CASE("Graphcore's formulas hold for up to 8 stages and all legal counts up to 64 micro-batches") {
  for (int stages = 1; stages <= 8; ++stages)
    for (auto const order : {schedule::grouped, schedule::interleaved, schedule::sequential})
      for (bool const trains : {false, true}) {
        int const overlap = on_own_devices(order, stages, 1, trains).overlap_length();
        for (int count = overlap; count <= 64; count += overlap) {
          CAPTURE(stages);
          CAPTURE(count);
          CHECK(formulas_hold(order, stages, count, trains));
        }
      }
}

// Overlap of stages that share devices: as Graphcore's compiler finds it.
template <int... Device>
constexpr int overlap(bool trains) {
  constexpr int devices[]{Device...};
  return sc::timetable(sc::interleaved, devices, 12, trains).overlap_length();
}
static_assert(overlap<0, 1, 0>(false) == 1 && overlap<0, 1, 2, 0>(false) == 2 && overlap<0, 0, 1, 1>(false) == 2);
static_assert(overlap<0, 1>(false) == 2 && overlap<0, 1, 2>(true) == 3 && overlap<0, 0>(true) == 1);
static_assert(overlap<3>(true) == 1 && overlap<2, 0, 1>(false) == 3);

// One device twice in a grouped pipeline: a slot is as long as that device's passes.
constexpr int bent[]{0, 1, 0};
constexpr sc::timetable shared_device(sc::grouped, bent, 6, true);
static_assert(shared_device.devices() == 2 && shared_device.passes_per_slot() == 4 && shared_device.slots() == 11);
static_assert(shared_device.bubble() == (2 * 11 * 4 - 6 * 6) / (2 * 11 * 4.0));
static_assert(shared_device.first_stage_on(0) == 0 && shared_device.next_stage_on_device(0) == 2);
static_assert(shared_device.next_stage_on_device(2) == 3 && shared_device.first_stage_on(7) == 3);

// Batch serialization: each stage works on three micro-batches before the next begins.
constexpr int same[]{0, 0};
constexpr sc::timetable serialized(schedule::sequential, same, 6, true, 3);
static_assert(serialized.slots() == 24 && serialized.bubble() == 0 && serialized.overlap_length() == 1);
static_assert(serialized.slot(0, 2) == 2 && serialized.slot(1, 0) == 3 && serialized.slot(3, 2) == 11);
static_assert(serialized.slot(0, 3) == 12 && serialized.micro_batch_at(3, 23) == 5);
static_assert(serialized.activations_alive(0) == 3 && serialized.fifo_depth(0) == 0 && serialized.alive(1, 1) == 1);
static_assert(sc::timetable(sc::grouped, same, 8, true, 3).batch_serialization() == 1);

// Devices in braces, or in a list: never a null pointer and a count.
static_assert(sc::timetable(sc::grouped, {0, 1}, 8, true).devices() == 2);
static_assert(sc::timetable(sc::grouped, {0, 0}, 8, true).stages() == 2);
static_assert(sc::timetable(schedule::sequential, {1, 0, 2}, 6, true, 3).devices() == 3);
static_assert([] {
  std::initializer_list<int> const devices{0, 1, 2};
  return sc::timetable(sc::interleaved, devices, 12, true).stages() == 3;
}());

// What cannot be asked for gives the nearest table that can.
static_assert(sc::timetable(sc::grouped, {}, 0, true).stages() == 1);
static_assert(sc::timetable(sc::grouped, {}, 0, true).micro_batches() == 1);
constexpr int far[]{100, 2, 100};
static_assert(sc::timetable(sc::grouped, far, 3, false).devices() == 101);
static_assert(sc::timetable(sc::grouped, far, 3, false).first_stage_on(100) == 0);
static_assert(sc::timetable(sc::grouped, far, 3, false).next_stage_on_device(0) == 2);

// The order within a slot.
constexpr sc::timetable steady(sc::grouped, bent, 12, true, 1, sc::recomputation_mode::automatic);
constexpr std::array in_slot_7{
    sc::timetable_step{pass_kind::infeed, 0, 0, 7},   sc::timetable_step{pass_kind::backward, 5, 0, 2},
    sc::timetable_step{pass_kind::backward, 3, 2, 4}, sc::timetable_step{pass_kind::forward, 0, 0, 7},
    sc::timetable_step{pass_kind::forward, 2, 2, 5},  sc::timetable_step{pass_kind::recompute, 5, 0, 3},
    sc::timetable_step{pass_kind::send, 3, 2, 4},     sc::timetable_step{pass_kind::send, 0, 0, 7},
    sc::timetable_step{pass_kind::outfeed, 2, 2, 5}};
static_assert([] {
  std::size_t place = 0;
  for (auto const& step : steady.steps(7, 0))
    if (place == in_slot_7.size() || !(step == in_slot_7[place++])) return false;
  return place == in_slot_7.size() && steady.steps(7, 0).size() == 9 && steady.steps(7, 0)[3] == in_slot_7[3];
}());
static_assert(steady.steps(7, 2).empty() && steady.steps(-1, 0).empty() && steady.steps(18, 0).empty());
static_assert(steady.slots() == 17 && steady.steps(17, 1).size() == 1);
static_assert(steady.steps(17, 1)[0] == sc::timetable_step{pass_kind::weight_update, -1, -1, -1});

// Recomputation. The slots that Graphcore's compiler gives it, from the tests of its pipeline visitor: two stages in
// the grouped schedule begin ".... b... .ba. ..ba" and end "a..b .a.. .... ....", with a place for each micro-batch
// that is in flight, a for stage 0 and b for stage 1; but the last stage, b, is not recomputed in a program.
template <sc::schedule Schedule, std::size_t Stages, int Count>
constexpr sc::timetable recomputing(Schedule, std::span<int const>(own_devices).first(Stages), Count, true, 1,
                                    sc::recomputation_mode::recompute_then_backpropagate);
constexpr auto const& grouped_pair = recomputing<schedule::grouped, 2, 4>;
static_assert([] {
  constexpr int in_slot[]{-1, -1, 0, 1, 2, 3, -1, -1};
  for (int slot = 0; slot < 8; ++slot)
    if (grouped_pair.recomputed_at(0, slot) != in_slot[slot] || grouped_pair.recomputed_at(1, slot) != -1) return false;
  return true;
}());
// And its worked example, four stages in the interleaved schedule: stage 1 recomputes beside its last forward pass
// before its backward pass, where the steps are counted from 1, as step 6 of 7.
constexpr auto const& interleaved_four = recomputing<schedule::interleaved, 4, 8>;
static_assert(interleaved_four.slot(interleaved_four.backward_pass(1), 0) == 6);
static_assert(interleaved_four.recompute_slot(1, 0) == 5 && interleaved_four.slot(1, 2) == 5);
static_assert(interleaved_four.recomputed_at(1, 5) == 0 && interleaved_four.recomputed_at(1, 6) == -1);

// Within the backward pass: the sequential schedule, checkpoints, and devices on which several stages are recomputed.
using sc::recomputation_mode;
static_assert(interleaved_four.recomputes_ahead(2) && !interleaved_four.recomputes_ahead(3));
static_assert(steady.recomputes_ahead(0) && steady.recomputes_ahead(1) && !steady.recomputes(2));
constexpr sc::timetable by_checkpoints(sc::grouped, bent, 12, true, 1,
                                       recomputation_mode::recompute_and_backpropagate_interleaved);
static_assert(by_checkpoints.recomputes(0) && !by_checkpoints.recomputes_ahead(0));
static_assert(by_checkpoints.recompute_slot(0, 4) == by_checkpoints.slot(5, 4));
constexpr int twice[]{0, 1, 0, 1};
constexpr sc::timetable shared_twice(sc::grouped, twice, 8, true, 1, recomputation_mode::automatic);
static_assert(!shared_twice.recomputes_ahead(0) && !shared_twice.recomputes_ahead(2) &&
              shared_twice.recomputes_ahead(1));
constexpr sc::timetable one_by_one(schedule::sequential, bent, 4, true, 1, recomputation_mode::automatic);
static_assert(one_by_one.recomputes(0) && !one_by_one.recomputes_ahead(0));
static_assert(one_by_one.recomputation() == recomputation_mode::recompute_and_backpropagate_interleaved);
static_assert(steady.recomputation() == recomputation_mode::recompute_then_backpropagate);
static_assert(sc::timetable(sc::grouped, bent, 4, false, 1, recomputation_mode::automatic).recomputation() ==
              recomputation_mode::none);

// Overlapped input and output, as in the tests of Graphcore's pipeline visitor: of four passes, with a place for each
// micro-batch of a block, the ramp-up is "a... ba.. cba. dcba dcba dcba" for what comes, "a b c d" being passes 0 to 3,
// one slot later for what is computed, and two for what leaves. So "a" comes in slot 0, is computed in 1, leaves in 2.
template <bool Trains>
constexpr sc::timetable overlapped(sc::grouped, std::span<int const>(own_devices).first(Trains ? 2 : 4), 7, Trains, 1,
                                   recomputation_mode::none, true);
template <bool Trains>
inline constexpr bool is_one_and_two_slots_later = [] {
  auto const& table = overlapped<Trains>;
  bool holds = table.overlaps_io() && table.overlap_length() == 4;
  for (int m = 0; m < table.micro_batches(); ++m) {
    holds = holds && table.infeed_slot(m) == m && table.infed_at(m) == m;
    for (int pass = 0; pass < 4; ++pass) holds = holds && table.slot(pass, m) == m + pass + 1;
    int const leaves = m + table.stages() - 1 + 2;
    holds = holds && table.outfeed_slot(m) == leaves && table.outfed_at(leaves) == m;
  }
  return holds && table.infed_at(7) == -1 && table.outfed_at(0) == -1;
}();
static_assert(is_one_and_two_slots_later<false> && is_one_and_two_slots_later<true>);
// Seven are no multiple of four, and at least six. Two slots more than without, or one, where the last one leaves while
// others work backward.
static_assert(overlapped<false>.slots() == 7 + 4 - 1 + 2 && overlapped<true>.slots() == 7 + 4 - 1 + 1);
static_assert(overlapped<false>.ramp_up_slots() == 5 && overlapped<false>.ramp_down_slots() == 5 &&
              overlapped<false>.steady_slots() == 2);
static_assert(overlapped<true>.bubble() == 1 - 7 * 4 / (2 * 11 * 2.0));
static_assert(overlapped<true>.fifo_depth(0) == 2 && overlapped<true>.activations_alive(1) == 1,
              "what waits for a backward pass waits as long as without");
// One stage: the next micro-batch comes during the backward pass, and the loss leaves then.
constexpr sc::timetable loop(schedule::sequential, {}, 3, true, 1, recomputation_mode::none, true);
static_assert(loop.infeed_slot(1) == 2 && loop.slot(0, 1) == 3 && loop.slot(1, 1) == 4 && loop.outfeed_slot(1) == 4);
static_assert(loop.slots() == 7 && loop.steps(2, 0).size() == 3 &&
              loop.steps(2, 0)[0] == sc::timetable_step{pass_kind::infeed, 0, 0, 1} &&
              loop.steps(2, 0)[1] == sc::timetable_step{pass_kind::backward, 1, 0, 0} &&
              loop.steps(2, 0)[2] == sc::timetable_step{pass_kind::outfeed, 0, 0, 0});

// Stages beside each other: [s0, [s1, s2], s3] has the slots of three stages.
constexpr sc::pipeline::placed_stage forked[]{{0}, {1}, {2, true}, {3}};
template <sc::schedule Schedule, bool Trains>
constexpr sc::timetable parallel_stages(Schedule, std::span<sc::pipeline::placed_stage const>(forked), 6, Trains);
template <sc::schedule Schedule, bool Trains>
inline constexpr bool has_slots_of_three = [] {
  auto const& table = parallel_stages<Schedule, Trains>;
  auto const three = on_own_devices(Schedule, 3, 6, Trains);
  bool holds = table.stages() == 4 && table.places() == 3 && table.is_beside(2) && !table.is_beside(1) &&
               !table.is_beside(3) && table.slots() == three.slots() &&
               table.overlap_length() == three.overlap_length() && table.ramp_up_slots() == three.ramp_up_slots();
  constexpr int of_three[]{0, 1, 1, 2};
  for (int stage = 0; stage < 4; ++stage)
    for (int m = 0; m < 6; ++m) {
      holds = holds && table.slot(stage, m) == three.slot(of_three[stage], m) &&
              table.micro_batch_at(stage, table.slot(stage, m)) == m;
      if (Trains)
        holds =
            holds && table.slot(table.backward_pass(stage), m) == three.slot(three.backward_pass(of_three[stage]), m);
      if (Trains) holds = holds && table.activations_alive(stage) == three.activations_alive(of_three[stage]);
    }
  return holds;
}();
static_assert(has_slots_of_three<schedule::grouped, true> && has_slots_of_three<schedule::grouped, false>);
static_assert(has_slots_of_three<schedule::interleaved, true> && has_slots_of_three<schedule::interleaved, false>);
static_assert(has_slots_of_three<schedule::sequential, true> && has_slots_of_three<schedule::sequential, false>);
// Stage 0 sends to both, both send to the last one.
static_assert(parallel_stages<schedule::grouped, true>.sends(0) && parallel_stages<schedule::grouped, true>.sends(1) &&
              parallel_stages<schedule::grouped, true>.sends(2));
// In turn, with devices 0 and 1 shared: the last stage is on a device of the two.
constexpr sc::pipeline::placed_stage back_on_one[]{{0}, {1}, {2, true}, {1}};
static_assert(sc::timetable(sc::interleaved, std::span<sc::pipeline::placed_stage const>(back_on_one), 4, false)
                  .overlap_length() == 1);

// The guide's figures: devices down, slots across; F forward and B backward of a micro-batch, U the weight update.

std::string cell(sc::timetable const& table, int slot, int device) {
  std::string text;
  for (auto const& step : table.steps(slot, device)) {
    if (step.kind == pass_kind::forward) text += "F" + std::to_string(step.micro_batch);
    if (step.kind == pass_kind::backward) text += "B" + std::to_string(step.micro_batch);
    if (step.kind == pass_kind::weight_update) text += "U";
  }
  return text;
}

std::string figure(sc::timetable const& table, std::size_t width) {
  std::string text;
  for (int device = 0; device < table.devices(); ++device) {
    text += "\n";
    for (int slot = 0; slot <= table.slots(); ++slot) {
      auto place = cell(table, slot, device);
      place.resize(width, '.');
      text += place;
    }
  }
  return text;
}

TEST_CASE("Grouped: each device alternates between forward and backward") {
  auto const table = on_own_devices(sc::grouped, 3, 6, true);
  CHECK(figure(table, 5) == R"(
F0...F1...F2...F3...F4...B0F5.B1...B2...B3...B4...B5...U....
.....F0...F1...F2...B0F3.B1F4.B2F5.B3...B4...B5........U....
..........F0...B0F1.B1F2.B2F3.B3F4.B4F5.B5.............U....)");
  CHECK(table.ramp_up_slots() == 5);
  CHECK(table.steady_slots() == 1);
  CHECK(table.ramp_down_slots() == 5);
}

TEST_CASE("Interleaved: half of the devices work forward while the others work backward") {
  auto const table = on_own_devices(sc::interleaved, 3, 6, true);
  CHECK(figure(table, 2) == R"(
F0..F1..F2B0F3B1F4B2F5B3..B4..B5U.
..F0..F1B0F2B1F3B2F4B3F5B4..B5..U.
....F0B0F1B1F2B2F3B3F4B4F5B5....U.)");
  CHECK(table.ramp_up_slots() == 4);
  CHECK(table.steady_slots() == 8);
  CHECK(table.ramp_down_slots() == 4);
}

TEST_CASE("Sequential: one device works at a time") {
  auto const table = on_own_devices(schedule::sequential, 3, 2, true);
  CHECK(figure(table, 2) == R"(
F0........B0F1........B1U.
..F0....B0....F1....B1..U.
....F0B0........F1B1....U.)");
  CHECK(table.steady_slots() == 12);
}

TEST_CASE("Inference has no backward passes and no weight update") {
  CHECK(figure(on_own_devices(sc::grouped, 3, 6, false), 2) == R"(
F0F1F2F3F4F5......
..F0F1F2F3F4F5....
....F0F1F2F3F4F5..)");
}

TEST_CASE("Each kind of pass has a name") {
  CHECK(to_string(pass_kind::infeed) == "infeed");
  CHECK(to_string(pass_kind::recompute) == "recompute");
  CHECK(to_string(pass_kind::backward) == "backward");
  CHECK(to_string(pass_kind::forward) == "forward");
  CHECK(to_string(pass_kind::send) == "send");
  CHECK(to_string(pass_kind::outfeed) == "outfeed");
  CHECK(to_string(pass_kind::weight_update) == "weight update");
}

}  // namespace
