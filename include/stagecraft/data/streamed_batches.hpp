// SPDX-License-Identifier: BSD-3-Clause
// The batches of a run on a dataset: arrays for one batch, which are filled again and again.
#pragma once

#include <stagecraft/data/stream.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/training/data/batch_supply.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::data {

/// The state of a dataset while it is read, whatever its elements are. When a pass begins, the first sample decides the
/// shapes of the arrays, whose memory is then taken; a dataset may take more for each batch. Errors that end the run
/// when the batch comes: E4004, E4132 and E4133 labels, E4064 a dataset that ends too early, E4065 samples of several
/// shapes, E4066 batches larger than the program's.
class streamed_batches : public trainers::batch_supply {
 public:
  /// \param prefix precedes the names of arrays in errors
  streamed_batches(std::int64_t batches, int batch_size, std::string prefix)
      : prefix_(std::move(prefix)), batches_(batches), rows_(static_cast<std::size_t>(batch_size)) {
    std::iota(rows_.begin(), rows_.end(), 0);
  }

  /// Inputs, targets and sample weights, as arrays of a full batch, which `batch` fills; empty if elements have no such
  /// part.
  [[nodiscard]] sample_set x() const { return sets_[0]; }
  [[nodiscard]] sample_set y() const { return sets_[1]; }
  [[nodiscard]] trainers::sample_source sample_weight() const {
    return sets_[2].given() ? sets_[2][0] : trainers::sample_source();
  }

  /// The number of batches of a pass or, if that is unknown, `asked`. E4063 if neither is known.
  [[nodiscard]] int batches_of_pass(char const* option, int asked) const {
    if (batches_ >= 0) return static_cast<int>(std::min<std::int64_t>(batches_, std::numeric_limits<int>::max()));
    if (asked > 0) return asked;
    stagecraft::detail::throw_data_error(
        "E4063", "%sdataset: expected %s, since the dataset %s, found none", prefix_.c_str(), option,
        batches_ == infinite_cardinality ? "has no end" : "does not know how many elements it has");
  }
  /// Says how many batches an epoch takes.
  void expect_batches(int count) {
    expected_ = count;
    firsts_.assign(static_cast<std::size_t>(count) + 1, 0);
  }
  /// Demands full batches, which a stateful model needs: E4019 for others.
  void expect_full_batches() noexcept { is_full_ = true; }
  /// Demands class numbers as targets of an output: E4004, E4132 and E4133 for others.
  void expect_classes(std::size_t output, trainers::label_rule const& rule) {
    classes_.resize(std::max(classes_.size(), output + 1));
    classes_[output] = rule;
  }

  void begin_epoch(int epoch) final {
    continues_ = false;
    number_ = -1;
    auto const pass = static_cast<std::uint64_t>(epoch);
    if (!has_begun_ || pass_ != pass || taken_ > 0) begin(pass);
  }
  void continue_epoch(int epoch, int batches) final {
    continues_ = true;
    number_ = -1;
    if (has_begun_) return;
    std::int64_t left = std::int64_t{epoch} * batches;
    begin(batches_ > 0 ? static_cast<std::uint64_t>(left / batches_) : 0);
    if (batches_ > 0) left %= batches_;
    expected_ = batches;
    for (; left > 0; --left) static_cast<void>(next());
  }
  [[nodiscard]] tracing::array_view<std::int32_t const> batch(int number) final {
    if (number != number_) {
      count_ = next();
      number_ = number;
      if (is_full_) trainers::check_full_batches((prefix_ + "x").c_str(), count_, batch_size(), batch_size());
      auto const at = static_cast<std::size_t>(number);
      if (at + 1 < firsts_.size()) firsts_[at + 1] = firsts_[at] + count_;
      check_classes();
    }
    return {rows_.data(), static_cast<std::size_t>(count_)};
  }
  [[nodiscard]] std::ptrdiff_t first_sample(int number) const final {
    return firsts_[static_cast<std::size_t>(number)];
  }

 protected:
  /// The samples of one array.
  struct part {
    shape sample_shape;
    int size = 1;  // numbers of a sample
    std::vector<float> values;
  };

  [[nodiscard]] int batch_size() const noexcept { return static_cast<int>(rows_.size()); }
  /// Begins a pass. If there are no arrays yet, makes them in the shapes of its first sample.
  virtual void begin_pass(std::uint64_t pass) = 0;
  /// Writes the next batch and returns its number of samples; -1 at the end.
  [[nodiscard]] virtual int fill() = 0;

