// SPDX-License-Identifier: BSD-3-Clause
// How the layers of a model are got from its own code.
#pragma once

#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/type_tag.hpp>

namespace stagecraft::tracing {

/// Collects the layers of one type while a model is traced once more.
struct layer_collector {
  type_tag const* wanted = no_type;
  constexpr virtual void take(layer_base const& layer) = 0;

 protected:
  constexpr ~layer_collector() = default;
};

}  // namespace stagecraft::tracing
