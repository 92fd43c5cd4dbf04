// SPDX-License-Identifier: BSD-3-Clause
// Copies samples, targets and their weights to the memory of a step, one batch at a time, and checks them before the
// first one.
#pragma once

#include <stagecraft/description/output_masks.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/losses/per_output.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <stagecraft/training/data/index_checks.hpp>
#include <stagecraft/training/data/labelled_samples.hpp>
#include <stagecraft/training/data/row_weights.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <stagecraft/training/data/shuffle.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// The class numbers that are valid targets of an output whose loss takes them.
template <class Session>
[[nodiscard]] constexpr label_rule label_rule_of(std::size_t output) {
  return {Session::output_shape(output)[Session::class_axis(output)], Session::label_steps(output)};
}

/// The names of a run's arguments in errors.
struct argument_names {
  char const* x = "x";
  char const* y = "y";
  char const* sample_weight = "sample_weight";
};

/// The limits on the numbers of the inputs.
template <class Session>
[[nodiscard]] constexpr auto index_rules_of() {
  std::array<index_rule, static_cast<std::size_t>(Session::input_count())> rules;
  for (std::size_t i = 0; i < rules.size(); ++i)
    rules[i] = index_rule_of(Session::graph, static_cast<int>(Session::input_call(static_cast<int>(i))));
  return rules;
}

/// Checks inputs. Throws data_error E4001 to E4003, E4010, E4156, E4157, E5225.
template <class Session>
[[gnu::noinline]] void check_inputs(sample_set const& x, argument_names const& names = {}) {
  std::array<shape, Session::input_count()> inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = Session::input_shape(static_cast<int>(i));
  check_shapes(names.x, x, inputs);
  check_count(names.x, x.count());
  check_lengths(names.x, x, names.x, {});
  check_numbers(names.x, x);
  constexpr auto rules = index_rules_of<Session>();
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].is_whole || rules[i].rows > 0)
      check_whole_numbers(array_name(names.x, static_cast<int>(i), x.size()).text, x[static_cast<int>(i)], rules[i]);
}

/// Copies these rows of the inputs to a destination, see batch_loader. A session's steps may read a whole batch in
/// place.
template <class Session, class Destination>
[[gnu::noinline]] void load_inputs(sample_set const& x, Destination& to, tracing::array_view<std::int32_t const> rows) {
  constexpr auto batch = static_cast<std::size_t>(Session::batch);
  to.set_valid_samples(static_cast<int>(rows.size()));
  if constexpr (requires { to.takes_loans(); })
    if (to.takes_loans() && rows.size() == batch && !Session::input_shape(0).is_whole)
      if (float const* const samples = x[0].in_place(rows)) return to.lend(samples);
  for (int i = 0; i < Session::input_count(); ++i) {
    float* const input = to.input(i);
    if (Session::input_shape(i).is_whole)
      x[i].gather_whole(rows, input);
    else
      x[i].gather(rows, input);
    auto const size = static_cast<std::size_t>(Session::input_shape(i).size());
    for (std::size_t row = rows.size(); row < batch; ++row)
      std::memcpy(input + row * size, input, size * sizeof(float));
  }
}

/// Fills whole batches. In a partial one, rows without a sample repeat the first sample with a weight of 0 in the loss;
/// zeros would not do, since a layer may have no finite value or gradient there. A destination has `input(i)`,
/// `target<Output>()`, `scale(output)` and `set_valid_samples(count)`: a session, or one place of a queue. Several
/// threads may load at the same time, each to a destination of its own.
template <class Session>
class batch_loader {
 public:
  using argument_names = trainers::argument_names;
  static constexpr argument_names validation_names{"validation_data.x", "validation_data.y",
                                                   "validation_data.sample_weight"};

  /// Loads inputs alone, for prediction. Throws data_error E4001 to E4003, E4010, E5225.
  [[gnu::cold]] explicit batch_loader(sample_set const& x, argument_names const& names = {}) : x_(x) {
    check_inputs<Session>(x, names);
  }

