// SPDX-License-Identifier: BSD-3-Clause
// What a task does: one struct for each kind, from which its cost, its memory and its run follow.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/ipu/steps/pool_work.hpp>
#include <stagecraft/ipu/steps/rearranged_box.hpp>
#include <stagecraft/operations/kinds/map.hpp>
#include <cstdint>

namespace stagecraft::tiles {

enum class reduce_function : std::int64_t {
  sum,
  mean,
  sum_of_squares,
  sum_of_products,  ///< sum of two inputs' products, element by element
  maximum
};

/// The result's element as a function of the operands' elements a, b, c, in their order, and scalar s0.
enum class map_function : std::int64_t {
  copy,                 ///< a, also from another type
  fill,                 ///< s0, no operand
  scaled_add,           ///< a + s0 b
  multiply_add,         ///< a b + c
  rsqrt,                ///< 1 / sqrt(a + s0)
  accumulate,           ///< append_accumulate
  activation,           ///< append_activation_map
  activation_gradient,  ///< append_activation_gradient_map
  dropout,              ///< append_dropout
  dropout_gradient,     ///< append_dropout: the same numbers, applied to the gradient
  formula,              ///< append_formula: the task's own, of any operands
  iota,                 ///< the place along an axis: (e / s) % n of element e, no operand
  random_uniform,       ///< from [0, 1), no operand
  random_normal,        ///< normal, mean 0 and standard deviation 1, no operand
  whole,                ///< the operations::whole_function s0 of int32 by their bits; s1 for a constant
  first_of_operations,  ///< from here on: operations::function, some of whose operands are numbers
  add = first_of_operations + static_cast<int>(operations::function::add),
  subtract = first_of_operations + static_cast<int>(operations::function::subtract),
  multiply = first_of_operations + static_cast<int>(operations::function::multiply)
};

/// A function that a layer's `call` uses.
[[nodiscard]] constexpr map_function map_function_of(operations::function apply) noexcept {
  return static_cast<map_function>(static_cast<int>(map_function::first_of_operations) + static_cast<int>(apply));
}
[[nodiscard]] constexpr bool is_operation(map_function function) noexcept {
  return function >= map_function::first_of_operations;
}
[[nodiscard]] constexpr operations::function function_in(map_function function) noexcept {
  return static_cast<operations::function>(static_cast<int>(function) -
                                           static_cast<int>(map_function::first_of_operations));
}

// All fields have 64 bits, so that tasks can be compared word by word (step_code).

/// An elementwise task on the tiles where the elements lie: popops.
struct map_task {
  static constexpr int most_inputs = 13;
  /// The element of an operand that element e of the result is made of: (e / inner) % count; with a count of 0, e
  /// itself.
  struct reading {
    std::int64_t inner = 1, count = 0;
  };

  map_function function = map_function::copy;
  reading reads[most_inputs]{};
  double scalars[3]{};          ///< floats
  std::int64_t numbers = 0;     ///< bit i: operand i is the number in scalar i, not a tensor
  std::int64_t activation = 0;  ///< an activation_kind, whose options are scalars
  std::uint64_t seed = 0;       ///< seed of random numbers; 0: the trainer's
  std::uint64_t first_random = 0;
  std::int64_t draws = 0;                       ///< true if a formula takes a random number after its operands
  std::int64_t positions = 0, channels = 0;     ///< for dropout that drops whole channels of a sample
  std::int64_t iota_inner = 1, iota_count = 1;  ///< element e is (e / inner) % count
};

/// Sums and maxima over an axis, (outer, reduced, inner) -> (outer, inner): popops.
struct axis_reduction {
  reduce_function function = reduce_function::sum;
  std::int64_t outer = 1, reduced = 1, inner = 1;
  std::int64_t samples = 0;  ///< samples along the reduced axis, of which only valid ones count; 0: all count
  double scale = 1;
};

enum class rows_function : std::int64_t {
  softmax_of_rows,   ///< x -> y
  softmax_gradient,  ///< dy, y -> dx
  loss,              ///< prediction, targets, scales -> loss
  loss_gradient      ///< prediction, targets, scales -> loss, gradient
};
/// The price of a loss, as tasks/rows.hpp knows it. What tiles compute comes from the loss's `call`.
enum class loss_kind : std::int64_t {
  sparse_categorical_crossentropy,
  categorical_crossentropy,
  binary_crossentropy,
  mean_squared_error,
  mean_absolute_error,
  huber,
  elementwise,  ///< any other function at each place: task::formula
  traced        ///< any other, of whole rows: task::row_plan
};
/// A function of whole rows of (outer, columns, inner): popnn. Tiles have equal shares of the rows: a tile receives its
/// rows, works on them alone, and sends the results to the tiles where they lie.
struct row_task {
  rows_function function = rows_function::softmax_of_rows;
  std::int64_t outer = 1, columns = 1, inner = 1;
  // The fields below are for losses.
  loss_kind loss = loss_kind::mean_squared_error;
  std::int64_t from_logits = 0;
  double option = 0;  ///< label_smoothing, or huber's delta
  double factor = 1;
  std::int64_t running_mean = 0, rows_per_sample = 0;  ///< loss_scale

