// SPDX-License-Identifier: BSD-3-Clause
// Streams of words that choose, number or keep elements: filter, take_while, shard, enumerate, concatenate, cache.
#pragma once

#include <stagecraft/data/detail/element_call.hpp>
#include <stagecraft/data/detail/streams.hpp>
#include <stagecraft/data/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::data::detail {

/// Reports a function that does not take the elements (E4119) or returns no bool (E4120).
template <class Function, class Element>
inline constexpr diagnostics::diagnostic condition_problem = [] {
  diagnostics::diagnostic problem = function_problem<Function, Element>;
  if constexpr (!function_problem<Function, Element>.failed())
    if constexpr (!std::is_convertible_v<result_type<Function, Element>, bool>)
      problem.report(4120, "the function of filter or take_while returns no bool, but something that is none");
  return problem;
}();

/// Elements for which the function returns true; with `stops`, the elements before the first one for which it returns
/// false.
template <class Element, class Function>
class filtered_stream final : public stream<Element> {
 public:
  filtered_stream(stream_of<Element> from, Function function, bool stops)
      : from_(std::move(from)), function_(std::move(function)), stops_(stops) {}
  std::optional<Element> next() override {
    while (!is_over_) {
      auto element = from_->next();
      if (!element || static_cast<bool>(call_with(function_, *element))) return element;
      is_over_ = stops_;
    }
    return std::nullopt;
  }

 private:
  stream_of<Element> from_;
  Function function_;
  bool stops_, is_over_ = false;
};

/// Each `count`-th element, from the one numbered `index` on.
template <class Element>
class shard_of_stream final : public stream<Element> {
 public:
  shard_of_stream(stream_of<Element> from, std::int64_t count, std::int64_t index)
      : from_(std::move(from)), count_(count), skipped_(index) {}
  std::optional<Element> next() override {
    for (; skipped_ > 0; --skipped_)
      if (!from_->next()) return std::nullopt;
    skipped_ = count_ - 1;
    return from_->next();
  }

 private:
  stream_of<Element> from_;
  std::int64_t count_, skipped_;
};

template <class Element>
class numbered_stream final : public stream<std::tuple<std::int64_t, Element>> {
 public:
  numbered_stream(stream_of<Element> from, std::int64_t start) : from_(std::move(from)), number_(start) {}
  std::optional<std::tuple<std::int64_t, Element>> next() override {
    auto element = from_->next();
    if (!element) return std::nullopt;
    return std::optional<std::tuple<std::int64_t, Element>>(std::in_place, number_++, std::move(*element));
  }

 private:
  stream_of<Element> from_;
  std::int64_t number_;
};

/// All elements of one stream, then those of another, which `begin()` begins.
template <class Element, class Begin>
class joined_stream final : public stream<Element> {
 public:
  joined_stream(stream_of<Element> from, Begin begin) : from_(std::move(from)), begin_(std::move(begin)) {}
  std::optional<Element> next() override {
    auto element = from_->next();
    if (element || is_second_) return element;
    is_second_ = true;
    from_ = begin_();
    return from_->next();
  }

 private:
  stream_of<Element> from_;
  Begin begin_;
  bool is_second_ = false;
};

/// Elements that several passes read; each is in memory once.
template <class Element>
using kept_elements = std::vector<std::shared_ptr<Element const>>;

/// Copies of kept elements.
template <class Element>
class kept_stream final : public stream<Element> {
 public:
  kept_stream(std::shared_ptr<kept_elements<Element> const> from, std::size_t first, std::size_t last)
      : from_(std::move(from)), at_(first), last_(last) {}
  std::optional<Element> next() override {
    if (at_ == last_) return std::nullopt;
    return std::optional<Element>(*(*from_)[at_++]);
  }

 private:
  std::shared_ptr<kept_elements<Element> const> from_;
  std::size_t at_, last_;
};

/// The elements that `cache` has kept; none until a pass has ended. Passes may run at the same time.
template <class Element>
class cache_memory {
 public:
  [[nodiscard]] std::shared_ptr<kept_elements<Element> const> read() const {
    std::scoped_lock const lock(mutex_);
    return elements_;
  }
  void write(kept_elements<Element> elements) {
    std::scoped_lock const lock(mutex_);
    if (!elements_) elements_ = std::make_shared<kept_elements<Element> const>(std::move(elements));
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<kept_elements<Element> const> elements_;
};

/// Keeps a copy of each element, for the passes after this one.
template <class Element>
class caching_stream final : public stream<Element> {
 public:
  caching_stream(stream_of<Element> from, std::shared_ptr<cache_memory<Element>> memory)
      : from_(std::move(from)), memory_(std::move(memory)) {}
  std::optional<Element> next() override {
    auto element = from_->next();
    if (element)
      kept_.push_back(std::make_shared<Element const>(*element));
    else
      memory_->write(std::exchange(kept_, {}));
    return element;
  }

 private:
  stream_of<Element> from_;
  std::shared_ptr<cache_memory<Element>> memory_;
  kept_elements<Element> kept_;
};

}  // namespace stagecraft::data::detail
