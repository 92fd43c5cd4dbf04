// SPDX-License-Identifier: BSD-3-Clause
// The models of a server: folders with versions, the highest of which is served until a higher one replaces it.
#pragma once

#include <stagecraft/serving/embedded_runtime.hpp>
#include <stagecraft/serving/runtime_options.hpp>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace stagecraft::tool {

/// A version that answers. Its owner may call it even after a later version has come.
struct served_version {
  std::int64_t number = 1;
  std::shared_ptr<serving::embedded_runtime> runtime;
};

/// State of a version: TensorFlow Serving's AVAILABLE or END.
struct version_state {
  std::string state, error_message;
};

/// A model, by the folder of its versions: `<folder>/<number>/application.so`, whose number may begin with zeros; a
/// folder with an application is itself version 1.
class served_model {
 public:
  /// `runtime_api_timeout_us`: overrides the application.json of a version.
  served_model(std::string name, std::string folder, serving::runtime_options const& options,
               std::optional<int> runtime_api_timeout_us)
      : name_(std::move(name)),
        folder_(std::move(folder)),
        options_(options),
        runtime_api_timeout_us_(runtime_api_timeout_us) {}

  [[nodiscard]] std::string const& name() const noexcept { return name_; }

  /// Checks for versions. A higher one is loaded beside the present one, which answers until then and finishes the
  /// calls that it has. A version that cannot be loaded is reported once, and tried again each time.
  void update();

  /// The present version; without a runtime if there is none. `number`: only that one.
  [[nodiscard]] served_version version(std::int64_t number = 0) const;
  [[nodiscard]] std::map<std::int64_t, version_state> states() const;

 private:
  /// Returns the options of the version in a folder. Throws file_error E5030 its application.json has no valid time.
  [[nodiscard]] serving::runtime_options options_of(std::string const& folder) const;

  std::string name_, folder_;
  serving::runtime_options options_;
  std::optional<int> runtime_api_timeout_us_;
  mutable std::mutex mutex_;
  served_version present_;
  std::map<std::int64_t, version_state> states_;
  std::map<std::int64_t, std::string> problems_;  ///< reported problems of versions that share a number
};

/// All models, by their names.
using served_models = std::map<std::string, std::unique_ptr<served_model>, std::less<>>;

}  // namespace stagecraft::tool
