// SPDX-License-Identifier: BSD-3-Clause
// A dataset: elements that come one after the other, and the words that change them on the way. Keras counterpart:
// tf.data.Dataset.
#pragma once

#include <stagecraft/data/detail/batches_of_stream.hpp>
#include <stagecraft/data/detail/choosing_streams.hpp>
#include <stagecraft/data/detail/nested_streams.hpp>
#include <stagecraft/data/detail/parallel_map.hpp>
#include <stagecraft/data/detail/streams.hpp>
#include <stagecraft/data/detail/visit_inputs.hpp>
#include <stagecraft/data/run_options.hpp>
#include <stagecraft/data/stream.hpp>
#include <stagecraft/data/streamed_batches.hpp>
#include <stagecraft/data/word_options.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/threads/progress.hpp>
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

/// A dataset type of the user's own. It has an `element_type`, a `cardinality()`, which is a number of elements or one
/// of the constants in stream.hpp, and begins a pass with `std::unique_ptr<sc::data::stream<element_type>>
/// begin_pass(std::uint64_t pass) const`. Random choices depend on the number of the pass alone, so that a continued
/// training sees the elements that it would have seen.
template <class Data>
concept Dataset = requires(Data const& data) {
  typename Data::element_type;
  { data.cardinality() } -> std::convertible_to<std::int64_t>;
  { data.begin_pass(std::uint64_t{}) } -> std::convertible_to<std::unique_ptr<stream<typename Data::element_type>>>;
};

/// Elements of one type, which each pass reads again. Only elements that a word such as `shuffle` or `prefetch` keeps
/// are in memory.
///
///     auto train = sc::data::from(images, labels).shuffle(10'000).map(scaled).prefetch();
///     model.fit(train, {.epochs = 3, .validation_data = test});
///
/// Words return a new dataset and leave this one as it is; copies are cheap. `fit` and `evaluate` take elements (x, y)
/// or (x, y, sample weight), as std::tuple or std::pair; each part is a number, a tensor, or a tuple of those for
/// models with several inputs or outputs; `predict` takes x alone as well. They make batches of the training's
/// batch_size, unless `batch` has made batches already. If `prefetch` follows `map`, or the training has an infeed
/// queue, the function of `map` runs on a thread of its own.
template <class Element>
class dataset {
 public:
  using element_type = Element;
  using fit_options = data::fit_options;
  using evaluate_options = data::evaluate_options;
  using predict_options = data::predict_options;
  using adapt_options = data::adapt_options;

  /// `begin(pass)` begins a pass.
  dataset(std::int64_t cardinality, std::function<std::unique_ptr<stream<Element>>(std::uint64_t)> begin)
      : cardinality_(cardinality), begin_(std::make_shared<decltype(begin)>(std::move(begin))) {}
  /// A dataset made from a type of the user's own, of which it keeps a copy.
  template <Dataset Own>
    requires(!std::is_same_v<Own, dataset> && std::is_same_v<typename Own::element_type, Element>)
  dataset(Own own) : dataset(own.cardinality(), [own](std::uint64_t pass) { return own.begin_pass(pass); }) {}

  /// The number of elements, or infinite_cardinality or unknown_cardinality.
  [[nodiscard]] std::int64_t cardinality() const noexcept { return cardinality_; }
  /// This dataset with a known number of elements: tf.data.experimental.assert_cardinality. `fit`, `evaluate` and
  /// `predict` report E4064 if there are fewer.
  [[nodiscard]] dataset assert_cardinality(std::int64_t count) const {
    auto same = *this;
    same.cardinality_ = count;
    return same;
  }
  [[nodiscard]] std::unique_ptr<stream<Element>> begin_pass(std::uint64_t pass) const { return (*begin_)(pass); }

