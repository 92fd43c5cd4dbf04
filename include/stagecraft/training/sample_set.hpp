// SPDX-License-Identifier: BSD-3-Clause
// The arrays of all inputs, or of all outputs, of a model. Level 6.
#pragma once

#include <stagecraft/training/sample_source.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft {

template <class Data>
concept SampleTuple = !SampleData<Data> && requires { std::tuple_size<std::remove_cvref_t<Data>>::value; };

/// What `fit`, `evaluate` and `predict` take as x or y: one array, or several for a model with several inputs or
/// outputs. Made from any array that a sample_source takes, from std::tie(a, b), from a std::tuple or std::pair of
/// them, or by `inputs(a, b)`. Lvalues are used in place and must outlive this object, rvalues are kept.
class sample_set {
 public:
  sample_set() = default;
  sample_set(sample_source source) : sources_{std::move(source)} {}
  explicit sample_set(std::vector<sample_source> sources) : sources_(std::move(sources)) {}

  template <class Data>
    requires(SampleData<Data>)
  sample_set(Data&& data) {
    sources_.emplace_back(std::forward<Data>(data));
  }

  template <class Tuple>
    requires(SampleTuple<Tuple>)
  sample_set(Tuple&& tuple) {
    std::apply([this](auto&&... arrays) { (sources_.emplace_back(std::forward<decltype(arrays)>(arrays)), ...); },
               std::forward<Tuple>(tuple));
  }

  [[nodiscard]] bool given() const noexcept { return !sources_.empty(); }
  /// Number of arrays.
  [[nodiscard]] int size() const noexcept { return static_cast<int>(sources_.size()); }
  [[nodiscard]] sample_source const& operator[](int index) const { return sources_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] auto begin() const noexcept { return sources_.begin(); }
  [[nodiscard]] auto end() const noexcept { return sources_.end(); }

  /// Number of samples of the first array; 0 when there is none.
  [[nodiscard]] std::ptrdiff_t count() const noexcept { return sources_.empty() ? 0 : sources_[0].count(); }

  /// `count` samples of every array, from sample `first` on, in place.
  [[nodiscard]] sample_set slice(std::ptrdiff_t first, std::ptrdiff_t count) const {
    std::vector<sample_source> parts;
    for (sample_source const& source : sources_) parts.push_back(source.slice(first, count));
    return sample_set(std::move(parts));
  }

 private:
  std::vector<sample_source> sources_;
};

/// The arrays of a model with several inputs, in the order of its inputs: `model.fit(sc::inputs(images, sizes), y)`.
template <SampleData... Arrays>
[[nodiscard]] sample_set inputs(Arrays&&... arrays) {
  std::vector<sample_source> sources;
  (sources.emplace_back(std::forward<Arrays>(arrays)), ...);
  return sample_set(std::move(sources));
}

/// The same, for the targets of a model with several outputs.
template <SampleData... Arrays>
[[nodiscard]] sample_set targets(Arrays&&... arrays) {
  return inputs(std::forward<Arrays>(arrays)...);
}

}  // namespace stagecraft
