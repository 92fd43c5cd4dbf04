// SPDX-License-Identifier: BSD-3-Clause
// Streams of words that make several elements of one, or one of several: window, interleave, padded_batch, unbatch.
#pragma once

#include <stagecraft/data/detail/choosing_streams.hpp>
#include <stagecraft/data/detail/element_call.hpp>
#include <stagecraft/data/detail/stack.hpp>
#include <stagecraft/data/detail/streams.hpp>
#include <stagecraft/data/stream.hpp>
#include <stagecraft/data/word_options.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::data {

template <class Element>
class dataset;

namespace detail {

template <class Value>
inline constexpr bool is_dataset = false;
template <class Element>
inline constexpr bool is_dataset<dataset<Element>> = true;

/// Reports a function that does not take the elements (E4119) or returns no dataset (E4120).
template <class Function, class Element>
inline constexpr diagnostics::diagnostic nested_problem = [] {
  diagnostics::diagnostic problem = function_problem<Function, Element>;
  if constexpr (!function_problem<Function, Element>.failed())
    if constexpr (!is_dataset<result_type<Function, Element>>)
      problem.report(4120, "the function of interleave or flat_map returns no sc::data::dataset");
  return problem;
}();

template <class Function, class Element>
struct interleaved {
  using data = result_type<Function, Element>;
  using type = typename data::element_type;
};
template <class Function, class Element>
  requires(nested_problem<Function, Element>.failed())
struct interleaved<Function, Element> {
  using data = dataset<Element>;
  using type = Element;
};

/// Elements of the datasets that a function makes of elements, `cycle_length` datasets in turn. The order is that of
/// tensorflow/core/kernels/data/interleave_dataset_op.cc.
template <class Element, class Function>
class interleaved_stream final : public stream<typename interleaved<Function, Element>::type> {
  using made = typename interleaved<Function, Element>::data;
  using result = typename interleaved<Function, Element>::type;
  struct open_dataset {
    std::optional<made> data;  // the stream may refer to it
    stream_of<result> from;
  };

 public:
  interleaved_stream(stream_of<Element> from, Function function, interleave_options const& options, std::uint64_t pass)
      : from_(std::move(from)),
        function_(std::move(function)),
        options_(options),
        pass_(pass),
        open_(static_cast<std::size_t>(options.cycle_length)) {}
  std::optional<result> next() override {
    while (!is_at_end_ || open_count_ > 0) {
      auto& now = open_[at_];
      if (now.from) {
        if (auto element = now.from->next()) {
          if (++block_ == options_.block_length) move_on();
          return element;
        }
        now.from.reset();
        now.data.reset();
        --open_count_;
        move_on();
      } else if (!is_at_end_) {
        if (auto element = from_->next())
          open(now, *element);
        else
          is_at_end_ = true;
      } else {
        move_on();
      }
    }
    return std::nullopt;
  }

 private:
  void move_on() noexcept {
    block_ = 0;
    at_ = (at_ + 1) % open_.size();
  }
  void open(open_dataset& to, Element& element) {
    to.data.emplace(call_with(function_, element));
    to.from = to.data->begin_pass(pass_);
    if (options_.num_parallel_calls > 1 && at_ < static_cast<std::size_t>(options_.num_parallel_calls)) {
      auto const depth = static_cast<int>(std::clamp<std::int64_t>(options_.block_length, 2, 1024));
      to.from = std::make_unique<prefetched_stream<result>>(std::move(to.from), depth);
    }
    ++open_count_;
  }

  stream_of<Element> from_;
  Function function_;
  interleave_options options_;
  std::uint64_t pass_;
  std::vector<open_dataset> open_;
  std::size_t at_ = 0, open_count_ = 0;
  std::int64_t block_ = 0;
  bool is_at_end_ = false;
};

/// Datasets of `size` elements each, which overlap where `shift` is smaller.
template <class Element>
class windowed_stream final : public stream<dataset<Element>> {
 public:
  windowed_stream(stream_of<Element> from, std::size_t size, window_options const& options)
      : from_(std::move(from)),
        size_(size),
        shift_(static_cast<std::size_t>(options.shift)),
        stride_(static_cast<std::size_t>(options.stride)),
        drops_(options.drop_remainder) {}
  std::optional<dataset<Element>> next() override {
    std::size_t const reach = (size_ - 1) * stride_ + 1;
    while (!is_over_ && buffer_.size() < reach) {
      auto element = from_->next();
      if (!element)
        is_over_ = true;
      else if (skipped_ > 0)
        --skipped_;
      else
        buffer_.push_back(std::make_shared<Element const>(std::move(*element)));
    }
    if (buffer_.empty() || (drops_ && buffer_.size() < reach)) {
      buffer_.clear();
      return std::nullopt;
    }
    kept_elements<Element> window;
    for (std::size_t at = 0; at < std::min(reach, buffer_.size()); at += stride_) window.push_back(buffer_[at]);
    auto const moved = std::min(shift_, buffer_.size());
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(moved));
    skipped_ = shift_ - moved;
    auto const kept = std::make_shared<kept_elements<Element> const>(std::move(window));
    return dataset<Element>(static_cast<std::int64_t>(kept->size()), [kept](std::uint64_t) {
      return std::make_unique<kept_stream<Element>>(kept, 0, kept->size());
    });
  }

 private:
  stream_of<Element> from_;
  std::size_t size_, shift_, stride_;
  bool drops_, is_over_ = false;
  std::size_t skipped_ = 0;  // elements between two windows that are still to be skipped
  std::deque<std::shared_ptr<Element const>> buffer_;
};

/// Batches of samples that are padded to one shape.
template <class Element>
class padded_stream final : public stream<array_batch<stacked_type<Element>>> {
 public:
  padded_stream(stream_of<batch_of<Element>> from, padded_batch_options options)
      : from_(std::move(from)), options_(std::move(options)) {}
  std::optional<array_batch<stacked_type<Element>>> next() override {
    auto const batch = from_->next();
    if (!batch) return std::nullopt;
    return stack(*batch, &options_);
  }

 private:
  stream_of<batch_of<Element>> from_;
  padded_batch_options options_;
};

/// The type of the elements of batches or of arrays.
template <class Element>
struct unbatched {
  using type = row_type<Element>;
};
template <class Sample>
struct unbatched<batch_of<Sample>> {
  using type = Sample;
};
template <class Arrays>
struct unbatched<array_batch<Arrays>> {
  using type = row_type<Arrays>;
};

template <class Element>
class unbatched_stream final : public stream<typename unbatched<Element>::type> {
  using row = typename unbatched<Element>::type;

 public:
  explicit unbatched_stream(stream_of<Element> from) : from_(std::move(from)) {}
  std::optional<row> next() override {
    while (!batch_ || at_ == count_) {
      batch_.reset();
      auto batch = from_->next();
      if (!batch) return std::nullopt;
      batch_.emplace(std::move(*batch));
      at_ = 0;
      if constexpr (is_list)
        count_ = batch_->size();
      else
        count_ = rows_in_batch(*batch_);
    }
    if constexpr (is_list)
      return std::optional<row>(std::move((*batch_)[at_++]));
    else
      return std::optional<row>(row_of(*batch_, at_++));
  }

 private:
  static constexpr bool is_list = std::is_same_v<Element, batch_of<row>>;

  stream_of<Element> from_;
  std::optional<Element> batch_;
  std::size_t at_ = 0, count_ = 0;
};

}  // namespace detail

}  // namespace stagecraft::data
