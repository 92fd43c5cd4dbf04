// SPDX-License-Identifier: BSD-3-Clause
// The streams behind the words of a dataset, such as map and shuffle.
#pragma once

#include <stagecraft/data/array_batch.hpp>
#include <stagecraft/data/detail/element_call.hpp>
#include <stagecraft/data/stream.hpp>
#include <stagecraft/threads/infeed_queue.hpp>
#include <stagecraft/training/data/shuffle.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft::data::detail {

template <class Element>
using stream_of = std::unique_ptr<stream<Element>>;

template <class Element, class Function>
class mapped_stream final : public stream<mapped_type<Function, Element>> {
 public:
  mapped_stream(stream_of<Element> from, Function function) : from_(std::move(from)), function_(std::move(function)) {}
  std::optional<mapped_type<Function, Element>> next() override {
    auto element = from_->next();
    if (!element) return std::nullopt;
    return call_with(function_, *element);
  }

 private:
  stream_of<Element> from_;
  Function function_;
};

/// Draws from a buffer, which is filled up after each element.
template <class Element>
class shuffled_stream final : public stream<Element> {
 public:
  shuffled_stream(stream_of<Element> from, std::size_t size, std::uint64_t seed, std::uint64_t pass)
      : from_(std::move(from)), size_(size), generator_(seed, pass) {}
  std::optional<Element> next() override {
    while (!is_over_ && buffer_.size() < size_) {
      auto element = from_->next();
      if (!element)
        is_over_ = true;
      else
        buffer_.push_back(std::make_unique<Element>(std::move(*element)));
    }
    if (buffer_.empty()) return std::nullopt;
    auto& drawn = buffer_[generator_.below(static_cast<std::uint32_t>(buffer_.size()))];
    std::swap(drawn, buffer_.back());
    std::optional<Element> result(std::move(*buffer_.back()));
    buffer_.pop_back();
    return result;
  }

 private:
  stream_of<Element> from_;
  std::size_t size_;
  stagecraft::detail::order_generator generator_;
  std::vector<std::unique_ptr<Element>> buffer_;  // pointers, since views of xtensor cannot be assigned anew
  bool is_over_ = false;
};

/// `begin(i)` begins the i-th pass over the repeated elements.
template <class Element, class Begin>
class repeated_stream final : public stream<Element> {
 public:
  repeated_stream(Begin begin, std::int64_t count) : begin_(std::move(begin)), count_(count) {}
  std::optional<Element> next() override {
    for (;;) {
      if (from_) {
        if (auto element = from_->next()) {
          is_empty_ = false;
          return element;
        }
        if (is_empty_) return std::nullopt;  // a pass without elements is followed by no other
      }
      if (passes_ == count_) return std::nullopt;
      from_ = begin_(passes_++);
      is_empty_ = true;
    }
  }

 private:
  Begin begin_;
  std::int64_t count_, passes_ = 0;
  stream_of<Element> from_;
  bool is_empty_ = false;
};

/// A part of a stream: it skips the first elements, and ends after a number of others.
template <class Element>
class part_of_stream final : public stream<Element> {
 public:
  part_of_stream(stream_of<Element> from, std::int64_t skipped, std::int64_t taken)
      : from_(std::move(from)), skipped_(skipped), left_(taken) {}
  std::optional<Element> next() override {
    for (; skipped_ > 0 && left_ != 0; --skipped_)
      if (!from_->next()) left_ = 0;
    if (left_ == 0) return std::nullopt;
    if (left_ > 0) --left_;
    return from_->next();
  }

 private:
  stream_of<Element> from_;
  std::int64_t skipped_, left_;
};

template <class Element>
class batched_stream final : public stream<batch_of<Element>> {
 public:
  batched_stream(stream_of<Element> from, std::size_t size, bool drop_remainder)
      : from_(std::move(from)), size_(size), drops_(drop_remainder) {}
  std::optional<batch_of<Element>> next() override {
    batch_of<Element> batch;
    batch.reserve(std::min<std::size_t>(size_, 1024));
    while (batch.size() < size_) {
      auto element = from_->next();
      if (!element) break;
      batch.push_back(std::move(*element));
    }
    if (batch.empty() || (drops_ && batch.size() < size_)) return std::nullopt;
    return batch;
  }

 private:
  stream_of<Element> from_;
  std::size_t size_;
  bool drops_;
};

/// Reads ahead on a thread of its own.
template <class Element>
class prefetched_stream final : public stream<Element> {
 public:
  prefetched_stream(stream_of<Element> from, int depth)
      : fill_{std::move(from)},
        queue_(1, depth, [] { return std::optional<Element>(); }),
        reading_(queue_.start(std::numeric_limits<std::int64_t>::max(), fill_)) {}
  std::optional<Element> next() override {
    if (is_over_) return std::nullopt;
    auto& ready = queue_.take(number_);
    std::optional<Element> result;
    if (ready) result.emplace(std::move(*ready));
    is_over_ = !result;
    ready.reset();
    if (result) queue_.release(number_++);
    return result;
  }

 private:
  struct fill_element {
    stream_of<Element> from;
    bool is_over = false;
    void operator()(std::optional<Element>& to, std::int64_t) {
      if (is_over) return;
      auto element = from->next();
      is_over = !element;
      if (element) to.emplace(std::move(*element));
    }
  };

  fill_element fill_;
  threads::infeed_queue<std::optional<Element>> queue_;
  threads::running<threads::infeed_queue<std::optional<Element>>> reading_;
  std::int64_t number_ = 0;
  bool is_over_ = false;
};

/// Tuples with one element of each stream, until one of the streams ends.
template <class... Elements>
class zipped_stream final : public stream<std::tuple<Elements...>> {
 public:
  explicit zipped_stream(stream_of<Elements>... from) : from_(std::move(from)...) {}
  std::optional<std::tuple<Elements...>> next() override {
    return std::apply(
        [](auto&... each) -> std::optional<std::tuple<Elements...>> {
          std::tuple<std::optional<Elements>...> parts{each->next()...};  // braces: streams are asked in this order
          return std::apply(
              [](auto&... part) -> std::optional<std::tuple<Elements...>> {
                if (!(part.has_value() && ...)) return std::nullopt;
                return std::optional<std::tuple<Elements...>>(std::in_place, std::move(*part)...);
              },
              parts);
        },
        from_);
  }

 private:
  std::tuple<stream_of<Elements>...> from_;
};

/// Elements that a function returns, one after the other.
template <class Element, class Function>
class generated_stream final : public stream<Element> {
 public:
  explicit generated_stream(Function function) : function_(std::move(function)) {}
  std::optional<Element> next() override {
    if (is_over_) return std::nullopt;
    std::optional<Element> element = function_();
    is_over_ = !element;
    return element;
  }

 private:
  Function function_;
  bool is_over_ = false;
};

}  // namespace stagecraft::data::detail
