// SPDX-License-Identifier: BSD-3-Clause
// Registers of four floats or integers in what GCC and Clang call vectors, which they turn into the instructions of any
// processor: the form of xsimd's batches for processors that xsimd has none for. A private part of simd.hpp.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// GCC notes that i386's conventions without SSE do not pass vectors in registers, which hardly matters here: the
// functions are inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace xsimd {

template <class T, class A>
class batch;
template <class T, class A>
class batch_bool;

}  // namespace xsimd

namespace stagecraft::kernels {

/// The instruction set of these registers: whatever the compiler's flags allow.
struct portable_architecture {
  static constexpr char const* name() noexcept { return "portable"; }
  static constexpr bool supported() noexcept { return true; }
  static constexpr bool available() noexcept { return true; }
  static constexpr std::size_t alignment() noexcept { return 16; }
  static constexpr bool requires_alignment() noexcept { return true; }
};

namespace detail {

template <class T>
concept PortableElement = std::same_as<T, float> || std::same_as<T, std::int32_t> || std::same_as<T, std::uint32_t>;

template <PortableElement T>
struct portable_register {
  typedef T type __attribute__((vector_size(16)));
};
using portable_mask = portable_register<std::int32_t>::type;

/// The bits of a vector as one of another type, of the same length.
template <class To, class From>
[[nodiscard, gnu::always_inline]] inline To vector_bits(From const& x) {
  To result;
  std::memcpy(&result, &x, sizeof result);
  return result;
}

}  // namespace detail
}  // namespace stagecraft::kernels

/// A register of portable vectors, with the words of xsimd's batches that kernels use.
template <stagecraft::kernels::detail::PortableElement T>
class xsimd::batch<T, stagecraft::kernels::portable_architecture> {
 public:
  static constexpr std::size_t size = 4;
  using value_type = T;
  using arch_type = stagecraft::kernels::portable_architecture;
  using register_type = typename stagecraft::kernels::detail::portable_register<T>::type;
  using batch_bool_type = batch_bool<T, arch_type>;

  batch() = default;
  batch(T value) noexcept : data{value, value, value, value} {}
  batch(register_type const& values) noexcept : data(values) {}

  [[nodiscard]] static batch broadcast(T value) noexcept { return value; }
  [[nodiscard]] static batch load_unaligned(T const* from) noexcept {
    batch result;
    std::memcpy(&result.data, from, sizeof result.data);
    return result;
  }
  [[nodiscard]] static batch load_aligned(T const* from) noexcept { return load_unaligned(from); }
  void store_unaligned(T* to) const noexcept { std::memcpy(to, &data, sizeof data); }
  void store_aligned(T* to) const noexcept { store_unaligned(to); }
  [[nodiscard]] T get(std::size_t lane) const noexcept { return data[lane]; }
  operator register_type() const noexcept { return data; }

  friend batch operator+(batch const& a, batch const& b) noexcept { return rounded(a.data + b.data); }
  friend batch operator-(batch const& a, batch const& b) noexcept { return rounded(a.data - b.data); }
  friend batch operator*(batch const& a, batch const& b) noexcept { return rounded(a.data * b.data); }
  friend batch operator/(batch const& a, batch const& b) noexcept { return rounded(a.data / b.data); }
  friend batch operator&(batch const& a, batch const& b) noexcept { return of_bits(a.bits() & b.bits()); }
  friend batch operator|(batch const& a, batch const& b) noexcept { return of_bits(a.bits() | b.bits()); }
  friend batch operator^(batch const& a, batch const& b) noexcept { return of_bits(a.bits() ^ b.bits()); }
  friend batch operator<<(batch const& a, std::int32_t places) noexcept { return register_type(a.data << places); }
  friend batch operator>>(batch const& a, std::int32_t places) noexcept { return register_type(a.data >> places); }
  batch operator~() const noexcept { return of_bits(~bits()); }
  batch operator-() const noexcept { return register_type(-data); }
  batch& operator+=(batch const& other) noexcept { return *this = *this + other; }
  batch& operator-=(batch const& other) noexcept { return *this = *this - other; }
  batch& operator*=(batch const& other) noexcept { return *this = *this * other; }
  batch& operator/=(batch const& other) noexcept { return *this = *this / other; }
  batch& operator&=(batch const& other) noexcept { return *this = *this & other; }
  batch& operator|=(batch const& other) noexcept { return *this = *this | other; }
  batch& operator^=(batch const& other) noexcept { return *this = *this ^ other; }

