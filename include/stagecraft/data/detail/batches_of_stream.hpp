// SPDX-License-Identifier: BSD-3-Clause
// How the elements of a dataset become rows of a batch's arrays.
#pragma once

#include <stagecraft/data/array_batch.hpp>
#include <stagecraft/data/detail/parts.hpp>
#include <stagecraft/data/detail/stack.hpp>
#include <stagecraft/data/stream.hpp>
#include <stagecraft/data/streamed_batches.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stagecraft::data::detail {

template <class Element>
struct sample_of_element {
  using type = Element;
  static constexpr bool is_batch = false;
};
template <class Sample>
struct sample_of_element<batch_of<Sample>> {
  using type = Sample;
  static constexpr bool is_batch = true;
};
template <class Arrays>
struct sample_of_element<array_batch<Arrays>> {
  using type = Arrays;  // the arrays of all samples
  static constexpr bool is_batch = true;
};
template <class Element>
inline constexpr bool is_array_batch = false;
template <class Arrays>
inline constexpr bool is_array_batch<array_batch<Arrays>> = true;

/// Reports E4086 for several sample weights.
template <class Weight>
constexpr void check_weight() {
  if constexpr (trainers::SampleTuple<Weight>)
    if constexpr (std::tuple_size_v<Weight> > 1)
      static_assert(stagecraft::detail::report<stagecraft::detail::no_data_problem<Weight>>());
}

/// Calls `visit(set, part)` for each array of a sample: x, (x, y) or (x, y, weight), each alone or several.
template <class Sample, class Visit>
void visit_parts(Sample const& sample, Visit const& visit) {
  auto const visit_set = [&visit](int set, auto const& value) {
    using type = std::remove_cvref_t<decltype(value)>;
    if constexpr (ArrayPart<type>)
      visit(set, value);
    else if constexpr (trainers::SampleTuple<type>)
      std::apply([&](auto const&... parts) { (visit(set, parts), ...); }, value);
    else
      static_assert(stagecraft::detail::report<stagecraft::detail::no_data_problem<type>>());
  };
  if constexpr (ArrayPart<Sample> || !trainers::SampleTuple<Sample>) {
    visit_set(0, sample);
  } else {
    constexpr std::size_t sets = std::tuple_size_v<Sample>;
    if constexpr (sets > 3)
      static_assert(stagecraft::detail::report<stagecraft::detail::no_data_problem<Sample>>());
    else if constexpr (sets == 3)  // one weight serves all outputs
      check_weight<std::tuple_element_t<2, Sample>>();
    for_each_index<std::min<std::size_t>(sets, 3)>([&]<int Set>() { visit_set(Set, std::get<Set>(sample)); });
  }
}

template <class Data>
class batches_of_stream final : public streamed_batches {
  using element = typename Data::element_type;
  using facts = sample_of_element<element>;
  using sample = typename facts::type;

 public:
  batches_of_stream(Data const& data, int batch_size, bool drop_remainder, char const* prefix)
      : streamed_batches(
            facts::is_batch ? data.cardinality() : count_of_groups(data.cardinality(), batch_size, drop_remainder),
            batch_size, prefix),
        data_(data),
        drops_(drop_remainder) {}

 private:
  void begin_pass(std::uint64_t pass) override {
    next_.reset();
    stream_.reset();  // ends the former stream before another one begins
    stream_ = data_.begin_pass(pass);
    if (!has_next() || has_parts()) return;
    if constexpr (is_array_batch<element>) {
      visit_parts(next_->arrays(), [this](int set, auto const& array) { this->add_part(set, shape_of_row(array)); });
    } else if constexpr (facts::is_batch) {
      if (!next_->empty()) make_parts(next_->front());
    } else {
      make_parts(*next_);
    }
  }

  // Reads nothing that the batch does not need, since the next element of a live source may take long to arrive.
  int fill() override {
    if (!has_next()) return -1;
    int row = 0;
    if constexpr (is_array_batch<element>) {
      auto const count = rows_in_batch(next_->arrays());
      if (count == 0 || count > static_cast<std::size_t>(this->batch_size())) this->refuse_batch(count);
      std::size_t index = 0;
      visit_parts(next_->arrays(),
                  [&](int, auto const& array) { write_part(array, this->place(index++, shape_of_row(array), 0)); });
      row = static_cast<int>(count);
      next_.reset();
    } else if constexpr (facts::is_batch) {
      if (next_->empty() || next_->size() > static_cast<std::size_t>(this->batch_size()))
        this->refuse_batch(next_->size());
      for (auto const& each : *next_) write(each, row++);
      next_.reset();
    } else {
      for (; row < this->batch_size() && has_next(); ++row) {
        write(*next_, row);
        next_.reset();
      }
      if (drops_ && row < this->batch_size()) return -1;
    }
    return row;
  }

  /// Reads an element, unless there is one that is in no batch yet.
  bool has_next() {
    if (!next_)
      if (auto element_read = stream_->next()) next_.emplace(std::move(*element_read));
    return next_.has_value();
  }
  void make_parts(sample const& first) {
    visit_parts(first, [this](int set, auto const& array) { this->add_part(set, shape_of_part(array)); });
  }
  void write(sample const& from, int row) {
    std::size_t index = 0;
    visit_parts(from,
                [&](int, auto const& array) { write_part(array, this->place(index++, shape_of_part(array), row)); });
  }

  Data data_;
  bool drops_;
  std::unique_ptr<stream<element>> stream_;
  std::optional<element> next_;
};

}  // namespace stagecraft::data::detail
