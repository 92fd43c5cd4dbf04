// SPDX-License-Identifier: BSD-3-Clause
// One array of samples of any of the users' types, which the training loop reads row by row, as float. Keras
// counterpart: data_adapter's TensorLikeDataAdapter.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/training/data/xtensor.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// Any xtensor container, adaptor, view or lazy expression of numbers; its first axis counts samples.
template <class Data>
concept TensorData = requires(Data const& data) {
  typename Data::value_type;
  requires std::is_arithmetic_v<typename Data::value_type>;
  data.dimension();
  data.shape()[0];
};

/// A std::vector, std::array or std::span of numbers, one number per sample.
template <class Data>
concept SequenceData = !TensorData<Data> && requires(Data const& data) {
  data.size();
  requires std::is_arithmetic_v<std::remove_cvref_t<decltype(*data.data())>>;
  requires !std::is_same_v<std::remove_cvref_t<decltype(*data.data())>, char>;
};

template <class Data>
concept SampleData = TensorData<std::remove_cvref_t<Data>> || SequenceData<std::remove_cvref_t<Data>>;

/// The index of the first finite number that is beyond float32, which a conversion would make an infinity; -1 if there
/// is none.
template <class Number>
[[nodiscard]] std::ptrdiff_t first_beyond_float(Number const* numbers, std::ptrdiff_t count) noexcept {
  if constexpr (std::is_floating_point_v<Number> && sizeof(Number) > sizeof(float)) {
    auto const is_beyond = [](Number number) {
      Number const size = number < 0 ? -number : number;
      return (static_cast<int>(size >= static_cast<Number>(tracing::end_of_numbers(dtype::float32))) &
              static_cast<int>(size <= std::numeric_limits<Number>::max())) != 0;
    };
    constexpr std::ptrdiff_t block = 1024;  // numbers without branches between them, which compilers vectorize
    for (std::ptrdiff_t first = 0; first < count; first += block) {
      std::ptrdiff_t const end = count - first < block ? count : first + block;
      bool found = false;
      for (std::ptrdiff_t i = first; i < end; ++i) found |= is_beyond(numbers[i]);
      if (found)
        while (!is_beyond(numbers[first])) ++first;
      if (found) return first;
    }
  }
  return -1;
}

/// Functions that read numbers of one type. There is one table per type, so that reading a sample costs one indirect
/// call.
struct number_reader {
  void (*to_float)(void const* from, std::ptrdiff_t first, std::ptrdiff_t count, float* to);
  double (*at)(void const* from, std::ptrdiff_t index);
  std::ptrdiff_t (*first_beyond_float)(void const* from, std::ptrdiff_t first, std::ptrdiff_t count);
  int bytes;  // size of one number
};

template <class Number>
inline constexpr number_reader reader_of{
    [](void const* from, std::ptrdiff_t first, std::ptrdiff_t count, float* to) {
      Number const* const numbers = static_cast<Number const*>(from) + first;
      if constexpr (std::is_same_v<Number, float>) {
        std::memcpy(to, numbers, static_cast<std::size_t>(count) * sizeof(float));
      } else {
        for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = static_cast<float>(numbers[i]);
      }
    },
    [](void const* from, std::ptrdiff_t index) { return static_cast<double>(static_cast<Number const*>(from)[index]); },
    [](void const* from, std::ptrdiff_t first, std::ptrdiff_t count) {
      return first_beyond_float(static_cast<Number const*>(from) + first, count);
    },
    sizeof(Number)};

/// A container, adaptor or view that is contiguous in row-major order by its type.
template <class Tensor>
concept RowMajorTensor = requires(Tensor const& data) {
  data.data() + data.data_offset();
  requires Tensor::static_layout == xt::layout_type::row_major;
};

/// Address of the first number if all numbers lie one after the other in row-major order, otherwise null.
template <class Tensor>
auto row_major_numbers(Tensor const& data) -> typename Tensor::value_type const* {
  if constexpr (requires {
                  data.data() + data.data_offset();
                  data.strides()[0];
                }) {
    std::ptrdiff_t expected = 1;
    for (std::size_t axis = data.dimension(); axis-- > 0;) {
      auto const extent = static_cast<std::ptrdiff_t>(data.shape()[axis]);
      if (extent != 1 && static_cast<std::ptrdiff_t>(data.strides()[axis]) != expected) return nullptr;
      expected *= extent;
    }
    return data.data() + data.data_offset();
  } else {
    return nullptr;
  }
}

/// The samples that this process has of an array that the first of several processes has (mpi/scattered_samples.hpp).
struct scattered_part {
  bool is_whole = false;            ///< this is the first process, which has all
  std::vector<std::int32_t> place;  ///< where each sample lies in `numbers`; -1: it is not here
  std::vector<std::byte> numbers;   ///< the samples that are here, one after the other, as the first process has them
  std::vector<std::vector<std::int32_t>> rows;  ///< the samples that processes have: of all others, or of this one

