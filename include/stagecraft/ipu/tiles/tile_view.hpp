// SPDX-License-Identifier: BSD-3-Clause
// The memory of one emulated tile, and pieces of it as vertices and exchanges see them.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/tiles/half_rounding.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace stagecraft::tiles {

/// The vertex that runs on a thread.
struct vertex_scope {
  char const* vertex = nullptr;  ///< null: none
  int tile = 0;
};

/// While it lives, vertices of this thread may touch the memory of one tile only.
class tile_access {
 public:
  tile_access(char const* vertex, int tile) noexcept : before_(current_) { current_ = {vertex, tile}; }
  tile_access(tile_access const&) = delete;
  tile_access& operator=(tile_access const&) = delete;
  ~tile_access() { current_ = before_; }

  [[nodiscard]] static vertex_scope const& current() noexcept { return current_; }

 private:
  static inline thread_local vertex_scope current_;
  vertex_scope before_;
};

/// Elements of one type that lie one after the other in the memory of a tile. Values are floats, whatever they are
/// stored as; a float16 is rounded when it is written (half_rounding).
class tile_view {
 public:
  tile_view() = default;
  tile_view(std::byte* data, std::int64_t elements, dtype type, int tile)
      : data_(data), elements_(elements), type_(type), tile_(tile) {}

  [[nodiscard]] std::int64_t size() const noexcept { return elements_; }
  [[nodiscard]] dtype type() const noexcept { return type_; }
  [[nodiscard]] int tile() const noexcept { return tile_; }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

  /// Errors: E4101 in a vertex of another tile, E4102 for an element that is not there.
  [[nodiscard]] float operator[](std::int64_t index) const {
    check(index);
    switch (type_) {
      case dtype::float16: return half_number::value(load<std::uint16_t>(index));
      case dtype::uint8: return static_cast<float>(load<std::uint8_t>(index));
      default: return load<float>(index);
    }
  }
  void set(std::int64_t index, float value) const {
    check(index);
    switch (type_) {
      case dtype::float16: store(index, half_rounding::half_of(value)); break;
      case dtype::uint8: store(index, static_cast<std::uint8_t>(value)); break;
      default: store(index, value);
    }
  }

  /// An exchange's copy, from any tile; what the types have in common is kept, as a cast does.
  void copy_element(std::int64_t index, tile_view const& from, std::int64_t at) const { set(index, from[at]); }

 private:
  void check(std::int64_t index) const {
    auto const& now = tile_access::current();
    if ((now.vertex != nullptr && now.tile != tile_) || index < 0 || index >= elements_) fail(index);
  }
  // Not in line: its texts would be part of each access's frame, which sanitizers make anew each time.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(std::int64_t index) const {
    auto const& now = tile_access::current();
    if (now.vertex != nullptr && now.tile != tile_)
      throw tile_access_error("E4101", "vertex '" + std::string(now.vertex) + "' on tile " + std::to_string(now.tile) +
                                           " touches the memory of tile " + std::to_string(tile_) +
                                           "; an exchange must bring it there first");
    throw tile_access_error("E4102", "vertex '" + std::string(now.vertex == nullptr ? "exchange" : now.vertex) +
                                         "' on tile " + std::to_string(tile_) + " touches element " +
                                         std::to_string(index) + " of " + std::to_string(elements_));
  }
  template <class T>
  [[nodiscard]] T load(std::int64_t index) const {
    T value;
    std::memcpy(&value, data_ + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  }
  template <class T>
  void store(std::int64_t index, T value) const {
    std::memcpy(data_ + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
  }

  std::byte* data_ = nullptr;
  std::int64_t elements_ = 0;
  dtype type_ = dtype::float32;
  int tile_ = 0;
};

/// An arena: tensors of a step lie at the places that the plan says, copies of a task after them, one after the
/// other, until the task ends. Remembers how far it was used.
class tile_memory {
 public:
  tile_memory(int tile, std::int64_t bytes)
      : tile_(tile),
        bytes_(bytes),
        data_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes) + slack)) {}

  /// A tensor's piece at a place of the plan. Errors: E4102 if the tile is too small.
  [[nodiscard]] tile_view place(std::int64_t offset, std::int64_t elements, dtype type) {
    return view(offset, elements, type);
  }
  /// Copies of a task begin at `offset`.
  void begin_task(std::int64_t offset) noexcept { next_ = offset; }
  [[nodiscard]] tile_view allocate(std::int64_t elements, dtype type) {
    auto const at = next_;
    next_ += rounded_bytes(elements * size_of(type));
    return view(at, elements, type);
  }

  /// The end of the highest memory that was used.
  [[nodiscard]] std::int64_t high_water_mark() const noexcept { return most_; }

 private:
  tile_view view(std::int64_t offset, std::int64_t elements, dtype type) {
    auto const end = offset + elements * size_of(type);
    if (offset < 0 || end > bytes_)
      throw tile_access_error("E4102", "tile " + std::to_string(tile_) + ": a tensor ends at byte " +
                                           std::to_string(end) + " of " + std::to_string(bytes_));
    if (end > most_) most_ = end;
    return {data_.get() + offset, elements, type, tile_};
  }

  /// The host's kernels, which a layer of the user's own may call, read up to a few registers beyond the end.
  static constexpr std::size_t slack = 256;

  int tile_;
  std::int64_t bytes_;
  std::unique_ptr<std::byte[]> data_;  // what is never used takes no memory of the host
  std::int64_t next_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace stagecraft::tiles
