// SPDX-License-Identifier: BSD-3-Clause
// Samples that come one after the other, and what becomes of them on the way. Keras counterpart: tf.data.Dataset.
#pragma once

#include <stagecraft/data/cardinality.hpp>
#include <stagecraft/data/detail/batches_of_stream.hpp>
#include <stagecraft/data/detail/streams.hpp>
#include <stagecraft/data/run_options.hpp>
#include <stagecraft/data/stream.hpp>
#include <stagecraft/data/streamed_batches.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::data {

/// Options of `shuffle`.
struct shuffle_options {
  std::uint64_t seed = 1;                ///< the order follows from it, and from the number of the pass
  bool reshuffle_each_iteration = true;  ///< whether each pass has an order of its own
};

/// A dataset of one's own: it says what its elements are and how many, or cardinality.hpp's constants, and begins a
/// pass: `std::unique_ptr<sc::data::stream<element_type>> begin_pass(std::uint64_t pass) const`. What is drawn at
/// random depends on the number of the pass alone, so that a training that is continued sees what it would have seen.
template <class Data>
concept Dataset = requires(Data const& data) {
  typename Data::element_type;
  { data.cardinality() } -> std::convertible_to<std::int64_t>;
  { data.begin_pass(std::uint64_t{}) } -> std::convertible_to<std::unique_ptr<stream<typename Data::element_type>>>;
};

/// Elements of one type, read again in each pass: in memory are those that a word such as `shuffle` or `prefetch`
/// keeps.
///
///     auto train = sc::data::from(images, labels).shuffle(10'000).map(scaled).prefetch();
///     model.fit(train, {.epochs = 3, .validation_data = test});
///
/// Words give a new dataset and leave this one as it is; copies are cheap. What `fit` and `evaluate` take has elements
/// (x, y) or (x, y, sample weight), as std::tuple or std::pair; each part is a number, a tensor, or a tuple of those
/// for models with several inputs or outputs; `predict` takes x as well. They make batches of the training's
/// batch_size; with `batch`, elements are batches already. Functions of `map` run on a thread of their own behind
/// `prefetch`, or where the training has an infeed queue.
template <class Element>
class dataset {
 public:
  using element_type = Element;
  using fit_options = data::fit_options;
  using evaluate_options = data::evaluate_options;
  using predict_options = data::predict_options;

  /// `begin(pass)` begins a pass.
  dataset(std::int64_t cardinality, std::function<std::unique_ptr<stream<Element>>(std::uint64_t)> begin)
      : cardinality_(cardinality), begin_(std::make_shared<decltype(begin)>(std::move(begin))) {}
  /// Of a dataset of one's own, of which it keeps a copy.
  template <Dataset Own>
    requires(!std::is_same_v<Own, dataset> && std::is_same_v<typename Own::element_type, Element>)
  dataset(Own own) : dataset(own.cardinality(), [own](std::uint64_t pass) { return own.begin_pass(pass); }) {}

  /// The number of elements, or infinite_cardinality or unknown_cardinality.
  [[nodiscard]] std::int64_t cardinality() const noexcept { return cardinality_; }
  /// The same elements, of which the number is said: tf.data.experimental.assert_cardinality. E4064 of `fit` and its
  /// like if they make fewer batches.
  [[nodiscard]] dataset assert_cardinality(std::int64_t count) const {
    auto same = *this;
    same.cardinality_ = count;
    return same;
  }
  [[nodiscard]] std::unique_ptr<stream<Element>> begin_pass(std::uint64_t pass) const { return (*begin_)(pass); }

