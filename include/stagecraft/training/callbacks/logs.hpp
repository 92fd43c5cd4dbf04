// SPDX-License-Identifier: BSD-3-Clause
// Named numbers that training reports to callbacks.
// Keras counterpart: the `logs` dictionaries.
#pragma once

#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/growing_array.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace stagecraft {

/// An ordered list of names and numbers, in the order in which the names were first set. Setting a value whose name
/// exists allocates nothing, so a training loop names its values once, before the first step.
class logs {
 public:
  struct entry {
    std::string name;  ///< "loss", "val_accuracy" ...
    double value = 0;  ///< a mean over samples, unless the metric is none
  };

  logs() = default;
  logs(std::initializer_list<entry> entries) : entries_(entries) {}

  /// The address of the value with this name; null if there is none.
  [[nodiscard]] double const* find(std::string_view name) const noexcept {
    for (entry const& e : entries_)
      if (e.name == name) return &e.value;
    return nullptr;
  }
  /// True if there is a value with this name.
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

  /// The value with this name. Throws data_error E4013, with the known names.
  [[nodiscard]] double at(std::string_view name) const {
    if (double const* const value = find(name)) return *value;
    detail::throw_data_error("E4013", "logs: no value is named '%.*s'; there are: %s", static_cast<int>(name.size()),
                             name.data(), names().c_str());
  }

  /// The value with this name, which is appended as 0 if there was none.
  double& operator[](std::string_view name) {
    if (double const* const value = find(name)) return const_cast<double&>(*value);
    return append(name);
  }

  /// The value at a position, to set values without a search for names.
  double& value(std::size_t index) { return entries_[index].value; }
  [[nodiscard]] double value(std::size_t index) const { return entries_[index].value; }
  /// The name at a position.
  [[nodiscard]] std::string_view name(std::size_t index) const { return entries_[index].name; }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  void clear() noexcept { entries_.clear(); }
  [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
  [[nodiscard]] auto end() const noexcept { return entries_.end(); }

  /// All names in a text: "loss, accuracy".
  [[nodiscard, gnu::cold]] std::string names() const {
    std::string list;
    for (entry const& e : entries_) {
      if (!list.empty()) list += ", ";
      list += e.name;
    }
    return list;
  }

 private:
  [[gnu::cold, gnu::noinline]] double& append(std::string_view name) {
    std::string own(name);  // made first: if memory for it fails, no entry is added
    entry& added = entries_.emplace_back();
    added.name.swap(own);
    return added.value;
  }

  tracing::growing_array<entry> entries_;
};

}  // namespace stagecraft
