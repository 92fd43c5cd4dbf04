// SPDX-License-Identifier: BSD-3-Clause
// The memory and the time that a training step of one's own needs on IPUs, by sub-steps. No other header includes it.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/ipu/profile/step_memory.hpp>
#include <stagecraft/training/steps/step_problem.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace stagecraft::trainers {

/// The names of the models that a sub-step moves, such as "critic" or "encoder, decoder".
template <class Step, int Number>
inline constexpr auto name_of_sub_step = [] {
  constexpr auto const& facts = facts_of_step<Step>;
  fixed_text<256> result;
  for (int i = 0; i < facts.member_count; ++i) {
    if (!facts.sub_steps[Number].moves[i]) continue;
    if (!result.view().empty()) result.append(", ");
    result.append(facts.members[i].name.view());
  }
  return result;
}();

/// The block that a sub-step belongs to: how often it is carried out.
template <class Step>
constexpr operations::traced_step::block block_of_sub_step(int number) {
  constexpr auto const& facts = facts_of_step<Step>;
  for (int i = 0; i < facts.block_count; ++i)
    if (number >= facts.blocks[i].first && number < facts.blocks[i].end) return facts.blocks[i];
  return {};
}

/// The profile of a step: of each sub-step that of a model, and of all together. A sub-step's weights lie where the
/// steps that read them have them; what it takes to bring them there from where another sub-step has them is not
/// counted. Questions can be asked at compile time.
template <class Step, step_options Options, class Machine>
class training_step_profile {
  static constexpr auto const& facts = facts_of_step<Step>;
  using numbers = std::make_index_sequence<static_cast<std::size_t>(facts.sub_step_count)>;
  template <int Number>
  using job = job_of_sub_step<Step, Number, Options, Machine>;
  static constexpr auto const& tile() {
    return []<std::size_t... Number>(std::index_sequence<Number...>) -> auto const& {
      return tiles::shared_tile_profile_of<job<static_cast<int>(Number)>...>;
    }(numbers{});
  }

 public:
  /// Calls of `minimize` in the step's code.
  [[nodiscard]] static constexpr int sub_steps() { return facts.sub_step_count; }
  /// The names of the models whose weights a sub-step moves, such as "critic".
  [[nodiscard]] static constexpr std::string_view name_of(int number) {
    return []<std::size_t... Number>(std::index_sequence<Number...>) {
      return std::array{name_of_sub_step<Step, static_cast<int>(Number)>.view()...};
    }(numbers{})[static_cast<std::size_t>(number)];
  }
  /// The number of times that a step carries out the sub-step: see step.repeat.
  [[nodiscard]] static constexpr int times(int number) { return block_of_sub_step<Step>(number).times; }
  /// The sub-step is carried out in every n-th step: see step.every.
  [[nodiscard]] static constexpr int every(int number) { return block_of_sub_step<Step>(number).every; }
  /// The profile of a sub-step that is carried out once, with its weight update: see model_profile.
  template <int Number>
  static constexpr tiles::model_profile<job<Number>> sub_step{};

  /// Copies of the models, each on an IPU of its own.
  [[nodiscard]] static constexpr int replicas() { return sub_step<0>.replicas(); }
  /// Cycles of a step that carries out all sub-steps, as often as `times` says.
  [[nodiscard]] static constexpr std::int64_t cycles() {
    return []<std::size_t... Number>(std::index_sequence<Number...>) {
      return (std::int64_t{0} + ... + (times(static_cast<int>(Number)) * sub_step<static_cast<int>(Number)>.cycles()));
    }(numbers{});
  }
  /// Seconds of a step.
  [[nodiscard]] static constexpr double seconds() { return Machine::target.seconds(cycles()); }
  /// Samples of all replicas that are worked on in a second.
  [[nodiscard]] static constexpr double samples_per_second() {
    return static_cast<double>(Options.batch_size) * micro_batches_of_step<Step, Options> * replicas() / seconds();
  }

  /// Memory of tile 0, which is the fullest: weights once, the states of all optimizers, code of all sub-steps, and the
  /// rest of the largest sub-step.
  [[nodiscard]] static constexpr tiles::tile_memory_profile const& memory() { return tile().tile; }
  /// The number of the sub-step that needs most memory while it runs.
  [[nodiscard]] static constexpr int largest_sub_step() { return static_cast<int>(tile().largest); }
  /// Bytes that are left on the fullest tile; less than 0 if the step does not fit (E2110 where it is trained).
  [[nodiscard]] static constexpr std::int64_t free_bytes() { return Machine::target.bytes_per_tile - memory().peak(); }
  /// True if all sub-steps fit together.
  [[nodiscard]] static constexpr bool fits() { return free_bytes() >= 0; }
};

/// E3011: a profile of something that is no IPU; else the step's mistake, or that of its options.
template <class Step, step_options Options, class Machine>
constexpr diagnostic const& step_profile_problem() {
  if constexpr (tiles::profile_machine_problem<Machine>.failed())
    return tiles::profile_machine_problem<Machine>;
  else
    return step_parts_problem<Step>;
}

}  // namespace stagecraft::trainers

namespace stagecraft {

/// The profile of a training step of one's own on IPUs:
///
///     using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>;
///     inline constexpr auto profile = sc::step_profile<gan_step, options, machine>;
///     static_assert(profile.fits() && profile.name_of(0) == "critic" && profile.times(0) == 5);
///     std::printf("%lld cycles\n", profile.sub_step<0>.cycles());
///
/// Errors: those of the step; E3011 a machine that is no IPU.
template <class Step, step_options Options, class Machine,
          class = typename detail::early_verdict<detail::step_profile_problem<Step, Options, Machine>()>::checked>
inline constexpr detail::training_step_profile<Step, Options, Machine> step_profile{};

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