  [[nodiscard]] constexpr std::int64_t rows() const noexcept { return outer * inner; }
  [[nodiscard]] constexpr bool is_loss() const noexcept {
    return function == rows_function::loss || function == rows_function::loss_gradient;
  }
};

/// Copies into a box of the result; what becomes of its elements outside the box.
enum class rearrange_function : std::int64_t {
  copy,           ///< they stay as they are
  copy_and_clear  ///< they become 0
};
/// Copies between places: padding, slices, parts of a concatenation, transpositions.
struct rearrangement {
  rearrange_function function = rearrange_function::copy;
  rearranged_box box;
  /// In a loop, a box may move: by `step` places with each trip of the loop that contains `loop` others. It moves in
  /// the input, or along axis 2 of the result.
  std::int64_t step = 0, loop = 0, moves_in_result = 0;

  [[nodiscard]] constexpr rearrangement moved(std::int64_t trip) const noexcept {
    auto result = *this;
    (moves_in_result != 0 ? result.box.first.of[2] : result.box.source_first) += trip * step;
    return result;
  }
};

/// Convolutions and matrix products, by a plan of the step's: poplin.
struct planned_product {
  std::int64_t function = 0;  ///< the convolution_pass
  convolution_strides strides;
  std::int64_t loads_128_bits = 0;
  std::int64_t kernel_is_there = 0;  ///< true if the kernel lies where it is multiplied (weight_mapping)
};

enum class update_function : std::int64_t {
  optimizer,  ///< weight, gradient, slots, norms -> weight, slots: the task's formula
  penalty,    ///< weight -> one number
  norm,       ///< weight, gradient, slots, norms -> one number: the norm of the task's formula, or its square
  // batch_normalization counts valid samples only:
  move_statistic,  ///< moving, statistic of the batch -> moving
  valid_mean,      ///< sums over the batch -> means
  clear_filling    ///< (batch, ...) -> the same, with zeros after the valid samples
};
/// An optimizer's step, penalty or norm of a weight, or a step on moving statistics.
struct update_task {
  static constexpr int most_norms = 5;