  /// Applies a function to each element. The function is called with the parts of the element, as in `map([](auto
  /// const& image, int label) {...})`, or, after `batch`, with the arrays of the batch; arrays that it returns then are
  /// a batch again (array_batch). Lazy expressions of xtensor that it returns are computed; they must not refer to
  /// variables of the function: take images by reference. Each pass begins with a copy of the function in each of
  /// `num_parallel_calls` threads; an exception of the function is thrown where its element would come. Errors: E4119 a
  /// function that does not take the elements; E4118 a batch whose samples have several shapes; E4011; E4126 several
  /// threads for a function that changes itself, as a mutable lambda does.
  template <class Function>
  [[nodiscard]] auto map(Function function, map_options const& options = {}) const {
    using mapped = detail::mapped_type<Function, Element>;
    auto const calls = detail::changes_itself<Function, Element>
                           ? detail::one_thread_for_own_state(options.num_parallel_calls)
                           : threads_of("map: num_parallel_calls", options.num_parallel_calls);
    return dataset<mapped>(cardinality_, [from = *this, function, calls](std::uint64_t pass) {
      using detail::mapped_stream, detail::parallel_mapped_stream;
      auto input = from.begin_pass(pass);
      if (calls == 1)
        return std::unique_ptr<stream<mapped>>(
            std::make_unique<mapped_stream<Element, Function>>(std::move(input), function));
      return std::unique_ptr<stream<mapped>>(std::make_unique<parallel_mapped_stream<Element, Function>>(
          std::move(input), function, static_cast<std::size_t>(calls)));
    });
  }
  /// The elements for which a function, called as `map` calls it, returns true. Their number is unknown, so that `fit`
  /// needs `assert_cardinality` or `steps_per_epoch`. Errors: E4119, E4120 a function that returns no bool.
  template <class Function>
  [[nodiscard]] dataset filter(Function function) const {
    return chosen(std::move(function), false);
  }
  /// The elements before the first one for which a function returns false. Number and errors are as for `filter`.
  template <class Function>
  [[nodiscard]] dataset take_while(Function function) const {
    return chosen(std::move(function), true);
  }
  /// Every `num_shards`-th element, from the one numbered `index` on. E4011 below 1, E4125 another index than 0 to
  /// num_shards - 1.
  [[nodiscard]] dataset shard(std::int64_t num_shards, std::int64_t index) const {
    check_least("shard: num_shards", num_shards, 1);
    if (index < 0 || index >= num_shards)
      stagecraft::detail::throw_data_error("E4125", "shard: index: expected a number from 0 to %lld, found %lld",
                                           static_cast<long long>(num_shards - 1), static_cast<long long>(index));
    auto const count =
        cardinality_ < 0 ? cardinality_ : cardinality_ / num_shards + (index < cardinality_ % num_shards);
    return derived(count, [from = *this, num_shards, index](std::uint64_t pass) {
      return std::make_unique<detail::shard_of_stream<Element>>(from.begin_pass(pass), num_shards, index);
    });
  }
  /// Keeps a copy of each element in memory during the first complete pass, from which later passes read. All passes
  /// see pass 0 of the words before `cache`, so `shuffle` and random functions belong after it. E4122 a dataset without
  /// an end.
  [[nodiscard]] dataset cache() const {
    if (cardinality_ == infinite_cardinality)
      stagecraft::detail::throw_data_error(
          "E4122", "cache: expected a dataset with an end, found one without; repeat() comes after cache()");
    return derived(cardinality_,
                   [from = *this, memory = std::make_shared<detail::cache_memory<Element>>()](
                       std::uint64_t) -> std::unique_ptr<stream<Element>> {
                     if (auto kept = memory->read()) {
                       auto const count = kept->size();
                       return std::make_unique<detail::kept_stream<Element>>(std::move(kept), 0, count);
                     }
                     return std::make_unique<detail::caching_stream<Element>>(from.begin_pass(0), memory);
                   });
  }
  /// Tuples of a number, from `start` on, and an element.
  [[nodiscard]] dataset<std::tuple<std::int64_t, Element>> enumerate(std::int64_t start = 0) const {
    return {cardinality_, [from = *this, start](std::uint64_t pass) {
              return std::make_unique<detail::numbered_stream<Element>>(from.begin_pass(pass), start);
            }};
  }
  /// These elements, then those of another dataset.
  [[nodiscard]] dataset concatenate(dataset const& other) const {
    return derived(detail::count_of_both(cardinality_, other.cardinality_), [from = *this, other](std::uint64_t pass) {
      auto begin = [other, pass] { return other.begin_pass(pass); };
      return std::make_unique<detail::joined_stream<Element, decltype(begin)>>(from.begin_pass(pass), std::move(begin));
    });
  }
  /// Elements of the datasets that a function makes of elements: `block_length` elements of one dataset, then of the
  /// next of the `cycle_length` datasets that are open at a time; a dataset at its end is replaced by the next one. The
  /// number of elements is unknown. Errors: E4119, E4120 a function that returns no dataset; E4011 options, and no
  /// cycle_length.
  template <class Function>
  [[nodiscard]] auto interleave(Function function, interleave_options options) const {
    static_assert(stagecraft::detail::report<detail::nested_problem<Function, Element>>());
    using result = typename detail::interleaved<Function, Element>::type;
    check_least("interleave: cycle_length", options.cycle_length, 1);
    check_least("interleave: block_length", options.block_length, 1);
    options.num_parallel_calls = threads_of("interleave: num_parallel_calls", options.num_parallel_calls);
    return dataset<result>(unknown_cardinality, [from = *this, function, options](std::uint64_t pass) {
      if constexpr (detail::nested_problem<Function, Element>.failed())
        return from.begin_pass(pass);
      else
        return std::make_unique<detail::interleaved_stream<Element, Function>>(from.begin_pass(pass), function, options,
                                                                               pass);
    });
  }
  /// All elements of the dataset that a function makes of the first element, then those of the second, and so on.
  template <class Function>
  [[nodiscard]] auto flat_map(Function function) const {
    return interleave(std::move(function), {.cycle_length = 1});
  }
  /// Datasets of `size` elements that follow each other, of which `flat_map` makes elements again:
  /// `.window(5, {.shift = 1, .drop_remainder = true}).flat_map([](auto const& window) { return window.batch(5); })`.
  /// Windows share their elements. E4011 below 1.
  [[nodiscard]] dataset<dataset> window(std::int64_t size, window_options options = {}) const {
    check_least("window: size", size, 1);
    if (options.shift == 0) options.shift = size;
    check_least("window: shift", options.shift, 1);
    check_least("window: stride", options.stride, 1);
    return {detail::count_of_windows(cardinality_, size, options.shift, options.stride, options.drop_remainder),
            [from = *this, size, options](std::uint64_t pass) {
              return std::make_unique<detail::windowed_stream<Element>>(from.begin_pass(pass),
                                                                        static_cast<std::size_t>(size), options);
            }};
  }
  /// Another order: each element is drawn from the next `buffer_size` that have not been drawn. E4011 below 1.
  [[nodiscard]] dataset shuffle(std::int64_t buffer_size, shuffle_options const& options = {}) const {
    check_least("shuffle: buffer_size", buffer_size, 1);
    auto const size = std::min<std::int64_t>(buffer_size, std::numeric_limits<std::uint32_t>::max());
    return derived(cardinality_, [from = *this, size, options](std::uint64_t pass) {
      return std::make_unique<detail::shuffled_stream<Element>>(from.begin_pass(pass), static_cast<std::size_t>(size),
                                                                options.seed,
                                                                options.reshuffle_each_iteration ? pass : 0);
    });
  }
  /// All elements, `count` times; -1: without end.
  [[nodiscard]] dataset repeat(std::int64_t count = -1) const {
    check_least("repeat: count", count, -1);
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
  /// The first `count` elements; -1: all.
  [[nodiscard]] dataset take(std::int64_t count) const {
    check_least("take: count", count, -1);
    return part(0, count, count < 0 ? cardinality_ : detail::smaller_count(cardinality_, count));
  }
  /// All but the first `count` elements; -1: none.
  [[nodiscard]] dataset skip(std::int64_t count) const {
    check_least("skip: count", count, -1);
    if (count < 0) return part(0, 0, 0);
    return part(count, -1, cardinality_ < 0 ? cardinality_ : std::max<std::int64_t>(0, cardinality_ - count));
  }
  /// Groups of `size` elements, which `fit`, `evaluate` and `predict` take as batches; at most the training's
  /// batch_size (E4066).
  [[nodiscard]] dataset<batch_of<Element>> batch(std::int64_t size, bool drop_remainder = false) const {
    check_least("batch: batch_size", size, 1);
    auto const count = detail::count_of_groups(cardinality_, size, drop_remainder);
    return {count, [from = *this, size, drop_remainder](std::uint64_t pass) {
              return std::make_unique<detail::batched_stream<Element>>(from.begin_pass(pass),
                                                                       static_cast<std::size_t>(size), drop_remainder);
            }};
  }
  /// Batches of samples of several shapes, such as sentences: arrays, in which samples are padded to the longest one
  /// of their batch or to `padded_shapes`. Errors: E4011; E4118 samples of several ranks, E4121 options that do not
  /// fit.
  [[nodiscard]] auto padded_batch(std::int64_t size, padded_batch_options const& options = {}) const {
    auto const samples = batch(size, options.drop_remainder);
    return dataset<array_batch<detail::stacked_type<Element>>>(
        samples.cardinality(), [samples, options](std::uint64_t pass) {
          return std::make_unique<detail::padded_stream<Element>>(samples.begin_pass(pass), options);
        });
  }
  /// The samples of batches, or the rows of any arrays, one by one. Their number is unknown. E4117 arrays of unequal
  /// length.
  [[nodiscard]] auto unbatch() const {
    return dataset<typename detail::unbatched<Element>::type>(
        cardinality_ < 0 ? cardinality_ : unknown_cardinality, [from = *this](std::uint64_t pass) {
          return std::make_unique<detail::unbatched_stream<Element>>(from.begin_pass(pass));
        });
  }
  /// This dataset, with a thread of its own that prepares up to `buffer_size` elements ahead; `autotune`: 3.
  [[nodiscard]] dataset prefetch(std::int64_t buffer_size = 3) const {
    if (buffer_size == autotune) buffer_size = 3;
    check_least("prefetch: buffer_size", buffer_size, 1);
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

  /// All samples of the first pass as arrays, whose first axis counts them: one array, or a tuple as the elements are.
  /// The samples of batches are counted one by one. Errors: E4003 no samples, E4117 and E4118 batches or samples that
  /// do not fit together, E4122 a dataset without an end.
  [[nodiscard]] auto to_arrays() const {
    if (cardinality_ == infinite_cardinality)
      stagecraft::detail::throw_data_error(
          "E4122", "to_arrays: expected a dataset with an end, found one without; take(n) ends it");
    if constexpr (detail::sample_of_element<Element>::is_batch) {
      return unbatch().to_arrays();
    } else {
      batch_of<Element> all;
      all.reserve(static_cast<std::size_t>(std::clamp<std::int64_t>(cardinality_, 0, 1 << 20)));
      auto const from = begin_pass(0);
      while (auto element = from->next()) all.push_back(std::move(*element));
      if (all.empty()) stagecraft::detail::throw_data_error("E4003", "to_arrays: expected at least 1 sample, found 0");
      return std::move(detail::stack(all).arrays());
    }
  }

  /// Calls `visit(shape, numbers, count)` with x of each batch, or of 32 samples at a time; of `steps` such groups, or
  /// of the first pass if `steps` is 0. Errors: E4010 several arrays as x, E4063 a dataset without an end.
  template <class Visit>
  void visit_inputs(std::int64_t steps, Visit const& visit) const {
    detail::visit_inputs(*this, steps, visit);
  }

  /// The batches of a run; see streamed_batches. `prefix` precedes the names of arrays in errors: "validation_data.".
  [[nodiscard]] std::unique_ptr<streamed_batches> open(int batch_size, bool drop_remainder = false,
                                                       char const* prefix = "") const {
    return std::make_unique<detail::batches_of_stream<dataset>>(*this, batch_size, drop_remainder, prefix);
  }

 private:
  static void check_least(char const* what, std::int64_t found, std::int64_t least) {
    if (found < least)
      stagecraft::detail::throw_data_error("E4011", "%s: expected at least %lld, found %lld", what,
                                           static_cast<long long>(least), static_cast<long long>(found));
  }
  [[nodiscard]] int threads_of(char const* what, int asked) const {
    if (asked == autotune) asked = std::max(1, stagecraft::detail::processors_of_process());
    check_least(what, asked, 1);
    return cardinality_ < 0 ? asked : static_cast<int>(std::clamp<std::int64_t>(cardinality_, 1, asked));
  }
  template <class Function>
  [[nodiscard]] dataset chosen(Function function, bool stops) const {
    static_assert(stagecraft::detail::report<detail::condition_problem<Function, Element>>());
    if constexpr (detail::condition_problem<Function, Element>.failed())
      return *this;
    else
      return derived(unknown_cardinality, [from = *this, function, stops](std::uint64_t pass) {
        return std::make_unique<detail::filtered_stream<Element, Function>>(from.begin_pass(pass), function, stops);
      });
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
