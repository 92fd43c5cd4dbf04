// SPDX-License-Identifier: BSD-3-Clause
// The scope that puts calls into a pipeline stage: keras.ipu.PipelineStage. Level 3.
#pragma once

#include <stagecraft/graph/model_builder.hpp>

namespace stagecraft {

/// While it lives, the calls made in a functional model's `build` (or a subclass's `call`) belong to a stage, and
/// `model.layer(dense{8})` makes layers that remember it:
///
///     { sc::pipeline_stage stage(model, 0);  x = dense(64)(x); }
///     { sc::pipeline_stage stage(model, 1);  x = dense(10)(x); }
///
/// A call's own stage goes before that of its layer. As soon as one call has a stage, all need one (E2003). Scopes are
/// never nested (E2011), and stages are numbered from 0 (E2012).
/// Definition: Graphcore, Keras with IPUs, "Pipeline stage scopes".
class pipeline_stage {
 public:
  constexpr pipeline_stage(model_builder& model, int stage, char const* file = __builtin_FILE(),
                           int line = __builtin_LINE())
      : model_(model), outer_(model.open_stage) {
    if (outer_ != unassigned)
      model.problem.report(2011, "the scope of pipeline stage ", stage, " is opened inside the scope of stage ", outer_,
                           "; scopes are never nested, close the first one before");
    if (stage < 0) model.problem.report(2012, "pipeline stage ", stage, " is negative; stages are numbered from 0");
    model.problem.locate({file, line});
    model.open_stage = stage;
  }
  constexpr ~pipeline_stage() { model_.open_stage = outer_; }
  pipeline_stage(pipeline_stage const&) = delete;
  pipeline_stage& operator=(pipeline_stage const&) = delete;

 private:
  model_builder& model_;
  int outer_;
};

}  // namespace stagecraft
