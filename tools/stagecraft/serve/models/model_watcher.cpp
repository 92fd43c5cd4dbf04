// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/model_watcher.hpp"

#include "serve/http/http_message.hpp"
#include "serve/models/model_config.hpp"
#include "serve/option_files.hpp"
#include "serve/settings/server_log.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>
#include <vector>

namespace stagecraft::tool {

model_watcher::model_watcher(served_models& models, watcher_options options)
    : models_(models), options_(std::move(options)), thread_([this] { run(); }) {}

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
  if (problem_ != nullptr) std::rethrow_exception(problem_);
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

void model_watcher::do_here(std::function<void()> work) {
  constexpr char const* ending = "the server ends";
  // No exception goes from one thread to another, which would share its object.
  task_type task([&work]() -> std::optional<http_error> {
    try {
      work();
    } catch (http_error const& why) {
      return why;
    } catch (std::bad_alloc const&) {
      return http_error{503, "the machine has no more memory"};
    } catch (std::exception const& why) {
      return http_error{500, why.what()};
    }
    return std::nullopt;
  });
  auto done = task.get_future();
  {
    std::scoped_lock const lock(mutex_);
    if (ends_) throw http_error{503, ending};
    tasks_.push_back(std::move(task));
  }
  changes_.notify_all();
  try {
    if (auto const problem = done.get()) throw http_error{*problem};
  } catch (std::future_error const&) {  // the task was dropped
    throw http_error{503, ending};
  }
}

void model_watcher::reload(std::vector<model_settings> models) {
  do_here([this, models = std::move(models)] {
    for (auto const& each : models)
      if (!options_.takes_folders && !folders_.contains(each.folder))
        throw http_error{403, "the folder '" + each.folder + "' of model " + each.name +
                                  " is none that this server was begun with, and it takes no other ones without "
                                  "--allow_reload_config"};
    apply(models);
  });
}

void model_watcher::check_control() const {
  if (!options_.is_explicit) throw http_error{503, "explicit model load / unload is not allowed if polling is enabled"};
}

void model_watcher::load(std::string const& name) {
  check_control();
  do_here([this, &name] {
    auto const model = models_.find(name);
    if (model == nullptr) throw http_error{404, "failed to load '" + name + "', failed to poll from model repository"};
    unloaded_.erase(name);
    model->update();
    if (!model->versions().empty()) return;
    std::string why = "no version is available";
    for (auto const& [number, state] : model->states())
      if (!state.error_message.empty()) why = state.error_message;
    throw http_error{400, "failed to load '" + name + "', " + why};
  });
}

void model_watcher::unload(std::string const& name, bool with_steps) {
  check_control();
  do_here([&] {
    std::vector<std::string> names{name};
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto const model = models_.find(names[i]);
      if (model == nullptr) continue;  // as in Triton
      for (auto const& version : model->versions())
        if (with_steps && version.steps != nullptr)
          for (auto const& step : version.steps->steps())
            if (std::find(names.begin(), names.end(), step.model) == names.end()) names.push_back(step.model);
      unloaded_.insert(names[i]);
      model->unload();
    }
  });
}