  /// Throws data_error E2130 for a sample that is not here.
  [[nodiscard]] std::ptrdiff_t place_of(std::ptrdiff_t row) const {
    auto const found = place[static_cast<std::size_t>(row)];
    if (found < 0)
      throw_data_error("E2130",
                       "scattered samples: expected one that this process trains with, found number %td, which it "
                       "does not have",
                       row);
    return found;
  }
  /// Makes room for these samples, in this order.
  void make_room(std::vector<std::int32_t> const& of, std::size_t bytes_of_sample) {
    rows.assign(1, of);
    for (auto& each : place) each = -1;
    for (std::size_t i = 0; i < of.size(); ++i) place[static_cast<std::size_t>(of[i])] = static_cast<std::int32_t>(i);
    numbers.resize(of.size() * bytes_of_sample);
  }
};

/// Refers to an array of samples, without its type. An lvalue that is contiguous in row-major order (any xtensor
/// container, most views of its first axis, std::vector, std::span) is used in place and must outlive this object; an
/// rvalue is moved in and kept; a lazy expression or an array in another order is evaluated once, here. Copies share
/// what is kept. Reading never allocates; numbers that are not float are converted while they are read.
class sample_source {
 public:
  /// No data.
  sample_source() = default;
  // These are not inlined: compilers would put them into all functions that take data.
  [[gnu::noinline]] sample_source(sample_source const& other) = default;
  [[gnu::noinline]] sample_source(sample_source&& other) noexcept = default;
  [[gnu::noinline]] sample_source& operator=(sample_source const& other) = default;
  [[gnu::noinline]] sample_source& operator=(sample_source&& other) noexcept = default;
  [[gnu::noinline]] ~sample_source() = default;

  /// Throws data_error E4016 for a single number, or for samples of more than six dimensions.
  template <class Data>
    requires(SampleData<Data> && !std::is_same_v<std::remove_cvref_t<Data>, sample_source>)
  sample_source(Data&& data) {
    using type = std::remove_cvref_t<Data>;
    if constexpr (std::is_lvalue_reference_v<Data>) {
      read(data);
    } else {
      auto kept = std::make_shared<type>(std::forward<Data>(data));
      read(*kept);
      if (!kept_) kept_ = std::move(kept);
    }
  }

  /// An array that another process has, of `count` samples of this shape and type.
  template <class Number>
  [[nodiscard]] static sample_source elsewhere(std::ptrdiff_t count, shape const& of_sample) {
    sample_source result;
    result.use(static_cast<Number const*>(nullptr));
    result.count_ = count;
    result.sample_shape_ = of_sample;
    result.sample_size_ = of_sample.size();
    result.make_part(false);
    return result;
  }
  /// This array, of whose samples other processes get some.
  [[nodiscard]] sample_source as_whole_of_parts() const {
    sample_source result = *this;
    result.make_part(true);
    return result;
  }
  /// What is here of an array that the first of several processes has; null for others.
  [[nodiscard]] scattered_part* part() const noexcept { return part_.get(); }
  /// False if another process has the array, and checks its numbers.
  [[nodiscard]] bool is_here() const noexcept { return part_ == nullptr || part_->is_whole; }
  /// Bytes of one sample in the array.
  [[nodiscard]] std::size_t bytes_of_sample() const noexcept {
    return static_cast<std::size_t>(sample_size_) * static_cast<std::size_t>(reader_->bytes);
  }
  /// The address of a sample of an array that is here.
  [[nodiscard]] void const* address_of(std::ptrdiff_t row) const {
    return static_cast<char const*>(numbers_) + offset(row) * reader_->bytes;
  }

  /// True if there is an array, even one without samples.
  [[nodiscard]] bool given() const noexcept { return reader_ != nullptr; }
  /// Number of samples.
  [[nodiscard]] std::ptrdiff_t count() const noexcept { return count_; }
  /// Shape of one sample; rank 0 if samples are single numbers.
  [[nodiscard]] shape const& sample_shape() const noexcept { return sample_shape_; }
  /// Numbers in one sample.
  [[nodiscard]] int sample_size() const noexcept { return sample_size_; }