  /// Loads inputs, targets and weights. Throws data_error E4001 to E4006, E4010, E4132, E4133 and E5225, with the
  /// arguments' names.
  [[gnu::cold]] batch_loader(sample_set const& x, sample_set const& y, sample_source const& sample_weight,
                             std::vector<class_weight_entry> const& class_weight, argument_names const& names = {})
      : batch_loader(x, names) {
    y_ = y;
    std::array<shape, outputs> targets;
    for (std::size_t i = 0; i < outputs; ++i)
      targets[i] = Session::sparse_targets(i) ? Session::class_shape(i) : Session::output_shape(i);
    check_shapes(names.y, y, targets);
    check_lengths(names.x, x, names.y, y);
    for (std::size_t i = 0; i < outputs; ++i) {
      array_name const name(names.y, static_cast<int>(i), static_cast<int>(outputs));
      if (Session::sparse_targets(i))
        check_labels(name.text, y[static_cast<int>(i)], label_rule_of<Session>(i));
      else
        check_array_numbers(name.text, y[static_cast<int>(i)]);
    }
    check_sample_weight(names.sample_weight, sample_weight, x.count());
    check_array_numbers(names.sample_weight, sample_weight);
    if (!class_weight.empty()) check_classes(class_weight);
    weights_ = row_weights(sample_weight, class_weight, y[0]);
  }

  [[nodiscard]] std::ptrdiff_t count() const noexcept { return x_.count(); }

  /// Calls `each(array, number)` for each array that the first of several processes has: inputs have the numbers from 0
  /// on, targets those from 15 on, weights of samples 30; further inputs and targets that of the last one.
  template <class Each>
  void for_each_scattered(Each const& each) const {
    for (int i = 0; i < x_.size(); ++i)
      if (x_[i].part() != nullptr) each(x_[i], i < 14 ? i : 14);
    for (int i = 0; i < y_.size(); ++i)
      if (y_[i].part() != nullptr) each(y_[i], 15 + (i < 14 ? i : 14));
    if (weights_.of_samples().part() != nullptr) each(weights_.of_samples(), 30);
  }

  template <class Destination>
  void load_inputs(Destination& to, tracing::array_view<std::int32_t const> rows) const {
    trainers::load_inputs<Session>(x_, to, rows);
  }

  template <class Destination>
  void load(Destination& to, tracing::array_view<std::int32_t const> rows) const {
    load_inputs(to, rows);
    load_targets(to, rows, std::make_index_sequence<outputs>{});
  }

 private:
  // Reports E4006. As in Keras, a sample has one class, that of its only output.
  void check_classes(std::vector<class_weight_entry> const& class_weight) const {
    if (outputs > 1)
      throw_data_error("E4006", "class_weight: expected a model with one output, found one with %zu", outputs);
    if (Session::class_numbers(0) > 1)
      throw_data_error("E4006", "class_weight: expected a model with one class per sample, found one with %d",
                       Session::class_numbers(0));
    check_class_weight(class_weight, y_[0]);
  }

  static constexpr std::size_t outputs = Session::output_count;
  static constexpr auto batch = static_cast<std::size_t>(Session::batch);

  template <class Destination, std::size_t... Output>
  void load_targets(Destination& to, tracing::array_view<std::int32_t const> rows,
                    std::index_sequence<Output...>) const {
    (load_target<Output>(to, rows), ...);
  }
  template <std::size_t Output, class Destination>
  [[gnu::noinline]] void load_target(Destination& to, tracing::array_view<std::int32_t const> rows) const {
    auto* const target = to.template target<Output>();
    y_[static_cast<int>(Output)].gather(rows, target);
    constexpr auto per_sample = static_cast<std::size_t>(Session::scales_per_sample(Output));
    constexpr auto width = static_cast<std::size_t>(
        Session::sparse_targets(Output) ? Session::class_numbers(Output) : Session::output_shape(Output).size());
    if (rows.size() < batch)
      std::memset(target + rows.size() * width, 0, (batch - rows.size()) * width * sizeof(*target));

    float* const scale = to.scale(Output);
    for (std::size_t i = 0; i < rows.size(); ++i) scale[i] = 1;
    if (weights_.given()) weights_.gather(rows, scale);
    // Spreads one number per sample to the rows, backwards since both share their memory.
    constexpr bool is_summed =
        losses::detail::is_summed(losses::loss_of_output<Output>(Session::described::training.loss));
    float const share = is_summed ? 1.0F : 1.0F / static_cast<float>(rows.size() * per_sample);
    for (std::size_t i = rows.size(); i-- > 0;) {
      float const weight = scale[i] * share + 0.0F;  // no -0, which stands for masked steps
      for (std::size_t k = 0; k < per_sample; ++k) scale[i * per_sample + k] = weight;
    }
    for (std::size_t i = rows.size() * per_sample; i < batch * per_sample; ++i) scale[i] = 0;
    if constexpr (Session::is_masked(Output))
      mask_rows<typename Session::described::model, Output>(
          [&](int call) { return to.input(Session::input_number(call)); }, rows.size(), scale);
  }

  sample_set x_, y_;
  row_weights weights_;
};

}  // namespace stagecraft::trainers