  /// What a function makes of each element, called with its parts, as in `map([](auto const& image, int label) {...})`.
  /// Lazy expressions of xtensor that it returns are computed; they must not refer to variables of the function: take
  /// images by reference. A copy of the function begins each pass.
  template <class Function>
  [[nodiscard]] auto map(Function function) const {
    using mapped = detail::mapped_type<Function, Element>;
    return dataset<mapped>(cardinality_, [from = *this, function](std::uint64_t pass) {
      return std::unique_ptr<stream<mapped>>(
          std::make_unique<detail::mapped_stream<Element, Function>>(from.begin_pass(pass), function));
    });
  }
  /// Another order: each element is drawn from the next `buffer_size` that have not been drawn. E4011 below 1.
  [[nodiscard]] dataset shuffle(std::int64_t buffer_size, shuffle_options const& options = {}) const {
    check("shuffle: buffer_size", buffer_size, 1);
    auto const size = std::min<std::int64_t>(buffer_size, std::numeric_limits<std::uint32_t>::max());
    return derived(cardinality_, [from = *this, size, options](std::uint64_t pass) {
      return std::make_unique<detail::shuffled_stream<Element>>(from.begin_pass(pass), static_cast<std::size_t>(size),
                                                                options.seed,
                                                                options.reshuffle_each_iteration ? pass : 0);
    });
  }
  /// All elements, `count` times; without end if it is -1.
  [[nodiscard]] dataset repeat(std::int64_t count = -1) const {
    check("repeat: count", count, -1);
    auto const total = count < 0 && cardinality_ != 0 ? infinite_cardinality
                       : count == 0                   ? 0
                       : cardinality_ < 0             ? cardinality_
                                                      : detail::count_of_repetitions(cardinality_, count);
    return derived(total, [from = *this, count](std::uint64_t pass) {
      auto begin = [from, first = count < 0 ? pass : pass * static_cast<std::uint64_t>(count)](std::int64_t time) {
        return from.begin_pass(first + static_cast<std::uint64_t>(time));
      };
      return std::make_unique<detail::repeated_stream<Element, decltype(begin)>>(std::move(begin), count);
    });
  }
  /// The first `count` elements; all if it is -1.
  [[nodiscard]] dataset take(std::int64_t count) const {
    check("take: count", count, -1);
    return part(0, count, count < 0 ? cardinality_ : detail::smaller_count(cardinality_, count));
  }
  /// All but the first `count` elements; none if it is -1.
  [[nodiscard]] dataset skip(std::int64_t count) const {
    check("skip: count", count, -1);
    if (count < 0) return part(0, 0, 0);
    return part(count, -1, cardinality_ < 0 ? cardinality_ : std::max<std::int64_t>(0, cardinality_ - count));
  }
  /// Groups of `size` elements, which are batches for `fit` and its like; at most the training's batch_size (E4066).
  [[nodiscard]] dataset<batch_of<Element>> batch(std::int64_t size, bool drop_remainder = false) const {
    check("batch: batch_size", size, 1);
    auto const count = detail::count_of_groups(cardinality_, size, drop_remainder);
    return {count, [from = *this, size, drop_remainder](std::uint64_t pass) {
              return std::make_unique<detail::batched_stream<Element>>(from.begin_pass(pass),
                                                                       static_cast<std::size_t>(size), drop_remainder);
            }};
  }
  /// The same elements, which a thread of its own makes ready, so many ahead.
  [[nodiscard]] dataset prefetch(std::int64_t buffer_size = 3) const {
    check("prefetch: buffer_size", buffer_size, 1);
    auto depth = static_cast<int>(std::min<std::int64_t>(buffer_size, std::numeric_limits<int>::max()));
    if (cardinality_ >= 0 && cardinality_ < depth) depth = static_cast<int>(cardinality_) + 1;  // one for the end
    return derived(cardinality_, [from = *this, depth](std::uint64_t pass) {
      return std::make_unique<detail::prefetched_stream<Element>>(from.begin_pass(pass), depth);
    });
  }

  /// The elements of the first pass: `for (auto const& [image, label] : train.take(3))`.
  class iterator {
   public:
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    explicit iterator(std::unique_ptr<stream<Element>> from) : from_(std::move(from)) { ++*this; }
    Element& operator*() const { return **now_; }
    iterator& operator++() {
      auto next = from_->next();
      now_ = next ? std::make_unique<std::optional<Element>>(std::move(next)) : nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(iterator const& at, std::default_sentinel_t) { return at.now_ == nullptr; }

   private:
    std::unique_ptr<stream<Element>> from_;
    std::unique_ptr<std::optional<Element>> now_;
  };
  [[nodiscard]] iterator begin() const { return iterator(begin_pass(0)); }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

  /// The batches of a run; see streamed_batches. What the names of its parts begin with in errors: "validation_data.".
  [[nodiscard]] std::unique_ptr<streamed_batches> open(int batch_size, bool drop_remainder = false,
                                                       char const* prefix = "") const {
    return std::make_unique<detail::batches_of_stream<dataset>>(*this, batch_size, drop_remainder, prefix);
  }

 private:
  static void check(char const* what, std::int64_t found, std::int64_t least) {
    if (found < least)
      stagecraft::detail::throw_data_error("E4011", "%s: expected at least %lld, found %lld", what,
                                           static_cast<long long>(least), static_cast<long long>(found));
  }
  template <class Begin>
  [[nodiscard]] static dataset derived(std::int64_t cardinality, Begin begin) {
    return {cardinality, std::move(begin)};
  }
  [[nodiscard]] dataset part(std::int64_t skipped, std::int64_t taken, std::int64_t cardinality) const {
    return derived(cardinality, [from = *this, skipped, taken](std::uint64_t pass) {
      return std::make_unique<detail::part_of_stream<Element>>(from.begin_pass(pass), skipped, taken);
    });
  }

  std::int64_t cardinality_;
  std::shared_ptr<std::function<std::unique_ptr<stream<Element>>(std::uint64_t)> const> begin_;
};

template <Dataset Own>
dataset(Own) -> dataset<typename Own::element_type>;

}  // namespace stagecraft::data