  friend batch_bool_type operator==(batch const& a, batch const& b) noexcept { return mask(a.data == b.data); }
  friend batch_bool_type operator!=(batch const& a, batch const& b) noexcept { return mask(a.data != b.data); }
  friend batch_bool_type operator<(batch const& a, batch const& b) noexcept { return mask(a.data < b.data); }
  friend batch_bool_type operator<=(batch const& a, batch const& b) noexcept { return mask(a.data <= b.data); }
  friend batch_bool_type operator>(batch const& a, batch const& b) noexcept { return mask(a.data > b.data); }
  friend batch_bool_type operator>=(batch const& a, batch const& b) noexcept { return mask(a.data >= b.data); }

  /// The bits of the lanes, and lanes that have these bits.
  [[nodiscard]] stagecraft::kernels::detail::portable_mask bits() const noexcept {
    return stagecraft::kernels::detail::vector_bits<stagecraft::kernels::detail::portable_mask>(data);
  }
  [[nodiscard]] static batch of_bits(stagecraft::kernels::detail::portable_mask const& bits) noexcept {
    return stagecraft::kernels::detail::vector_bits<register_type>(bits);
  }

  register_type data;

 private:
  using mask = stagecraft::kernels::detail::portable_mask;

  // The registers of x87 have more digits than a float, which go where the result is stored. Kernels round to integers
  // by adding large numbers, and read bits of the sum.
  [[gnu::always_inline]] static batch rounded(register_type values) noexcept {
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2
    asm("" : "+m"(values));
#endif
    return values;
  }
};

/// The result of comparing portable registers: all bits of a lane are set, or none.
template <stagecraft::kernels::detail::PortableElement T>
class xsimd::batch_bool<T, stagecraft::kernels::portable_architecture> {
 public:
  static constexpr std::size_t size = 4;
  using register_type = stagecraft::kernels::detail::portable_mask;

  batch_bool() = default;
  batch_bool(bool value) noexcept : data{-value, -value, -value, -value} {}
  batch_bool(register_type const& lanes) noexcept : data(lanes) {}

  [[nodiscard]] bool get(std::size_t lane) const noexcept { return data[lane] != 0; }
  friend batch_bool operator&(batch_bool const& a, batch_bool const& b) noexcept {
    return register_type(a.data & b.data);
  }
  friend batch_bool operator|(batch_bool const& a, batch_bool const& b) noexcept {
    return register_type(a.data | b.data);
  }
  friend batch_bool operator^(batch_bool const& a, batch_bool const& b) noexcept {
    return register_type(a.data ^ b.data);
  }
  friend batch_bool operator&&(batch_bool const& a, batch_bool const& b) noexcept { return a & b; }
  friend batch_bool operator||(batch_bool const& a, batch_bool const& b) noexcept { return a | b; }
  batch_bool operator~() const noexcept { return register_type(~data); }
  batch_bool operator!() const noexcept { return ~*this; }

  register_type data;
};

