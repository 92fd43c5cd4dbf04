// SPDX-License-Identifier: BSD-3-Clause
// The logs of each epoch of a training. Keras counterpart: tf.keras.callbacks.History.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/training/callbacks/callback.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::trainers {

/// One sequence of numbers per name, in the order in which the names appeared.
class named_series {
 public:
  struct series {
    std::string name;
    std::vector<double> values;
  };

  /// True if any epoch has reported a number with this name.
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

  /// The numbers with this name, one per epoch that reported it. Throws data_error E4013, with the known names.
  [[nodiscard]] std::vector<double> const& at(std::string_view name) const {
    if (series const* const found = find(name)) return found->values;
    throw_unknown(name);
  }
  /// Equals `at(name)`.
  [[nodiscard]] std::vector<double> const& operator[](std::string_view name) const { return at(name); }

  /// Appends a number to the series of a name.
  [[gnu::cold]] void append(std::string_view name, double value) {
    series* one = const_cast<series*>(find(name));
    if (one == nullptr) {
      std::string own(name);  // made first: if memory for it fails, no series is added
      one = &series_.emplace_back();
      one->name.swap(own);
    }
    one->values.push_back(value);
  }

  [[nodiscard]] std::size_t size() const noexcept { return series_.size(); }
  [[nodiscard]] bool empty() const noexcept { return series_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return series_.begin(); }
  [[nodiscard]] auto end() const noexcept { return series_.end(); }

 private:
  [[noreturn, gnu::cold]] void throw_unknown(std::string_view name) const {
    std::string list;
    for (series const& s : series_) {
      if (!list.empty()) list += ", ";
      list += s.name;
    }
    throw_data_error("E4013", "history: nothing is named '%.*s'; there are: %s", static_cast<int>(name.size()),
                     name.data(), list.c_str());
  }

  [[nodiscard]] series const* find(std::string_view name) const noexcept {
    for (series const& s : series_)
      if (s.name == name) return &s;
    return nullptr;
  }

  tracing::growing_array<series> series_;
};

/// Records the logs of each epoch; `fit` returns it: `history.history["val_accuracy"].back()`.
class training_history : public callback {
 public:
  std::vector<int> epoch;  ///< the epochs' numbers, from 0
  named_series history;    ///< their logs: "loss", "val_loss", ...

  /// Equals `history.at(name)`.
  [[nodiscard]] std::vector<double> const& at(std::string_view name) const { return history.at(name); }

  void on_train_begin(logs&) override { epoch.clear(); }
  [[gnu::cold]] void on_epoch_end(int number, logs& values) override {
    epoch.push_back(number);
    for (logs::entry const& e : values) history.append(e.name, e.value);
  }
};

}  // namespace stagecraft::trainers
