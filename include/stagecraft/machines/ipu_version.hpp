// SPDX-License-Identifier: BSD-3-Clause
// The kind of IPU that a configuration names: IPUConfig's `ipu_model.version`.
#pragma once

#include <stagecraft/machines/ipu_target.hpp>

namespace stagecraft {

/// Names a description that is a constant: `ipu_targets::bow`, or one's own `inline constexpr stagecraft::ipu_target`.
/// It is only named, so that types and messages that depend on a configuration do not hold all its numbers.
struct ipu_version {
  ipu_target const* target;

  constexpr ipu_version(ipu_target const& named) noexcept : target(&named) {}
  ipu_version(ipu_target const&&) = delete;  // give the description a name: a constant at namespace scope

  [[nodiscard]] constexpr ipu_target const& operator*() const noexcept { return *target; }
  [[nodiscard]] constexpr ipu_target const* operator->() const noexcept { return target; }
  friend constexpr bool operator==(ipu_version, ipu_version) = default;
};

}  // namespace stagecraft