  update_function function = update_function::optimizer;
  double l1 = 0, l2 = 0;                      ///< factors of the penalty
  std::int64_t norms = 0;                     ///< number of the last inputs that are norms
  std::int64_t number_of_norm[most_norms]{};  ///< for each norm, its place among the numbers that all tiles have
  std::int64_t is_square = 0;                 ///< true if a norm is still to be squared
  double momentum = 0, rest = 0;
  std::int64_t unbiased = 0, values_per_sample = 1;
};

enum class table_function : std::int64_t {
  gather,      ///< table (rows, columns), numbers -> (numbers, columns); zeros for a number that no row has
  scatter_add  ///< (numbers, columns), numbers -> table (rows, columns): zeros, and the sums of what goes to a row
};
/// Rows of a table whose numbers are data, and sums of such: popops. The table is cut into parts of its rows, and each
/// into parts of its columns.
struct table_parts {
  table_function function = table_function::gather;
  std::int64_t rows = 1, columns = 1, numbers = 1;
  std::int64_t rows_each = 1, columns_each = 1;
};

enum class custom_function : std::int64_t {
  forward,  ///< inputs, weights -> output, what is saved
  backward  ///< inputs, weights, output, what is saved, output gradient -> gradients of inputs and weights
};
/// A step of a layer of the user's own that has loops of its own, on one tile.
struct own_layer_step {
  custom_function function = custom_function::forward;
  std::int64_t cycles = 0;  ///< cycles of the worker
  std::int64_t flops = 0;
  std::int64_t first = 0;  ///< the first task that names tensors for this one
};
/// A layer that is written as a `call`: tasks of all kinds, those of task::list.
struct traced_tasks {
  std::int64_t first = 0;  ///< the first task that names tensors for this one
};
/// Does nothing but name tensors for the task after it.
struct tensor_names {
  std::int64_t function = 0;  ///< 0: for a layer of the user's own, 1: for a traced one
};

// All kinds of tasks, by the names of their structs.
#define STAGECRAFT_FAMILIES(EACH) \
  EACH(tensor_names)              \
  EACH(map_task)                  \
  EACH(axis_reduction)            \
  EACH(row_task)                  \
  EACH(rearrangement)             \
  EACH(repeated_field)            \
  EACH(pool_work)                 \
  EACH(planned_product) EACH(update_task) EACH(table_parts) EACH(own_layer_step) EACH(traced_tasks)

/// The work of any task: one of the structs above.
class task_work {
  enum class kind : unsigned char {
#define STAGECRAFT_EACH(name) name,
    STAGECRAFT_FAMILIES(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH
  };
#define STAGECRAFT_EACH(name)                                              \
  static constexpr kind kind_of(tiles::name const*) { return kind::name; } \
  static constexpr auto& of(auto& any, tiles::name const*) { return any.name##_; }
  STAGECRAFT_FAMILIES(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH
  template <class What>
  static constexpr What const* tag = nullptr;

  kind kind_ = kind::tensor_names;
  union {
#define STAGECRAFT_EACH(name) tiles::name name##_;
    STAGECRAFT_FAMILIES(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH
  };

 public:
  constexpr task_work() : tensor_names_{} {}
#define STAGECRAFT_EACH(name) \
  constexpr task_work(tiles::name const& what) : kind_(kind::name), name##_(what) {}  // NOLINT: any of them
  STAGECRAFT_FAMILIES(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH

#define STAGECRAFT_EACH(name) +1
  static constexpr int kinds = 0 STAGECRAFT_FAMILIES(STAGECRAFT_EACH);
#undef STAGECRAFT_EACH
  /// The kind, counted from 0.
  [[nodiscard]] constexpr int index() const { return static_cast<int>(kind_); }
  template <class What>
  [[nodiscard]] constexpr bool is() const {
    return kind_ == kind_of(tag<What>);
  }
  /// The struct of kind `What`, which must be this one's kind.
  template <class What>
  [[nodiscard]] constexpr What const& as() const {
    return of(*this, tag<What>);
  }
  template <class What>
  [[nodiscard]] constexpr What& as() {
    return of(*this, tag<What>);
  }
  /// The struct if it is of kind `What`; else null.
  template <class What>
  [[nodiscard]] constexpr What const* if_is() const {
    return is<What>() ? &as<What>() : nullptr;
  }
  /// Calls f with the struct.
  template <class F>
  constexpr decltype(auto) visit(F&& f) const {
    switch (kind_) {
#define STAGECRAFT_EACH(name) \
  case kind::name: return f(name##_);
      STAGECRAFT_FAMILIES(STAGECRAFT_EACH)
#undef STAGECRAFT_EACH
    }
    return f(tensor_names_);  // not reached
  }
};

#undef STAGECRAFT_FAMILIES

}  // namespace stagecraft::tiles
