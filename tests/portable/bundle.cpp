// SPDX-License-Identifier: BSD-3-Clause
// bundle save FOLDER, bundle load FOLDER: trains a small network and saves it, or loads it, and prints the bits of its
// weights and what it predicts. platforms.py lets two platforms load each other's folders.
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/stagecraft.hpp>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string_view>

#ifdef WITHOUT_ZLIB
// The checksum of zlib (RFC 1952, section 8), for platforms whose zlib is not on the machine that compiles.
extern "C" unsigned long crc32_z(unsigned long crc, unsigned char const* bytes, z_size_t count) {
  auto value = static_cast<std::uint32_t>(~crc);
  for (z_size_t i = 0; i < count; ++i) {
    value ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1U) != 0 ? 0xEDB8'8320U : 0U);
  }
  return static_cast<std::uint32_t>(~value);
}
#endif

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{6}, dense{5, sc::tanh}, dense{3, sc::softmax}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{},
                                              .batch_size = 8,
                                              .seed = 7};

int main(int count, char** words) {
  if (count != 3) return 2;
  xt::xtensor<float, 2> x = xt::zeros<float>({24, 6});
  xt::xtensor<int, 1> y = xt::zeros<int>({24});
  for (std::size_t i = 0; i < 24; ++i) {
    y(i) = static_cast<int>(i % 3);
    for (std::size_t j = 0; j < 6; ++j) x(i, j) = static_cast<float>((i * 7 + j * 5) % 11) / 11.0F;
  }
  sc::trainer<network, training> model;
  if (std::string_view(words[1]) == "save") {
    model.fit(x, y, {.epochs = 2, .verbose = 0});
    model.save(words[2]);
  } else {
    model.load(words[2]);
  }
  for (auto const& weight : model.get_weights())
    for (float const value : weight.values)
      std::printf("%08x\n", static_cast<unsigned>(std::bit_cast<std::uint32_t>(value)));
  std::printf("%lld updates\n", static_cast<long long>(model.progress().updates));
  xt::xtensor<float, 2> const scores = model.predict(x);
  for (std::size_t i = 0; i < 6; ++i) std::printf("logit %.5f\n", static_cast<double>(scores.data()[i]));
  auto const more = model.fit(x, y, {.epochs = 3, .verbose = 0, .initial_epoch = 2});
  std::printf("loss %.5f\n", more.at("loss").back());
}