  /// Adds an array of inputs (0), targets (1) or sample weights (2).
  void add_part(int set, shape const& sample_shape) {
    auto& made = *parts_.emplace_back(std::make_unique<part>());
    made.sample_shape = sample_shape;
    made.size = sample_shape.size();
    made.values.assign(rows_.size() * static_cast<std::size_t>(made.size), 0.0F);
    std::vector<std::size_t> extents{rows_.size()};
    for (int axis = 0; axis < sample_shape.rank(); ++axis)
      extents.push_back(static_cast<std::size_t>(sample_shape[axis]));
    auto const* const numbers = made.values.data();
    sets_[static_cast<std::size_t>(set)].add(
        trainers::sample_source(xt::adapt(+numbers, made.values.size(), xt::no_ownership(), extents)));
  }
  [[nodiscard]] bool has_parts() const noexcept { return !parts_.empty(); }
  /// The memory for the sample of a row; E4065 if its shape is not that of the first sample.
  [[nodiscard]] float* place(std::size_t index, shape const& found, int row) {
    auto& own = *parts_[index];
    if (!(found == own.sample_shape)) refuse_shape(index, found, row);
    return own.values.data() + std::ptrdiff_t{row} * own.size;
  }
  [[noreturn, gnu::cold]] void refuse_batch(std::size_t samples) const {
    stagecraft::detail::throw_data_error("E4066",
                                         "%sdataset: expected batches of 1 to %d samples, the description's "
                                         "batch_size, found one of %zu",
                                         prefix_.c_str(), batch_size(), samples);
  }

 private:
  void begin(std::uint64_t pass) {
    begin_pass(pass);
    pass_ = pass;
    taken_ = 0;
    samples_ = 0;
    has_begun_ = true;
    if (!has_parts())
      stagecraft::detail::throw_data_error("E4003", "%sx: expected at least 1 sample, found 0", prefix_.c_str());
  }
  [[nodiscard]] int next() {
    // A pass ends after the number of batches that its dataset states.
    int count = batches_ >= 0 && taken_ >= batches_ ? -1 : fill();
    if (count < 0 && continues_ && taken_ >= expected_) {
      begin(pass_ + 1);
      count = fill();
    }
    if (count < 0)
      stagecraft::detail::throw_data_error("E4064", "%sdataset: expected %lld batches, found %lld", prefix_.c_str(),
                                           static_cast<long long>(expected_), static_cast<long long>(taken_));
    ++taken_;
    samples_ += count;
    return count;
  }
  void check_classes() const {
    for (std::size_t output = 0; output < classes_.size(); ++output)
      if (classes_[output].classes > 0)
        trainers::check_labels(name(1, output).c_str(), sets_[1][static_cast<int>(output)].slice(0, count_),
                               classes_[output], samples_ - count_);
  }
  [[nodiscard]] std::string name(std::size_t set, std::size_t index) const {
    constexpr std::array names{"x", "y", "sample_weight"};
    std::string text = prefix_ + names[set];
    return sets_[set].size() > 1 ? text + '[' + std::to_string(index) + ']' : text;
  }
  [[noreturn, gnu::cold]] void refuse_shape(std::size_t index, shape const& found, int row) const {
    std::size_t set = 0, within = index;
    while (within >= static_cast<std::size_t>(sets_[set].size()))
      within -= static_cast<std::size_t>(sets_[set++].size());
    stagecraft::detail::throw_data_error(
        "E4065", "%s: expected samples of shape %s, as the first one is, found %s at sample %td of the pass",
        name(set, within).c_str(), stagecraft::detail::shape_text(parts_[index]->sample_shape).c_str(),
        stagecraft::detail::shape_text(found).c_str(), samples_ + row);
  }

  std::string prefix_;
  std::int64_t batches_;
  std::vector<std::int32_t> rows_;
  std::vector<std::unique_ptr<part>> parts_;  // arrays of inputs, targets and weights
  std::array<sample_set, 3> sets_;
  std::vector<trainers::label_rule> classes_;
  std::vector<std::ptrdiff_t> firsts_;
  std::uint64_t pass_ = 0;
  std::int64_t expected_ = 0, taken_ = 0;  // batches of an epoch, and batches that the pass has returned
  std::ptrdiff_t samples_ = 0;             // samples that the pass has returned
  int number_ = -1, count_ = 0;
  bool has_begun_ = false, continues_ = false, is_full_ = false;
};

}  // namespace stagecraft::data
