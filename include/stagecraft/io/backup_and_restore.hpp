// SPDX-License-Identifier: BSD-3-Clause
// Continues a training that was killed at the point where it ended. Keras counterpart:
// tf.keras.callbacks.BackupAndRestore (experimental in Keras 2.6).
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/bundle.hpp>
#include <stagecraft/io/model_checkpoint.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <string>
#include <utility>

namespace stagecraft::callbacks {

/// Reads the backup of a killed program, if there is one, and saves a new one after each epoch; the backup is removed
/// at the end of the training. Files that a program left beside it when it was killed while saving are removed, too.
///
///     sc::callbacks::backup_and_restore backup(model, "backup");
///     model.fit(x, y, {.epochs = 50, .callbacks = {&backup}, .initial_epoch = backup.initial_epoch()});
///
/// The call of `fit` states where training begins (in Keras, the callback itself moves `fit` to the epoch). The result
/// has the bits of a training that was never killed. On a cluster, all ranks make the callback; the first rank alone
/// reads and writes, and the ranks may be more or fewer than before. Throws file_error as `save` and `load`: E5032 if
/// the backup is another model's.
class backup_and_restore : public callback {
 public:
  template <class Trainer>
  backup_and_restore(Trainer& model, std::string backup_dir)
      : save_(&detail::save_trainer<Trainer>), backup_dir_(io::without_slash(std::move(backup_dir))) {
    auto const read = [&] {
      io::remove_leftovers(backup_dir_);
      if (!io::exists(io::behind_links(io::place_of_bundle(backup_dir_)))) return 0;
      model.load(backup_dir_);
      return static_cast<int>(model.progress().epochs);
    };
    if constexpr (requires { model.on_first_rank(read); })
      initial_epoch_ = model.on_first_rank(read);
    else
      initial_epoch_ = read();
  }

  /// The epoch at which the training goes on; 0 without a backup.
  [[nodiscard]] int initial_epoch() const noexcept { return initial_epoch_; }

  void on_epoch_end(int, logs&) override { save_(model(), backup_dir_, false); }
  void on_train_end(logs&) override {
    io::remove_leftovers(backup_dir_);
    io::remove_bundle(io::behind_links(backup_dir_));
  }

 private:
  detail::save_function save_;
  std::string backup_dir_;
  int initial_epoch_ = 0;
};

}  // namespace stagecraft::callbacks

#include <stagecraft/diagnostics/end_headers.hpp>
