// SPDX-License-Identifier: BSD-3-Clause
#include "serve/model_watcher.hpp"

#include <cstdio>
#include <exception>

namespace stagecraft::tool {

model_watcher::model_watcher(served_models& models, std::chrono::duration<double> pause)
    : models_(models), pause_(pause), thread_([this] { run(); }) {}

model_watcher::~model_watcher() {
  {
    std::scoped_lock const lock(mutex_);
    ends_ = true;
  }
  changes_.notify_all();
  thread_.join();
}

bool model_watcher::has_looked() {
  std::scoped_lock const lock(mutex_);
  return has_looked_;
}

void model_watcher::look_again() {
  {
    std::scoped_lock const lock(mutex_);
    is_asked_ = true;
  }
  changes_.notify_all();
}

bool model_watcher::end(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  ends_ = true;
  changes_.notify_all();
  return changes_.wait_for(lock, patience, [this] { return has_ended_; });
}

void model_watcher::run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    is_asked_ = false;
    lock.unlock();
    for (auto const& [name, model] : models_) {
      try {
        model->update();
      } catch (std::exception const& why) {  // there was no memory to report the reason
        std::fprintf(stderr, "model '%s': cannot be looked at: %s\n", name.c_str(), why.what());
      }
    }
    lock.lock();
    has_looked_ = true;
    changes_.wait_for(lock, pause_, [this] { return ends_ || is_asked_; });
  }
  has_ended_ = true;
  changes_.notify_all();
}

}  // namespace stagecraft::tool
