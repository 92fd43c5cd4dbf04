// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints and backups of a cluster: the first rank writes them, any number of ranks and a single process go on from
// them, with the bits of a training that was never interrupted.
#include <stagecraft/io/backup_and_restore.hpp>
#include <stagecraft/io/model_checkpoint.hpp>
#include <stagecraft/mpi.hpp>
#include <cstdint>
#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>
#include <xtensor/xtensor.hpp>

namespace {

namespace sc = stagecraft;
namespace fs = std::filesystem;
using namespace sc::layers;

using network = sc::sequential<input{12}, dense{20, sc::relu}, batch_normalization{}, dropout{0.2F}, dense{3}>;
constexpr sc::training training{.optimizer = sc::optimizers::adam{},
                                .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                .batch_size = 4,
                                .num_replicas = 4};
using trainer = sc::trainer<network, training, sc::cluster<sc::host<1>, sc::ranks{4}>>;
using alone = sc::trainer<network, training, sc::host<1>>;

xt::xtensor<float, 2> samples() {
  xt::xtensor<float, 2> x = xt::zeros<float>({96, 12});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 2654435761U % 2003) / 1000.0F - 1;
  return x;
}
xt::xtensor<std::int32_t, 1> labels() {
  xt::xtensor<std::int32_t, 1> y = xt::zeros<std::int32_t>({96});
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = static_cast<std::int32_t>(i * 40503U % 7 % 3);
  return y;
}

/// A folder of all ranks, which have one parent; the first one makes and removes it.
struct common_folder {
  std::string path = fs::temp_directory_path() / ("stagecraft_mpi_" + std::to_string(::getppid()));

  common_folder() {
    if (trainer::rank() == 0) fs::create_directories(path);
  }
  ~common_folder() {
    if (trainer::rank() == 0) fs::remove_all(path);
  }
  [[nodiscard]] std::string operator/(char const* name) const { return path + "/" + name; }
};

template <class Trainer>
void fit(Trainer& model, int from, std::vector<sc::callback*> const& callbacks = {}) {
  sc::fit_options options{.epochs = 4, .verbose = 0, .initial_epoch = from};
  for (auto* const each : callbacks) options.callbacks.push_back(each);
  model.fit(samples(), labels(), options);
}

}  // namespace

TEST_CASE("a checkpoint of a cluster goes on, on a cluster and alone") {
  common_folder const folder;
  alone expected(3);
  fit(expected, 0);
  trainer model(3);
  sc::callbacks::model_checkpoint each(model, folder / "epoch_{epoch}");
  fit(model, 0, {&each});
  CHECK(model.get_weights() == expected.get_weights());
  CHECK(each.last_path().empty() == (trainer::rank() > 0));

  trainer again(5);
  int const epochs = again.on_first_rank([&] {
    again.load(folder / "epoch_2");
    return static_cast<int>(again.progress().epochs);
  });
  CHECK(epochs == 2);
  fit(again, epochs);
  CHECK(again.get_weights() == expected.get_weights());
  CHECK(again.progress() == expected.progress());

  alone single(6);
  single.load(folder / "epoch_1");
  fit(single, 1);
  CHECK(single.get_weights() == expected.get_weights());
  trainer late(7);
  late.on_first_rank([&] { return single.progress().steps; });  // all have read it before it is removed
}

TEST_CASE("all ranks go on from a backup that the first one reads") {
  common_folder const folder;
  alone expected(3), interrupted(3);
  fit(expected, 0);
  if (trainer::rank() == 0) {  // as a program of one process has left it
    interrupted.fit(samples(), labels(), {.epochs = 3, .verbose = 0});
    interrupted.save(folder / "backup");
    fs::create_directories(folder / "backup.saving-999999999");
  }
  trainer model(9);
  sc::callbacks::backup_and_restore backup(model, folder / "backup");
  CHECK(backup.initial_epoch() == 3);
  fit(model, backup.initial_epoch(), {&backup});
  CHECK(model.get_weights() == expected.get_weights());
  if (trainer::rank() == 0) CHECK(fs::is_empty(folder.path));
}
