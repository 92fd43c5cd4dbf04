// SPDX-License-Identifier: BSD-3-Clause
// The layer that an entry of a stage assignment is for. Keras counterpart: LayerPipelineStageAssignment.layer.
#pragma once

#include <stagecraft/graph/graph.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/type_tag.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

/// A layer of a model, to be asked for its name and class, and compared: with the layer of another entry, or with a
/// member of a model subclass, `call.layer() == sc::members_of<network>.dense_1`.
struct assigned_layer {
  tracing::graph_view const* graph = nullptr;
  int index = 0;

  [[nodiscard]] constexpr tracing::layer_info const& info() const { return graph->layer(index); }
  [[nodiscard]] constexpr std::string_view name() const { return info().name; }
  [[nodiscard]] constexpr std::string_view class_name() const { return info().class_name; }

  friend constexpr bool operator==(assigned_layer const&, assigned_layer const&) = default;
  /// Whether it is this layer. One that the model's outputs do not need is equal to none.
  template <std::derived_from<tracing::layer_base> Layer>
  friend constexpr bool operator==(assigned_layer const& assigned, Layer const& member) {
    return assigned.info().traced_id == member.layer_id &&
           tracing::same_type(assigned.info().type, tracing::tag_of<Layer>);
  }
};

}  // namespace stagecraft
