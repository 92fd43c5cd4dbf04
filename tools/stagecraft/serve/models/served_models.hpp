// SPDX-License-Identifier: BSD-3-Clause
// The models of a server: folders with versions, of which a policy says which are served. Versions come and go while
// calls are answered.
#pragma once

#include "serve/examples/signatures.hpp"
#include "serve/models/call_times.hpp"
#include "serve/models/ensemble.hpp"
#include "serve/models/host_policies.hpp"
#include "serve/models/model_engines.hpp"
#include "serve/models/model_settings.hpp"
#include "serve/models/sequence_batcher.hpp"

#include <stagecraft/serving/runtime_options.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// A version that answers. Its owner may call it even after a later version has come.
struct served_version {
  std::int64_t number = 1;
  std::shared_ptr<model_engines> runtime;
  std::shared_ptr<call_times> times;
  std::shared_ptr<sequence_batcher> sequences;                   ///< null: its calls do not depend on each other
  std::shared_ptr<ensemble const> steps;                         ///< null: it is no ensemble
  std::shared_ptr<std::string const> model;                      ///< its name
  std::shared_ptr<model_signatures const> signatures = nullptr;  ///< null only without a runtime

  /// The model as callers see it.
  [[nodiscard]] serving::servable_description const& description() const noexcept {
    return sequences != nullptr ? sequences->visible() : runtime->description();
  }
};

/// State of a version, by TensorFlow Serving's names: LOADING, AVAILABLE, UNLOADING while it answers its last calls,
/// and END.
struct version_state {
  std::string state, error_message;
};

class served_models;

/// What all models share.
struct model_surroundings {
  served_models const* all = nullptr;  ///< where an ensemble finds its models
  host_policies policies;
  std::vector<cpu_set_t> nodes =
      {};  ///< each has an instance of a model that says nothing of instances; empty: one has none
};

/// A model, by the folder of its versions: `<folder>/<number>/application.so`, whose number may begin with zeros; a
/// folder with an application is itself version 1.
class served_model {
 public:
  /// `runtime_api_timeout_us`: overrides the application.json of a version.
  served_model(model_settings settings, serving::runtime_options const& options,
               std::optional<int> runtime_api_timeout_us, std::shared_ptr<model_surroundings const> around)
      : settings_(std::move(settings)),
        options_(options),
        runtime_api_timeout_us_(runtime_api_timeout_us),
        around_(std::move(around)) {}

  [[nodiscard]] model_settings settings() const;
  /// Takes another policy and other labels, for the next `update`. The folder stays.
  void change(model_settings settings);

  /// Checks for versions, and loads those that the policy asks for, beside the present ones; only then it lets go of
  /// those that are not asked for any more, which finish the calls that they have. A version that cannot be loaded is
  /// reported once and tried again each time, and a lower one is served in its place. If there is nothing to serve, the
  /// present versions stay. Only one thread calls it.
  void update() { keep(bring()); }
  /// The two halves of `update`, between which labels may move: loads what the policy asks for, and returns it; lets go
  /// of all others, unless there is nothing to keep.
  [[nodiscard]] std::set<std::int64_t> bring();
  void keep(std::set<std::int64_t> const& numbers);
  /// Lets go of all versions, until `update`.
  void unload();

  /// A version; without a runtime if it is not served. Throws http_error 400 for a label that the model does not have.
  [[nodiscard]] served_version version(version_choice const& which = {}) const;
  /// The version that has this sequence, which may be one that was let go of; without a runtime if there is none.
  [[nodiscard]] served_version version_of(sequence_request const& sequence) const;
  /// All versions that are served, by their numbers.
  [[nodiscard]] std::vector<served_version> versions() const;
  [[nodiscard]] std::map<std::int64_t, version_state> states() const;

 private:
  /// Makes a version. Throws what is wrong with it.
  [[nodiscard]] served_version make(std::string const& name, std::int64_t number, std::string const& folder) const;
  /// Loads a version; false if it cannot be.
  bool load(std::string const& name, std::int64_t number, std::string const& folder);
  void let_go(std::string const& name, std::vector<std::int64_t> const& numbers);

  model_settings settings_;
  serving::runtime_options options_;
  std::optional<int> runtime_api_timeout_us_;
  std::shared_ptr<model_surroundings const> around_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, served_version> served_;
  std::map<std::int64_t, version_state> states_;
  std::multimap<std::int64_t, std::weak_ptr<model_engines>> leaving_;  ///< let go, perhaps not yet done
  std::vector<served_version> lingering_;                              ///< let go, but with sequences
  std::map<std::int64_t, std::string> problems_;  ///< reported problems of versions that share a number
};

/// All models, by their names, in a table that is replaced as a whole.
class served_models {
 public:
  using table = std::map<std::string, std::shared_ptr<served_model>, std::less<>>;

  /// The present table, which does not change. Allocates nothing.
  [[nodiscard]] std::shared_ptr<table const> all() const;
  /// The model with this name, or null.
  [[nodiscard]] std::shared_ptr<served_model> find(std::string_view name) const;
  void replace(table models);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<table const> models_ = std::make_shared<table>();
};

}  // namespace stagecraft::tool
