// SPDX-License-Identifier: BSD-3-Clause
// The inputs of a dataset's samples, for layers that are adapted to them.
#pragma once

#include <stagecraft/data/detail/batches_of_stream.hpp>
#include <stagecraft/data/detail/parts.hpp>
#include <stagecraft/data/detail/stack.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::data::detail {

/// Samples of one shape, one after the other.
class input_group {
 public:
  /// Takes x of a sample. E4010, E4118.
  template <class Sample>
  void add(Sample const& sample) {
    add_parts(sample, [this](auto const& array) { this->write(array, shape_of_part(array), 1); });
  }
  /// Takes x of all samples of a batch.
  template <class Arrays>
  void add_batch(Arrays const& arrays) {
    add_parts(arrays, [this](auto const& array) { this->write(array, shape_of_row(array), count_of_rows(array)); });
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  template <class Visit>
  void give(Visit const& visit) {
    if (count_ > 0) visit(shape_, static_cast<float const*>(numbers_.data()), static_cast<std::ptrdiff_t>(count_));
    numbers_.clear();
    count_ = 0;
  }

 private:
  template <class Sample, class Add>
  static void add_parts(Sample const& sample, Add const& add_array) {
    int arrays = 0;
    visit_parts(sample, [&](int set, auto const& array) {
      if (set == 0 && ++arrays == 1) add_array(array);
    });
    if (arrays != 1) stagecraft::detail::throw_data_error("E4010", "data: expected 1 array, found %d", arrays);
  }
  template <class Array>
  void write(Array const& array, shape const& found, std::size_t rows) {
    if (count_ == 0)
      shape_ = found;
    else if (!(shape_ == found))
      refuse_unequal_samples(shape_, found, count_);
    auto const first = numbers_.size();
    numbers_.resize(first + rows * static_cast<std::size_t>(found.size()));
    write_part(array, numbers_.data() + first);
    count_ += rows;
  }

  shape shape_;
  std::vector<float> numbers_;
  std::size_t count_ = 0;
};

template <class Data, class Visit>
void visit_inputs(Data const& data, std::int64_t steps, Visit const& visit) {
  using element = typename Data::element_type;
  if (steps == 0 && data.cardinality() == infinite_cardinality)
    stagecraft::detail::throw_data_error("E4063", "dataset: expected steps, since the dataset has no end, found none");
  constexpr std::size_t at_once = 32;  // as for arrays
  input_group group;
  std::int64_t given = 0;
  auto const from = data.begin_pass(0);
  while (steps == 0 || given < steps) {
    auto next = from->next();
    if (!next) break;
    if constexpr (is_array_batch<element>)
      group.add_batch(next->arrays());
    else if constexpr (sample_of_element<element>::is_batch)
      for (auto const& sample : *next) group.add(sample);
    else
      group.add(*next);
    if (!sample_of_element<element>::is_batch && group.count() < at_once) continue;
    group.give(visit);
    ++given;
  }
  group.give(visit);
}

}  // namespace stagecraft::data::detail
