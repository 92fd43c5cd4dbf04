// SPDX-License-Identifier: BSD-3-Clause
// Options of Graphcore's pipelines that are said elsewhere here, so that whoever writes one of them reads where.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <string_view>

namespace stagecraft::pipeline {

enum class reserved_key : unsigned char {
  gradient_accumulation_count,
  repeat_count,
  gradient_accumulation_reduction_method,
  pipeline_schedule,
  device_mapping,
  computational_stages,
  inputs,
  infeed_queue,
  outfeed_queue,
  optimizer_function,
  slice_options,
  experimental_normalize_gradients
};

struct reserved_text {
  std::string_view key, substitute;
};

constexpr reserved_text text_of(reserved_key key) {
  switch (key) {
    case reserved_key::gradient_accumulation_count:
      return {"gradient_accumulation_count",
              "write gradient_accumulation_steps_per_replica, the number of one replica"};
    case reserved_key::repeat_count:
      return {"repeat_count",
              "it follows from steps_per_execution of the training, divided by "
              "gradient_accumulation_steps_per_replica"};
    case reserved_key::gradient_accumulation_reduction_method:
      return {"gradient_accumulation_reduction_method", "write reduction_method"};
    case reserved_key::pipeline_schedule: return {"pipeline_schedule", "write schedule"};
    case reserved_key::device_mapping:
      return {"device_mapping", "it belongs to the model, pipelined<model, stages<0, 1>, device_mapping<0, 1>>"};
    case reserved_key::computational_stages:
      return {"computational_stages", "they belong to the model, pipelined<model, stages<0, 1>>"};
    case reserved_key::inputs: return {"inputs", "fit, evaluate and predict take the data"};
    case reserved_key::infeed_queue: return {"infeed_queue", "write it outside of .pipeline, in the training"};
    case reserved_key::outfeed_queue: return {"outfeed_queue", "write it outside of .pipeline, in the training"};
    case reserved_key::optimizer_function:
      return {"optimizer_function", "write .optimizer outside of .pipeline, in the training"};
    case reserved_key::slice_options:
      return {"slice_options", "tables are looked up without a plan; write convolution_options or matmul_options"};
    default:
      return {"experimental_normalize_gradients",
              "write reduction_method = gradient_accumulation_reduction_method::mean"};
  }
}

/// A field that cannot be given a value: E2058.
template <reserved_key Key>
struct reserved_option {
  constexpr reserved_option() = default;
  template <class... Value>
    requires(sizeof...(Value) > 0)
  constexpr reserved_option(Value const&...) {
    static_assert(report<problem<Value...>>());
  }

 private:
  template <class...>
  static constexpr diagnostic problem = [] {
    diagnostic result;
    result.report(2058, "pipeline has no option ", text_of(Key).key, "; ", text_of(Key).substitute);
    return result;
  }();
};

}  // namespace stagecraft::pipeline
