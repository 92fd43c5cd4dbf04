// SPDX-License-Identifier: BSD-3-Clause
// The arrays of all inputs, or of all outputs, of a model.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/training/data/sample_source.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

template <class Data>
concept SampleTuple = !SampleData<Data> && requires { std::tuple_size<std::remove_cvref_t<Data>>::value; };

/// Reports E4086 for an argument that is no array, above all a vector of vectors.
template <class Data>
inline constexpr diagnostic no_data_problem = [] {
  diagnostic problem;
  if constexpr (requires(Data const& data) { data[0][0]; })
    problem.report(4086, "data are given as a ", type_name<Data>(), " whose elements are arrays; give one array: an ",
                   "xt::xtensor<float, 2>, or xt::adapt(values, shape) of a std::vector<float> with all of them");
  else
    problem.report(4086, "data are given as a value of type '", type_name<Data>(),
                   "', which is no array; give a "
                   "container or an expression of xtensor, or a std::vector, std::array or std::span of numbers");
  return problem;
}();

}  // namespace stagecraft::trainers

namespace stagecraft {

/// The type of the arguments x and y of `fit`, `evaluate` and `predict`: one array, or several for a model with several
/// inputs or outputs. It is made from any array that a sample_source takes, from std::tie(a, b), from a std::tuple or
/// std::pair of them, or by `inputs(a, b)`. Lvalues are used in place and must outlive this object, rvalues are kept.
/// Up to four arrays need no memory of their own, so that a set can be made in each step.
class sample_set {
 public:
  // These are not inlined: compilers would put them into all functions that take a set.
  [[gnu::noinline]] sample_set() {}
  [[gnu::noinline]] sample_set(sample_set const& other) = default;
  [[gnu::noinline]] sample_set(sample_set&& other) noexcept = default;
  [[gnu::noinline]] sample_set& operator=(sample_set const& other) = default;
  [[gnu::noinline]] sample_set& operator=(sample_set&& other) noexcept = default;
  [[gnu::noinline]] ~sample_set() = default;
  sample_set(trainers::sample_source source) { add(std::move(source)); }
  explicit sample_set(std::vector<trainers::sample_source> sources) {
    for (trainers::sample_source& source : sources) add(std::move(source));
  }

  template <class Data>
    requires(trainers::SampleData<Data>)
  sample_set(Data&& data) {
    add(trainers::sample_source(std::forward<Data>(data)));
  }

  template <class Tuple>
    requires(trainers::SampleTuple<Tuple>)
  sample_set(Tuple&& tuple) {
    std::apply(
        [this](auto&&... arrays) { (add(trainers::sample_source(std::forward<decltype(arrays)>(arrays))), ...); },
        std::forward<Tuple>(tuple));
  }

  /// Reports E4086 for anything else. Functions that take datasets have overloads for them.
  template <class Data>
    requires(!trainers::SampleData<Data> && !trainers::SampleTuple<Data> &&
             !std::is_convertible_v<Data, trainers::sample_source> &&
             !std::is_same_v<std::remove_cvref_t<Data>, sample_set> && !requires { typename Data::predict_options; })
  sample_set(Data const&) {
    static_assert(detail::report<detail::no_data_problem<Data>>());
  }

  [[nodiscard]] bool given() const noexcept { return size_ != 0; }
  /// Number of arrays.
  [[nodiscard]] int size() const noexcept { return static_cast<int>(size_); }
  [[nodiscard]] trainers::sample_source const& operator[](int index) const { return begin()[index]; }
  [[nodiscard]] trainers::sample_source const* begin() const noexcept {
    return size_ > few_.size() ? many_.data() : few_.data();
  }
  [[nodiscard]] trainers::sample_source const* end() const noexcept { return begin() + size_; }

  /// Number of samples of the first array; 0 if there is none.
  [[nodiscard]] std::ptrdiff_t count() const noexcept { return size_ == 0 ? 0 : begin()->count(); }

  /// `count` samples of every array, from sample `first` on, in place.
  [[nodiscard]] sample_set slice(std::ptrdiff_t first, std::ptrdiff_t count) const {
    sample_set parts;
    for (trainers::sample_source const& source : *this) parts.add(source.slice(first, count));
    return parts;
  }

  /// Adds an array.
  [[gnu::cold, gnu::noinline]] void add(trainers::sample_source source) {
    if (size_ < few_.size()) {
      few_[size_++] = std::move(source);
      return;
    }
    if (size_ == few_.size()) many_.append(few_.data(), few_.data() + few_.size());
    many_.push_back(std::move(source));
    ++size_;
  }

 private:
  std::array<trainers::sample_source, 4> few_;
  tracing::growing_array<trainers::sample_source> many_;  ///< all arrays, if they are more
  std::size_t size_ = 0;
};

/// The arrays of a model with several inputs, in the order of its inputs: `model.fit(sc::inputs(images, sizes), y)`.
template <trainers::SampleData... Arrays>
[[nodiscard]] sample_set inputs(Arrays&&... arrays) {
  sample_set result;
  (result.add(trainers::sample_source(std::forward<Arrays>(arrays))), ...);
  return result;
}

/// A sample set of the targets of a model with several outputs.
template <trainers::SampleData... Arrays>
[[nodiscard]] sample_set targets(Arrays&&... arrays) {
  return inputs(std::forward<Arrays>(arrays)...);
}

}  // namespace stagecraft
