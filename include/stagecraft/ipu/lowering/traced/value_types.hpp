// SPDX-License-Identifier: BSD-3-Clause
// In which type each value of a traced layer stands on the tiles.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// What a call's lowering knows besides its plan.
struct traced_options {
  dtype type = dtype::float32;                   ///< of values and gradients
  dtype variable_type = dtype::float32;          ///< of weights, as they are stored
  bool loads_128_bits_for_matmuls = false;       ///< poplar_options of products
  bool loads_128_bits_for_convolutions = false;  ///< and of convolutions
  bool draws_in_loop = false;                    ///< whether the host draws in the loop of a formula
  std::uint64_t exact_inputs = 0;                ///< a bit for each input whose numbers count something
  ipu_target const& target;                      ///< an IPU with the tiles that compute
};

/// Values have the type of the call. In half precision, these are float32: inputs that count something; sums and
/// maxima, as they are in normalizations; places along an axis; what is computed of such alone; and what is made of
/// numbers that a half cannot hold, such as those that masks add.
template <class = void>
class value_types {
  struct traits {
    bool is_constant = false, is_weight = false, is_large = false;
  };
  // Before their callers: Clang would instantiate them too late for constants.
  template <class What>
  [[nodiscard]] constexpr dtype rule(What const&) const {
    return options_.type;
  }
  template <class What>
  [[nodiscard]] constexpr traits traits_of(What const&) const {
    return {};
  }

 public:
  constexpr value_types(operations::plan_view const& plan, traced_options const& options)
      : types(plan.nodes.size(), options.type), plan_(plan), options_(options), traits_(plan.nodes.size()) {
    if (options.type == dtype::float32) return;
    for (id_ = 0; id_ < static_cast<int>(plan.nodes.size()); ++id_) {
      types[id_] = here().what.visit([&](auto const& what) { return rule(what); });
      traits_[id_] = here().what.visit([&](auto const& what) { return traits_of(what); });
    }
  }

  growing_array<dtype> types;

 private:
  static constexpr float largest_half = 65504;

  [[nodiscard]] constexpr operations::node const& here() const { return plan_.nodes[id_]; }
  [[nodiscard]] constexpr int operand(int index) const { return operand_of(plan_, id_, index); }

  [[nodiscard]] constexpr dtype rule(operations::input const& what) const {
    return what.index < 64 && (options_.exact_inputs >> what.index & 1U) != 0 ? dtype::float32 : options_.type;
  }
  [[nodiscard]] constexpr dtype rule(operations::weight const&) const { return options_.variable_type; }
  [[nodiscard]] constexpr dtype rule(operations::iota const&) const { return dtype::float32; }
  [[nodiscard]] constexpr dtype rule(operations::reduce const&) const { return dtype::float32; }
  [[nodiscard]] constexpr dtype rule(operations::map const&) const {
    bool is_wide = false, is_of_numbers = true;
    for (int i = 0; i < here().operand_count; ++i) {
      auto const& of = traits_[operand(i)];
      is_wide = is_wide || of.is_large;
      if (of.is_constant) continue;
      is_of_numbers = is_of_numbers && !of.is_weight && types[operand(i)] == dtype::float32;
    }
    return is_wide || is_of_numbers ? dtype::float32 : options_.type;
  }
  [[nodiscard]] constexpr dtype rule(operations::reshape const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::broadcast const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::transpose const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::slice const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::pad const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::composite const&) const { return types[operand(0)]; }
  [[nodiscard]] constexpr dtype rule(operations::at const&) const { return types[operand(1)]; }
  [[nodiscard]] constexpr dtype rule(operations::stack const&) const { return types[operand(1)]; }

  [[nodiscard]] constexpr traits traits_of(operations::constant const& what) const {
    return {.is_constant = true, .is_large = what.value > largest_half || what.value < -largest_half};
  }
  [[nodiscard]] constexpr traits traits_of(operations::weight const&) const { return {.is_weight = true}; }
  [[nodiscard]] constexpr traits traits_of(operations::reshape const&) const { return traits_[operand(0)]; }
  [[nodiscard]] constexpr traits traits_of(operations::broadcast const&) const { return traits_[operand(0)]; }
  [[nodiscard]] constexpr traits traits_of(operations::transpose const&) const { return traits_[operand(0)]; }
  [[nodiscard]] constexpr traits traits_of(operations::slice const&) const { return traits_[operand(0)]; }
  [[nodiscard]] constexpr traits traits_of(operations::map const& what) const {
    using enum operations::function;
    traits result{.is_constant = true};
    bool const keeps_size = what.apply == identity || what.apply == negative || what.apply == add ||
                            what.apply == subtract || what.apply == multiply || what.apply == select ||
                            what.apply == maximum || what.apply == minimum;
    for (int i = 0; i < here().operand_count; ++i) {
      result.is_constant = result.is_constant && traits_[operand(i)].is_constant;
      result.is_large = result.is_large || (keeps_size && traits_[operand(i)].is_large);
    }
    return result;
  }

  operations::plan_view const& plan_;
  traced_options const& options_;
  growing_array<traits> traits_;
  int id_ = 0;
};

}  // namespace stagecraft::tiles
