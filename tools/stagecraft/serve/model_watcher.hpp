// SPDX-License-Identifier: BSD-3-Clause
// A thread that finds new versions of models, and loads them.
#pragma once

#include "serve/served_models.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace stagecraft::tool {

/// Loading runs code of a model's file, which may take long or never end: only the destructor waits for it.
class model_watcher {
 public:
  /// Checks all models at once, and then after each pause. Keeps a reference. Throws std::system_error.
  model_watcher(served_models& models, std::chrono::duration<double> pause);
  model_watcher(model_watcher const&) = delete;
  model_watcher& operator=(model_watcher const&) = delete;
  /// Waits for a model that is being loaded.
  ~model_watcher();

  /// True if all models have been checked at least once.
  [[nodiscard]] bool has_looked();
  /// Checks all models at once, without the rest of the pause.
  void look_again();
  /// Ends the checks. Returns false if a model is still being loaded after that time.
  [[nodiscard]] bool end(std::chrono::milliseconds patience);

 private:
  void run();

  served_models& models_;
  std::chrono::duration<double> pause_;
  std::mutex mutex_;
  std::condition_variable changes_;
  bool is_asked_ = false, has_looked_ = false, ends_ = false, has_ended_ = false;
  std::thread thread_;
};

}  // namespace stagecraft::tool