void model_watcher::apply(std::vector<model_settings> models) {
  auto const present = models_.all();
  served_models::table next, loaded;
  std::set<std::string> names;
  for (auto const& each : models) {
    if (each.name.empty() || each.folder.empty()) throw http_error{400, "a model has no name, or no base_path"};
    if (!names.insert(each.name).second)
      throw http_error{400, "Illegal to list model " + each.name + " multiple times in config list"};
  }
  for (auto& each : models) {
    folders_.insert(each.folder);
    auto own = each;
    auto const found = present->find(each.name);
    bool const is_known = found != present->end() && found->second->settings().folder == each.folder;
    // Labels change when all versions are there.
    own.labels = found == present->end() ? decltype(own.labels)() : found->second->settings().labels;
    if (is_known) found->second->change(std::move(own));
    auto model = is_known ? found->second : options_.make(std::move(own));
    next.emplace(each.name, model);
    loaded.emplace(each.name, found == present->end() ? model : found->second);
  }
  // A model that is new is seen while it is loaded; one with another folder answers from the former one meanwhile.
  auto seen = *present;
  seen.insert(loaded.begin(), loaded.end());
  models_.replace(std::move(seen));
  // A version goes when no label means it any more.
  std::vector<std::pair<std::shared_ptr<served_model>, std::set<std::int64_t>>> kept;
  std::vector<std::shared_ptr<served_model>> ensembles;
  for (auto const& [name, model] : next) {
    if (unloaded_.contains(name)) continue;
    if (has_ensemble(model->settings().folder))
      ensembles.push_back(model);
    else
      kept.emplace_back(model, model->bring());
  }
  // An ensemble of ensembles is brought when these are there.
  for (bool goes_on = true; goes_on && !ensembles.empty();) {
    goes_on = false;
    for (auto& model : ensembles) {
      auto numbers = model->bring();
      if (numbers.empty()) continue;
      goes_on = true;
      kept.emplace_back(std::exchange(model, nullptr), std::move(numbers));
    }
    std::erase(ensembles, nullptr);
  }
  for (auto const& model : ensembles) kept.emplace_back(model, std::set<std::int64_t>());
  models_.replace(next);
  auto const settle = [&] {
    for (auto const& [model, numbers] : kept) model->keep(numbers);
  };
  for (auto const& each : models) {
    auto const& model = *next.at(each.name);
    auto const labels = model.settings().labels;
    for (auto const& [label, number] : each.labels) {
      auto const former = labels.find(label);
      bool const may_wait = options_.labels_without_versions && (former == labels.end() || former->second == number);
      auto const found =
          std::find_if(kept.begin(), kept.end(), [&](auto const& one) { return one.first.get() == &model; });
      if (may_wait || (found != kept.end() && found->second.contains(number))) continue;
      settle();
      throw http_error{412, "Request to assign label to version " + std::to_string(number) + " of model " + each.name +
                                ", which is not currently available for inference"};
    }
  }
  for (auto& each : models) next.at(each.name)->change(std::move(each));
  settle();
}

/// Reads the file if it has changed.
void model_watcher::read_config() {
  auto models = options_.models;
  if (!options_.config_file.empty()) {
    auto text = read_option_file(options_.config_file);
    if (has_looked_ && text == config_text_) return;
    config_text_ = std::move(text);
    for (auto& each : parse_model_config(config_text_, options_.config_file)) models.push_back(std::move(each));
  } else if (has_looked_) {
    return;
  }
  try {
    apply(std::move(models));
    config_problem_.clear();
  } catch (http_error const& why) {
    throw file_error("E5300", (options_.config_file.empty() ? "" : options_.config_file + ": ") + why.text);
  }
}

void model_watcher::look() noexcept {
  for (auto const& [name, model] : *models_.all()) {
    try {
      if (!unloaded_.contains(name)) model->update();
    } catch (std::exception const& why) {  // there was no memory to report the reason
      if (log().error) std::fprintf(stderr, "model '%s': cannot be looked at: %s\n", name.c_str(), why.what());
    }
  }
}

void model_watcher::run() {
  auto const after = [](std::chrono::duration<double> pause) {
    constexpr std::chrono::hours never{24 * 365};
    return clock::now() + (pause.count() > 0 ? std::chrono::duration_cast<clock::duration>(pause) : never);
  };
  std::unique_lock lock(mutex_);
  auto look_at = clock::now(), read_at = look_at;
  while (!ends_) {
    if (!tasks_.empty()) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
      continue;
    }
    bool const was_asked = std::exchange(is_asked_, false);
    auto const now = clock::now();
    bool const reads = was_asked || now >= read_at, looks = has_looked_ && (was_asked || now >= look_at);
    std::exception_ptr problem;
    lock.unlock();
    if (reads) {
      try {
        read_config();
      } catch (std::exception const& why) {
        problem = std::current_exception();
        config_text_.clear();  // it is tried again
        if (has_looked_ && config_problem_ != why.what() && log().error)
          std::fprintf(stderr, "stagecraft: %s\n", why.what());
        try {
          config_problem_ = why.what();
        } catch (std::bad_alloc const&) {  // it is said once more
        }
      }
      read_at = after(options_.config_pause);
    }
    if (looks) look();
    if (looks || !has_looked_) look_at = after(options_.pause);
    lock.lock();
    if (!has_looked_) problem_ = problem;
    has_looked_ = true;
    changes_.wait_until(lock, std::min(look_at, read_at), [this] { return ends_ || is_asked_ || !tasks_.empty(); });
  }
  tasks_.clear();
  has_ended_ = true;
  changes_.notify_all();
}

}  // namespace stagecraft::tool
