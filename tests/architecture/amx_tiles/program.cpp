// SPDX-License-Identifier: BSD-3-Clause
// Products of bfloat16 that are compiled for AMX, on any processor with AVX-512 BF16: where there is no AMX, a handler
// of illegal instructions carries out its instructions, as they stand in the program, by the tiles of the kernels'
// tests. The results are, bit by bit, those of the same kernel on these tiles.
#include <stagecraft/kernels/elementwise/narrow.hpp>
#include <stagecraft/kernels/product/bfloat16_pairs.hpp>

#include "../../kernels/product/reference_tiles.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <ucontext.h>

namespace {

namespace kernels = stagecraft::kernels;
using arch = kernels::default_architecture;
static_assert(kernels::multiplies_bfloat16_tiles<arch>);

kernels::reference::tile_registers tiles;
int carried_out[3] = {};  // that change shapes, move tiles, and multiply

/// One instruction with a VEX prefix of three bytes, which all of AMX have.
class instruction {
 public:
  explicit instruction(ucontext_t* context) : context_(context), at_(reinterpret_cast<unsigned char const*>(reg(16))) {}

  /// False if it is none of AMX.
  bool carry_out() {
    if (at_[0] != 0xC4 || (at_[1] & 0x1FU) != 2 || (at_[2] & 0x84U) != 0) return false;  // map 0F38, W0, 128 bits
    unsigned const prefix = at_[2] & 3U, code = at_[3], mode = at_[4] >> 6U;
    int const third = static_cast<int>(~at_[2] >> 3U & 7U), target = at_[4] >> 3U & 7, source = at_[4] & 7;
    if (code == 0x49 && mode == 3 && prefix == 0) {
      ++carried_out[0];
      tiles.release();
      return done(5);
    }
    if (code == 0x49 && mode == 3 && prefix == 3) return tiles.zero(target), done(5);
    if (code == 0x5C && mode == 3 && prefix == 2) {
      ++carried_out[2];
      tiles.add_products(target, source, third);
      return done(5);
    }
    if (mode == 3 || (code != 0x49 && code != 0x4B)) return false;
    std::uintptr_t const address = find_address(mode);
    if (code == 0x49 && prefix == 0) {
      kernels::tile_shapes shapes;
      std::memcpy(&shapes, reinterpret_cast<void const*>(address), sizeof shapes);
      tiles.configure(shapes);
    } else if (code == 0x4B && prefix == 3) {
      tiles.load(target, reinterpret_cast<void const*>(address), stride_);
    } else if (code == 0x4B && prefix == 2) {
      tiles.store(target, reinterpret_cast<void*>(address), stride_);
    } else {
      return false;
    }
    ++carried_out[code == 0x49 ? 0 : 1];
    return done(length_);
  }

 private:
  /// By the processor's numbers; 16 is the one of the instruction.
  [[nodiscard]] greg_t& reg(int number) const {
    static constexpr int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8,
                                     REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    return context_->uc_mcontext.gregs[places[number]];
  }
  template <class T>
  [[nodiscard]] long number_at(int offset) const {
    T value;
    std::memcpy(&value, at_ + offset, sizeof value);
    return value;
  }
  /// What the bytes behind the code say; the index of an address is the stride of a tile.
  std::uintptr_t find_address(unsigned mode) {
    int const high_index = (at_[1] & 0x40U) == 0 ? 8 : 0, high_base = (at_[1] & 0x20U) == 0 ? 8 : 0;
    int base = at_[4] & 7;
    length_ = 5;
    long address = 0;
    if (base == 4) {
      int const index = (at_[5] >> 3U & 7) + high_index;
      base = at_[5] & 7;
      stride_ = index == 4 ? 0 : reg(index) * (1L << (at_[5] >> 6U));
      if (at_[3] == 0x49) address = stride_;
      length_ = 6;
      if (base != 5 || mode != 0) address += reg(base + high_base);
    } else if (base != 5 || mode != 0) {
      address = reg(base + high_base);
    }
    if (mode == 1) return static_cast<std::uintptr_t>(address + number_at<std::int8_t>(length_++));
    if (mode == 0 && base != 5) return static_cast<std::uintptr_t>(address);
    address += number_at<std::int32_t>(length_);
    length_ += 4;
    if (mode == 0 && (at_[4] & 7U) == 5) address += reinterpret_cast<std::intptr_t>(at_) + length_;
    return static_cast<std::uintptr_t>(address);
  }
  bool done(int length) {
    reg(16) += length;
    return true;
  }

