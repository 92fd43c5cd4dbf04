// SPDX-License-Identifier: BSD-3-Clause
// A thread that keeps the models of a server as files and requests ask for: it finds new versions, reads
// --model_config_file again, and loads models.
#pragma once

#include "serve/http/http_message.hpp"
#include "serve/models/served_models.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace stagecraft::tool {

/// The settings of a watcher.
struct watcher_options {
  std::function<std::shared_ptr<served_model>(model_settings)> make;  ///< makes a model, without loading it
  std::vector<model_settings> models;                                 ///< models of the command line
  std::string config_file;                                            ///< file with more of them; empty: none
  std::chrono::duration<double> pause{1};         ///< between two looks for versions; 0: only the first one
  std::chrono::duration<double> config_pause{0};  ///< between two looks at the file; 0: only the first one
  bool labels_without_versions = false;           ///< true: a new label may name a version that is not served
  bool takes_folders = false;                     ///< true: requests may name folders that nobody has named before
  bool is_explicit = false;                       ///< true: clients load models and let go of them
};

/// Loading runs code of a model's file, which may take long or never end: only the destructor, and those who ask for a
/// change, wait for it.
class model_watcher {
 public:
  /// Checks all models at once, and then after each pause. Keeps a reference. Throws std::system_error.
  model_watcher(served_models& models, watcher_options options);
  model_watcher(model_watcher const&) = delete;
  model_watcher& operator=(model_watcher const&) = delete;
  /// Waits for a model that is being loaded.
  ~model_watcher();

  /// True if all models have been checked at least once. Throws what was wrong with the file then: file_error E5283,
  /// E5300 a label of a version that is not served.
  [[nodiscard]] bool has_looked();
  /// Checks all models, and the file, at once, without the rest of the pause.
  void look_again();
  /// Makes these all models of the server, and waits until their versions are there. Throws http_error: 400 one that is
  /// named twice, or has no name; 403 a folder that nobody has named; 412 a label of a version that is not served, in
  /// which case all labels stay as they were; 503 the server ends.
  void reload(std::vector<model_settings> models);
  /// Loads a model's versions, or lets go of them, and waits until that is done; looks for versions do not undo it.
  /// `with_steps`: also of the models of an ensemble's steps.
  /// Throws http_error: 404 there is no such model to load, 400 it cannot be loaded, 503 the server ends, or polls.
  void load(std::string const& name);
  void unload(std::string const& name, bool with_steps = false);
  /// Ends the checks. Returns false if a model is still being loaded after that time.
  [[nodiscard]] bool end(std::chrono::milliseconds patience);

 private:
  using clock = std::chrono::steady_clock;
  using task_type = std::packaged_task<std::optional<http_error>()>;

  void run();
  void look() noexcept;
  void read_config();
  void apply(std::vector<model_settings> models);
  void check_control() const;
  void do_here(std::function<void()> work);

  served_models& models_;
  watcher_options options_;
  // Only the thread uses these.
  std::string config_text_, config_problem_;  // what the file had when it was last read, and what was wrong with it
  std::set<std::string> folders_;             // folders that have been named
  std::set<std::string> unloaded_;            // models that were asked to be let go of

  std::mutex mutex_;
  std::condition_variable changes_;
  std::deque<task_type> tasks_;
  std::exception_ptr problem_;  // of the first look
  bool is_asked_ = false, has_looked_ = false, ends_ = false, has_ended_ = false;
  std::thread thread_;
};

}  // namespace stagecraft::tool
