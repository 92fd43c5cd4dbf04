// SPDX-License-Identifier: BSD-3-Clause
// A model that two translation units use.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace two_units {

struct model : stagecraft::functional<model> {
  static constexpr auto build(auto& builder) {
    namespace layers = stagecraft::layers;
    auto x = builder.input(4);
    layers::dense shared{4};
    return layers::add{}(shared(x), shared(layers::activation{stagecraft::relu}(x)));
  }
};
using staged = stagecraft::pipelined<model, stagecraft::stages<0, 0, 0, 1>>;

/// What the other unit sees.
stagecraft::tracing::graph_view const* graph_in_other_unit();
stagecraft::tracing::type_tag const* dense_tag_in_other_unit();
int stages_in_other_unit();

}  // namespace two_units
