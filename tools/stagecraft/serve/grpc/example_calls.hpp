// SPDX-License-Identifier: BSD-3-Clause
// Calls of TensorFlow Serving's PredictionService for signatures of examples. They throw http_error.
#pragma once

#include "serve/grpc/rpc_call.hpp"
#include "tensorflow_serving.pb.h"

namespace stagecraft::tool {

void classify(rpc_call& call, tensorflow::serving::ClassificationRequest const& request,
              tensorflow::serving::ClassificationResponse& response);
void regress(rpc_call& call, tensorflow::serving::RegressionRequest const& request,
             tensorflow::serving::RegressionResponse& response);
/// Answers several tasks by one call of the model: their signatures have the same features.
void infer_tasks(rpc_call& call, tensorflow::serving::MultiInferenceRequest const& request,
                 tensorflow::serving::MultiInferenceResponse& response);
/// Answers Predict by a signature of examples, whose tensor is one of serialized ones.
void predict_examples(rpc_call& call, served_version const& version, bound_signature const& signature,
                      tensorflow::serving::PredictRequest const& request,
                      tensorflow::serving::PredictResponse& response);

}  // namespace stagecraft::tool