// The functions of xsimd that kernels call, for these registers. They are found because they take them exactly.
namespace xsimd {

template <class T>
using portable_batch = batch<T, stagecraft::kernels::portable_architecture>;
template <class T>
using portable_batch_bool = batch_bool<T, stagecraft::kernels::portable_architecture>;

/// Applies a function to each lane.
template <class Function>
[[nodiscard, gnu::always_inline]] inline portable_batch<float> portable_lanes(portable_batch<float> const& x,
                                                                              Function const& function) {
  return stagecraft::kernels::detail::portable_register<float>::type{function(x.data[0]), function(x.data[1]),
                                                                     function(x.data[2]), function(x.data[3])};
}

template <class T>
[[nodiscard]] inline portable_batch<T> select(portable_batch_bool<T> const& mask, portable_batch<T> const& then,
                                              portable_batch<T> const& otherwise) noexcept {
  return portable_batch<T>::of_bits((mask.data & then.bits()) | (~mask.data & otherwise.bits()));
}
// Where a lane is NaN, the result is that of xsimd's own batches: `b`, and `a` from release 14 on.
#if XSIMD_VERSION_MAJOR >= 14
template <class T>
[[nodiscard]] inline portable_batch<T> max(portable_batch<T> const& a, portable_batch<T> const& b) noexcept {
  return select(a < b, b, a);
}
template <class T>
[[nodiscard]] inline portable_batch<T> min(portable_batch<T> const& a, portable_batch<T> const& b) noexcept {
  return select(b < a, b, a);
}
#else
template <class T>
[[nodiscard]] inline portable_batch<T> max(portable_batch<T> const& a, portable_batch<T> const& b) noexcept {
  return select(a > b, a, b);
}
template <class T>
[[nodiscard]] inline portable_batch<T> min(portable_batch<T> const& a, portable_batch<T> const& b) noexcept {
  return select(a < b, a, b);
}
#endif
[[nodiscard]] inline portable_batch<float> abs(portable_batch<float> const& x) noexcept {
  return portable_batch<float>::of_bits(x.bits() & 0x7FFF'FFFF);
}
[[nodiscard]] inline portable_batch_bool<float> isnan(portable_batch<float> const& x) noexcept { return x != x; }
template <class T>
[[nodiscard]] inline bool any(portable_batch_bool<T> const& mask) noexcept {
  return (mask.data[0] | mask.data[1] | mask.data[2] | mask.data[3]) != 0;
}
template <class T>
[[nodiscard]] inline bool all(portable_batch_bool<T> const& mask) noexcept {
  return (mask.data[0] & mask.data[1] & mask.data[2] & mask.data[3]) != 0;
}
/// a * b + c: rounded once where the processor's flags let the compiler fuse them.
[[nodiscard]] inline portable_batch<float> fma(portable_batch<float> const& a, portable_batch<float> const& b,
                                               portable_batch<float> const& c) noexcept {
  return a * b + c;
}
[[nodiscard]] inline portable_batch<float> fnma(portable_batch<float> const& a, portable_batch<float> const& b,
                                                portable_batch<float> const& c) noexcept {
  return c - a * b;
}
[[nodiscard]] inline float reduce_add(portable_batch<float> const& x) noexcept {
  return (x.data[0] + x.data[2]) + (x.data[1] + x.data[3]);
}
[[nodiscard]] inline float hadd(portable_batch<float> const& x) noexcept { return reduce_add(x); }
[[nodiscard]] inline portable_batch<std::int32_t> to_int(portable_batch<float> const& x) noexcept {
  return __builtin_convertvector(x.data, portable_batch<std::int32_t>::register_type);
}
[[nodiscard]] inline portable_batch<float> to_float(portable_batch<std::int32_t> const& x) noexcept {
  return __builtin_convertvector(x.data, portable_batch<float>::register_type);
}
/// a[0], b[0], a[1], b[1]
template <class T>
[[nodiscard]] inline portable_batch<T> zip_lo(portable_batch<T> const& a, portable_batch<T> const& b) noexcept {
  return __builtin_shufflevector(a.data, b.data, 0, 4, 1, 5);
}
/// a[2], b[2], a[3], b[3]
template <class T>
[[nodiscard]] inline portable_batch<T> zip_hi(portable_batch<T> const& a, portable_batch<T> const& b) noexcept {
  return __builtin_shufflevector(a.data, b.data, 2, 6, 3, 7);
}
template <class To, class From>
  requires std::is_arithmetic_v<To>
[[nodiscard]] inline portable_batch<To> bitwise_cast(portable_batch<From> const& x) noexcept {
  return portable_batch<To>::of_bits(x.bits());
}
template <class To, class From>
  requires std::same_as<To, portable_batch<typename To::value_type>>
[[nodiscard]] inline To bitwise_cast(portable_batch<From> const& x) noexcept {
  return To::of_bits(x.bits());
}

[[nodiscard]] inline portable_batch<float> sqrt(portable_batch<float> const& x) noexcept {
  return portable_lanes(x, [](float lane) { return std::sqrt(lane); });
}
[[nodiscard]] inline portable_batch<float> nearbyint(portable_batch<float> const& x) noexcept {
  return portable_lanes(x, [](float lane) { return std::nearbyint(lane); });
}
[[nodiscard]] inline portable_batch<float> floor(portable_batch<float> const& x) noexcept {
  return portable_lanes(x, [](float lane) { return std::floor(lane); });
}
[[nodiscard]] inline portable_batch<float> exp(portable_batch<float> const& x) noexcept {
  return portable_lanes(x, [](float lane) { return std::exp(lane); });
}
[[nodiscard]] inline portable_batch<float> sin(portable_batch<float> const& x) noexcept {
  return portable_lanes(x, [](float lane) { return std::sin(lane); });
}
[[nodiscard]] inline portable_batch<float> cos(portable_batch<float> const& x) noexcept {
  return portable_lanes(x, [](float lane) { return std::cos(lane); });
}
[[nodiscard]] inline portable_batch<float> atan(portable_batch<float> const& x) noexcept {
  return portable_lanes(x, [](float lane) { return std::atan(lane); });
}

}  // namespace xsimd

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