  ucontext_t* context_;
  unsigned char const* at_;
  int length_ = 0;
  long stride_ = 0;
};

void carry_out(int /*signal*/, siginfo_t* /*info*/, void* context) {
  if (instruction(static_cast<ucontext_t*>(context)).carry_out()) return;
  std::fputs("an illegal instruction that is none of AMX\n", stderr);
  std::_Exit(1);
}

std::vector<float> numbers(std::size_t count) {
  static std::uint32_t seed = 7;
  std::vector<float> result(count);
  for (float& number : result) {
    seed = seed * 1664525U + 1013904223U;
    number = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-30F;
  }
  return result;
}

std::vector<std::uint16_t> narrow(std::vector<float> const& x) {
  std::vector<std::uint16_t> result(x.size());
  kernels::narrow<stagecraft::dtype::bfloat16>(x.data(), result.data(), static_cast<std::int64_t>(x.size()));
  return result;
}

/// Products of M x K by K x N, and the gradient of the weights, by the processor's instructions and by the tests'.
template <int M, int K, int N>
bool compare() {
  using reference = kernels::reference::reference_tiles;
  using layout = kernels::packed_matrix<K, N>;
  using output = kernels::detail::store_output<kernels::no_epilogue>;
  constexpr int slack = 64;
  constexpr int inner = kernels::pairs_of(K), rows = kernels::pairs_of(M);
  auto const w = numbers(K * N);
  auto x = narrow(numbers(M * K + slack)), dy = narrow(numbers(M * N + slack));
  std::vector<float> packed(layout::size), pairs(kernels::packed_matrix<inner, N>::size);
  std::vector<float> x_pairs(rows * K + slack), dy_pairs(rows * N + slack);
  layout::pack(w.data(), packed.data());
  kernels::pack_row_pairs<K, N>(packed.data(), pairs.data());
  kernels::pair_rows<M, K>(x.data(), x_pairs.data());
  kernels::pair_rows<M, N>(dy.data(), dy_pairs.data());
  if constexpr (K % 2 != 0) {
    std::vector<std::uint16_t> padded(M * (K + 1));
    kernels::pad_rows<M, K>(x.data(), padded.data());
    x = padded;
  }
  std::vector<float> y(M * N), dw(layout::size), expected_y(M * N), expected_dw(layout::size);
  kernels::matmul_of_pairs<M, K, N>(x.data(), pairs.data(), y.data());
  kernels::detail::multiply_in_tiles<M, inner, N, arch, reference>(reinterpret_cast<float const*>(x.data()),
                                                                   pairs.data(), expected_y.data(), output{}, {});
  kernels::weight_gradient_of_pairs<M, K, N>(x_pairs.data(), dy_pairs.data(), dw.data());
  kernels::detail::weight_gradient_in_tiles<rows, K, N, false, arch, reference>(x_pairs.data(), dy_pairs.data(),
                                                                                expected_dw.data(), {});
  bool const same = std::memcmp(y.data(), expected_y.data(), y.size() * sizeof(float)) == 0 &&
                    std::memcmp(dw.data(), expected_dw.data(), dw.size() * sizeof(float)) == 0;
  std::printf("%d x %d x %d: %s\n", M, K, N, same ? "the same bits" : "wrong");
  return same;
}

}  // namespace

int main() {
  bool const has_tiles = __builtin_cpu_supports("amx-bf16");
  struct sigaction action = {};
  action.sa_sigaction = carry_out;
  action.sa_flags = SA_SIGINFO;
  if (!has_tiles) sigaction(SIGILL, &action, nullptr);
  bool same = compare<6, 18, 10>();
  same = compare<40, 70, 90>() && same;
  same = compare<7, 19, 21>() && same;
  same = compare<64, 32, 16>() && same;
  if (has_tiles)
    std::puts("carried out by the processor");
  else
    std::printf("carried out here: %d shapes, %d tiles moved, %d products\n", carried_out[0], carried_out[1],
                carried_out[2]);
  return same && (has_tiles || carried_out[2] > 0) ? 0 : 1;
}
