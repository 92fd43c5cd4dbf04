// SPDX-License-Identifier: BSD-3-Clause
// Tensors of TensorFlow's messages.
#pragma once

#include "serve/grpc/rpc_call.hpp"
#include "tensorflow.pb.h"
#include "tensorflow_serving.pb.h"

#include <stagecraft/serving/servable.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// The lengths of a shape. Throws http_error 400 if the rank is unknown.
[[nodiscard]] std::vector<std::int64_t> shape_of(std::string const& input, tensorflow::TensorShapeProto const& shape);

/// The numbers of an input, as many as its shape has. A list that is shorter than the shape is continued by its last
/// number, an empty one is zeros, as TensorFlow does; the call counts their bytes first. Throws http_error 400 for
/// types without numbers, for bytes and lists that do not fit the type and shape, and for numbers that the type or
/// float32 cannot hold.
[[nodiscard]] std::vector<float> numbers_of(rpc_call& call, std::string const& input,
                                            tensorflow::TensorProto const& tensor,
                                            std::vector<std::int64_t> const& shape);

/// The numbers of an input of bytes. A list of texts that is shorter than the shape is continued by its last one.
/// Throws http_error 400 for another type, tensor_content, and a text that is too long.
[[nodiscard]] std::vector<float> numbers_of_texts(rpc_call& call, serving::tensor_spec const& input,
                                                  tensorflow::TensorProto const& tensor, std::int64_t samples);

/// Throws http_error 400 with TensorFlow Serving's words if the request has more or fewer inputs than the signature.
void check_inputs(tensorflow::serving::PredictRequest const& request, std::vector<serving::tensor_spec> const& inputs);
/// The places of the outputs that a request asks for, all without a filter. Throws http_error 400 with TensorFlow
/// Serving's words.
[[nodiscard]] std::vector<std::size_t> places_of_wanted(tensorflow::serving::PredictRequest const& request,
                                                        std::vector<serving::tensor_spec> const& outputs);

/// Writes an output of `samples` samples.
void write_tensor(serving::tensor_spec const& spec, std::int64_t samples, std::vector<float> const& values,
                  tensorflow::TensorProto& to);
/// Describes an input or output as clients see it, whose first axis is open.
void write_info(serving::tensor_spec const& spec, tensorflow::TensorInfo& to);

}  // namespace stagecraft::tool
