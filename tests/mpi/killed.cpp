// SPDX-License-Identifier: BSD-3-Clause
// A training that is killed and goes on: `killed <folder> <epochs>`, on one, two or four ranks. It goes on from the
// backup in the folder, writes the numbers of its processes there, and prints its weights as a hash. killed.py kills
// its ranks.
#include <stagecraft/io/backup_and_restore.hpp>
#include <stagecraft/mpi.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <unistd.h>
#include <xtensor/xtensor.hpp>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{12}, dense{20, sc::relu}, batch_normalization{}, dropout{0.2F}, dense{3}>;
constexpr sc::training training{.optimizer = sc::optimizers::adam{},
                                .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                .batch_size = 4,
                                .num_replicas = 4};
using trainer = sc::trainer<network, training, sc::cluster<sc::host<1>, sc::ranks{.count = 4, .timeout_s = 3}>>;

void run(std::string const& folder, int epochs) {
  xt::xtensor<float, 2> x = xt::zeros<float>({96, 12});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 2654435761U % 2003) / 1000.0F - 1;
  xt::xtensor<std::int32_t, 1> y = xt::zeros<std::int32_t>({96});
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = static_cast<std::int32_t>(i * 40503U % 7 % 3);

  trainer model(3);
  sc::callbacks::backup_and_restore backup(model, folder + "/backup");
  std::string const place = folder + "/process_" + std::to_string(trainer::rank());
  std::ofstream(place + ".new") << ::getpid() << "\n";
  std::rename((place + ".new").c_str(), place.c_str());
  model.fit(x, y, {.epochs = epochs, .verbose = 0, .callbacks = {&backup}, .initial_epoch = backup.initial_epoch()});

  std::uint64_t hash = 14695981039346656037ULL;
  for (auto const& weight : model.get_weights())
    for (float const value : weight.values) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 1099511628211ULL;
    }
  if (trainer::rank() == 0)
    std::printf("from epoch %d: weights %016llx\n", backup.initial_epoch(), static_cast<unsigned long long>(hash));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  try {
    run(arguments[1], std::atoi(arguments[2]));
  } catch (std::exception const&) {
    return 1;  // the rank that has failed has said why
  }
  return 0;
}
