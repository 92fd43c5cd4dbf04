// SPDX-License-Identifier: BSD-3-Clause
// The two ways to write a pipeline stage: the scope that puts calls into it (keras.ipu.PipelineStage), and its layers
// as a value for a template argument (a list of ipu.keras.PipelineSequential).
#pragma once

#include <stagecraft/graph/model_builder.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::pipeline {

/// One of a stage's layers. Bases side by side cost the compiler less than layers inside each other.
template <std::size_t Index, class Layer>
struct stage_entry {
  Layer layer;
};

template <class Indices, class... Layers>
struct stage_entries;
template <std::size_t... Index, class... Layers>
struct stage_entries<std::index_sequence<Index...>, Layers...> : stage_entry<Index, Layers>... {
  constexpr explicit stage_entries(Layers const&... layer) : stage_entry<Index, Layers>{layer}... {}
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// The layers of a pipeline stage, written as in a sequential model: `stage{dense{128, sc::relu}, dense{10}}`.
template <class... Layers>
struct stage : detail::stage_entries<std::index_sequence_for<Layers...>, Layers...> {
  static constexpr std::size_t size = sizeof...(Layers);

  constexpr stage(Layers const&... layer)
      : detail::stage_entries<std::index_sequence_for<Layers...>, Layers...>(layer...) {}
};
template <class... Layers>
stage(Layers const&...) -> stage<Layers...>;

}  // namespace stagecraft

namespace stagecraft::pipeline {

template <class T>
inline constexpr bool is_stage = false;
template <class... Layers>
inline constexpr bool is_stage<stage<Layers...>> = true;

template <std::size_t Index, class Layer>
constexpr Layer const& layer_in(stage_entry<Index, Layer> const& entry) {
  return entry.layer;
}

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// While it lives, the calls made in a functional model's `build` (or a subclass's `call`) belong to a stage, and
/// `model.layer(dense{8})` makes layers that remember it:
///
///     { sc::pipeline_stage stage(model, 0);  x = dense(64)(x); }
///     { sc::pipeline_stage stage(model, 1);  x = dense(10)(x); }
///
/// A call's own stage goes before that of its layer. As soon as a scope is opened or a layer has a stage, all calls
/// need one (E2003). Scopes are never nested (E2011), stages are numbered from 0 (E2012), and a scope holds a call, an
/// input or a layer that is made with `model.layer(...)` (E2055): nothing tells a layer that is made as `dense{8}` of
/// it. Definition: Graphcore, Keras with IPUs, "Pipeline stage scopes".
class pipeline_stage {
 public:
  [[nodiscard]] constexpr pipeline_stage(tracing::model_builder& model, int stage, char const* file = __builtin_FILE(),
                                         int line = __builtin_LINE())
      : model_(model), outer_(model.open_stage), made_before_(model.made_in_scopes), where_{file, line} {
    if (outer_ != tracing::unassigned)
      model.problem.report(2011, "the scope of pipeline stage ", stage, " is opened inside the scope of stage ", outer_,
                           "; scopes are never nested, close the first one before");
    if (stage < 0) model.problem.report(2012, "pipeline stage ", stage, " is negative; stages are numbered from 0");
    model.problem.locate(where_);
    model.open_stage = stage;
    model.uses_stages = true;
  }
  constexpr ~pipeline_stage() {
    if (model_.made_in_scopes == made_before_ && !model_.problem.failed()) {
      model_.problem.report(2055, "nothing is called in the scope of pipeline stage ", model_.open_stage,
                            ", so that it assigns nothing; call layers in it, or make them in it with "
                            "model.layer(dense{8}), to be called later");
      model_.problem.locate(where_);
    }
    model_.open_stage = outer_;
  }
  pipeline_stage(pipeline_stage const&) = delete;
  pipeline_stage& operator=(pipeline_stage const&) = delete;

 private:
  tracing::model_builder& model_;
  int outer_;
  int made_before_;
  diagnostics::source_line where_;
};

}  // namespace stagecraft
