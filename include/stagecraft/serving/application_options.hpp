// SPDX-License-Identifier: BSD-3-Clause
// Options of an application besides its model: batch sizes and their rules, names of outputs, and steps before and
// after the model.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <concepts>
#include <cstddef>
#include <span>

namespace stagecraft::serving {

/// Up to 16 sizes of batches: `{1, 8, 32}`.
struct batch_size_list {
  static constexpr std::size_t capacity = 16;
  int sizes[capacity]{};
  int count = 0;  ///< number of sizes, surplus ones included (E5148); 0: the batch_size alone

  constexpr batch_size_list() = default;
  template <std::integral... Sizes>
    requires(sizeof...(Sizes) >= 1)
  constexpr batch_size_list(Sizes... size) {
    for (int const each : {static_cast<int>(size)...}) {
      if (static_cast<std::size_t>(count) < capacity) sizes[count] = each;
      ++count;
    }
  }
  /// The first sizes, at most `capacity`. More are E5148.
  [[nodiscard]] constexpr std::span<int const> kept() const noexcept {
    auto const given = static_cast<std::size_t>(count);
    return std::span(sizes, given < capacity ? given : capacity);
  }
};

/// Up to 64 names of outputs, in the model's order: `{"probabilities", "box"}`.
struct output_name_list {
  static constexpr std::size_t capacity = 64;
  fixed_name names[capacity]{};
  int count = 0;  ///< number of names, surplus ones included (E5093); 0: "output_0" and so on

  constexpr output_name_list() = default;
  template <std::convertible_to<fixed_name>... Names>
    requires(sizeof...(Names) >= 1)
  constexpr output_name_list(Names... name) {
    (append(name), ...);
  }
  /// The first names, at most `capacity`. More are E5093.
  [[nodiscard]] constexpr std::span<fixed_name const> kept() const noexcept {
    auto const given = static_cast<std::size_t>(count);
    return std::span(names, given < capacity ? given : capacity);
  }

 private:
  constexpr void append(fixed_name const& name) {
    if (static_cast<std::size_t>(count) < capacity) names[count] = name;
    ++count;
  }
};

/// Stands for the absence of a step before or after the model.
struct no_processing {};

/// The name and the shape of one sample of a preprocessing step's input: `spec<"pixels", 28, 28>`. TensorFlow's
/// TensorSpec.
template <fixed_name Name, int... Extent>
struct spec {
  static constexpr auto name = Name;
  static constexpr std::size_t rank = sizeof...(Extent);
  static constexpr long long extents[rank + 1]{Extent..., 0};
  static constexpr int size = (1 * ... * Extent);
};

/// The inputs of a preprocessing step.
template <class... Specs>
struct signature {
  static constexpr int count = sizeof...(Specs);
};

/// The part of Graphcore's arguments of export_for_ipu_serving that an application is compiled with.
///
/// Steps run on the CPU, for one sample at a time: `call` takes spans of fixed lengths, first those that it reads and
/// then those that it writes:
///
///     struct scale_pixels {
///       using preprocessing_step_signature = sc::serving::signature<sc::serving::spec<"pixels", 28, 28>>;
///       static void call(std::span<float const, 784> pixels, std::span<float, 784> image) {
///         for (std::size_t i = 0; i < 784; ++i) image[i] = pixels[i] / 255;
///       }
///     };
///     struct find_class {
///       static void call(std::span<float const, 10> logits, std::span<float, 1> digit);
///     };
///     inline constexpr auto options = sc::serving::application_options{.output_names = {"digit"},
///                                                                      .preprocessing_step = scale_pixels{},
///                                                                      .postprocessing_step = find_class{}};
///
/// The spans that a preprocessing step writes must be the model's inputs, in number and size, and those that a
/// postprocessing step reads its outputs (E5090). An output of a postprocessing step is a number or a row of them.
template <class Preprocessing = no_processing, class Postprocessing = no_processing>
struct application_options {
  /// Sizes of batches, TensorFlow Serving's allowed_batch_sizes: up to 16, increasing to the batch_size (E5148). A
  /// batch has the least of them that holds the samples that wait; each is a predictor with weights and memory of its
  /// own, and takes its own time to be compiled. None: the batch_size alone.
  batch_size_list allowed_batch_sizes = {};
  /// Names of the application's outputs.
  output_name_list output_names = {};
  /// A step before the model, whose inputs are the application's.
  Preprocessing preprocessing_step = {};
  /// A step after the model, whose outputs are the application's.
  Postprocessing postprocessing_step = {};
};

}  // namespace stagecraft::serving

namespace stagecraft::serving::detail {

/// The numbers of a servable that its allowed batch sizes must fit.
struct batch_facts {
  int batch_size = 1;
  int stages = 1;
  int replicas = 1;
  int of_inputs = 0;  ///< batch size that the model's inputs state; 0: none
};

/// Reports E5148, at compile time or at run time: sizes that do not increase up to the batch size, or a servable whose
/// batches have one size. `left_out`: number of surplus sizes, for which `sizes` has no room.
[[nodiscard]] constexpr diagnostics::diagnostic check_batch_sizes(std::span<int const> sizes, batch_facts const& facts,
                                                                  int left_out = 0) {
  diagnostics::diagnostic problem;
  if (sizes.empty()) return problem;
  if (int const count = static_cast<int>(sizes.size()) + left_out; count > static_cast<int>(batch_size_list::capacity))
    problem.report(5148, "allowed_batch_sizes has ", count, " sizes, of which there may be ",
                   static_cast<int>(batch_size_list::capacity));
  for (int before = 0; int const size : sizes) {
    if (size < 1) problem.report(5148, "allowed_batch_sizes has ", size, "; sizes are from 1 on");
    if (size <= before) problem.report(5148, "allowed_batch_sizes has ", size, " after ", before, "; sizes increase");
    before = size;
  }
  if (sizes.back() != facts.batch_size)
    problem.report(5148, "allowed_batch_sizes ends with ", sizes.back(), ", but batch_size is ", facts.batch_size,
                   "; the last size is the batch size");
  if (facts.stages > 1)
    problem.report(5148, "allowed_batch_sizes is given for a model in ", facts.stages,
                   " stages; batches in a pipeline follow each other, and have one size");
  if (facts.replicas > 1)
    problem.report(5148, "allowed_batch_sizes is given for ", facts.replicas,
                   " replicas, which work at the same time, on batches of one size");
  if (facts.of_inputs != 0 && sizes.size() > 1)
    problem.report(5148, "allowed_batch_sizes is given for a model whose inputs have a batch size, ", facts.of_inputs);
  return problem;
}

/// E5148 for the batch sizes of a session.
template <class Session, batch_size_list Sizes>
inline constexpr diagnostics::diagnostic batch_sizes_problem =
    check_batch_sizes(Sizes.kept(),
                      {.batch_size = Session::batch,
                       .stages = Session::sizes::stages,
                       .replicas = Session::replicas,
                       .of_inputs = Session::graph.batch_size()},
                      Sizes.count - static_cast<int>(Sizes.kept().size()));

}  // namespace stagecraft::serving::detail