  /// Writes the samples with these numbers to `destination`, one after the other.
  [[gnu::noinline]] void gather(tracing::array_view<std::int32_t const> rows, float* destination) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i + 1 < rows.size()) prefetch(rows[i + 1]);
      reader_->to_float(numbers(), offset(rows[i]), sample_size_, destination);
      destination += sample_size_;
    }
  }
  /// Writes `count` samples, from sample `first` on, to `destination`.
  void gather(std::ptrdiff_t first, std::ptrdiff_t count, float* destination) const {
    if (is_here()) return reader_->to_float(numbers_, offset(first), count * sample_size_, destination);
    for (std::ptrdiff_t row = first; row < first + count; ++row, destination += sample_size_)
      reader_->to_float(numbers(), offset(row), sample_size_, destination);
  }
  /// The address of the samples with these numbers if they lie one after the other as floats, otherwise null.
  [[nodiscard]] float const* in_place(tracing::array_view<std::int32_t const> rows) const {
    if (reader_ != &reader_of<float> || rows.empty() || !is_here()) return nullptr;
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (rows[i] != rows[i - 1] + 1) return nullptr;
    return static_cast<float const*>(numbers_) + offset(rows[0]);
  }
  /// Writes the samples with these numbers as whole numbers; for class numbers.
  [[gnu::noinline]] void gather(tracing::array_view<std::int32_t const> rows, std::int32_t* destination) const {
    for (std::int32_t const row : rows)
      for (int i = 0; i < sample_size_; ++i) *destination++ = static_cast<std::int32_t>(at(row, i));
  }
  void gather(std::ptrdiff_t first, std::ptrdiff_t count, std::int32_t* destination) const {
    for (std::ptrdiff_t row = first; row < first + count; ++row)
      for (int i = 0; i < sample_size_; ++i) *destination++ = static_cast<std::int32_t>(at(row, i));
  }

  /// Writes the samples with these numbers as int32, whose bits lie where floats would.
  [[gnu::noinline]] void gather_whole(tracing::array_view<std::int32_t const> rows, float* destination) const {
    for (std::int32_t const row : rows)
      for (int i = 0; i < sample_size_; ++i)
        *destination++ = std::bit_cast<float>(static_cast<std::int32_t>(at(row, i)));
  }

  /// One number of one sample.
  [[nodiscard]] double at(std::ptrdiff_t row, int index = 0) const {
    return reader_->at(numbers(), offset(row) + index);
  }

  /// The index, over all samples one after the other, of the first finite number beyond float32; -1: there is none.
  [[nodiscard]] std::ptrdiff_t first_beyond_float() const {
    return given() && is_here() ? reader_->first_beyond_float(numbers_, offset(0), count_ * sample_size_) : -1;
  }

  /// `count` samples from sample `first` on, in place.
  [[nodiscard]] sample_source slice(std::ptrdiff_t first, std::ptrdiff_t count) const {
    sample_source part = *this;
    part.first_ += first;
    part.count_ = count;
    if (part_ != nullptr) part.make_part(part_->is_whole);  // processes get other samples of it
    return part;
  }

 private:
  [[nodiscard]] std::ptrdiff_t offset(std::ptrdiff_t row) const {
    return (is_here() ? first_ + row : part_->place_of(row)) * sample_size_;
  }
  [[nodiscard]] void const* numbers() const noexcept { return is_here() ? numbers_ : part_->numbers.data(); }
  [[gnu::cold, gnu::noinline]] void make_part(bool is_whole) {
    part_ = std::make_shared<scattered_part>();
    part_->is_whole = is_whole;
    if (!is_whole) part_->place.assign(static_cast<std::size_t>(count_), -1);
  }

  /// Prefetches a sample. Samples in random order are in no cache: to fetch the next one while this one is copied took
  /// a third off the time of a batch of 32 MNIST images.
  void prefetch(std::int32_t row) const {
    char const* const sample = static_cast<char const*>(numbers()) + offset(row) * reader_->bytes;
    std::ptrdiff_t const bytes = static_cast<std::ptrdiff_t>(sample_size_) * reader_->bytes;
    for (std::ptrdiff_t line = 0; line < bytes; line += 64) __builtin_prefetch(sample + line);
  }

  template <SequenceData Data>
  void read(Data const& data) {
    use(data.data());
    count_ = static_cast<std::ptrdiff_t>(data.size());
  }

  template <TensorData Data>
  void read(Data const& data) {
    set_shape(data.dimension(), [&](std::size_t axis) { return static_cast<std::ptrdiff_t>(data.shape()[axis]); });
    if constexpr (RowMajorTensor<Data>) {
      use(data.data() + data.data_offset());
    } else {
      using number = typename Data::value_type;
      if (number const* const numbers = row_major_numbers(data)) {
        use(numbers);
      } else {
        auto evaluated = std::make_shared<xt::xarray<number, xt::layout_type::row_major>>(data);
        use(evaluated->data());
        kept_ = std::move(evaluated);
      }
    }
  }

  template <class Number>
  void use(Number const* numbers) noexcept {
    numbers_ = numbers;
    reader_ = &reader_of<std::remove_cv_t<Number>>;
  }

  template <class Extent>
  void set_shape(std::size_t rank, Extent extent) {
    if (rank == 0 || rank > shape::max_rank + 1) {
      throw_data_error("E4016",
                       "data: expected an array of samples with at most 6 dimensions each, found an "
                       "array of %zu dimensions",
                       rank);
    }
    count_ = extent(0);
    for (std::size_t axis = 1; axis < rank; ++axis) sample_shape_.push_back(static_cast<int>(extent(axis)));
    sample_size_ = sample_shape_.size();
  }

  void const* numbers_ = nullptr;
  number_reader const* reader_ = nullptr;
  std::ptrdiff_t first_ = 0;
  std::ptrdiff_t count_ = 0;
  int sample_size_ = 1;
  shape sample_shape_;
  std::shared_ptr<void const> kept_;
  std::shared_ptr<scattered_part> part_;
};

}  // namespace stagecraft::trainers
