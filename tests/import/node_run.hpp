// SPDX-License-Identifier: BSD-3-Clause
// Carries out an imported model layer by layer: each is traced when the program runs, and its list of operations is
// carried out by the host's runner. A model then costs compilers one instantiation of each of its calls, so that one
// program compares hundreds of ONNX's cases with their recorded outputs.
#pragma once

#include <stagecraft/io/safetensors.hpp>
#include <stagecraft/io/weights.hpp>
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/stagecraft.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>
#include "../host/lists/run_plan.hpp"

namespace node_run {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as the models name them

/// The values of a tensor for all samples; the bits of those of int32.
struct tensor {
  sc::shape sample;
  std::vector<float> values;
};

class model {
 public:
  /// Reads the weights and the recorded values that `stagecraft import` wrote.
  explicit model(std::string const& name)
      : weights_(sc::read_safetensors(name + ".safetensors")),
        recorded_(sc::read_safetensors(name + "_test.safetensors")) {}

  /// The recorded values of the next input, whose samples have the shape `of`.
  tensor input(sc::shape of, sc::dtype type = sc::dtype::float32) {
    auto const* const found = recorded_.find("inputs:" + std::to_string(inputs_++));
    if (found == nullptr) throw std::runtime_error("no recorded input");
    batch_ = static_cast<int>(found->shape.at(0));
    if (type != sc::dtype::int32) return {of, sc::io::to_floats(*found)};
    if (found->type != sc::element_type::int32) throw std::runtime_error("the recorded input is not of int32");
    of.is_whole = true;
    std::vector<float> bits(found->bytes.size() / sizeof(float));
    std::memcpy(bits.data(), found->bytes.data(), found->bytes.size());
    return {of, std::move(bits)};
  }

  template <class Layer>
  tensor apply(Layer const& layer, std::string const& name, std::vector<tensor> const& inputs) const {
    std::vector<sc::shape> shapes;
    sc::operations::runs::numbers with;
    for (auto const& each : inputs) shapes.push_back(each.sample), with.inputs.push_back(each.values);
    sc::operations::traced_plan plan(sc::layers::detail::trace_layer(layer, shapes, batch_, false), false);
    plan.backward_places = plan.forward_places;  // the runner looks all values up in both, and runs nothing backward
    auto const& traced = plan.traced;
    if (traced.list.problem.failed()) throw std::runtime_error(std::string(traced.list.problem.text.view()));
    if (traced.outputs.empty()) throw std::runtime_error("the layer has no output");
    for (auto const& each : traced.weights) {
      auto const* const found = weights_.find(name + "/" + std::string(each.name.view()) + ":0");
      if (found == nullptr) throw std::runtime_error("no weight of " + name);
      with.weights.push_back(sc::io::to_floats(*found));
    }
    sc::operations::runs::float_run const run(plan, with);
    auto const& node = traced.list.node_of(traced.outputs[0]);
    sc::shape sample;
    for (int i = 1; i < node.shape.rank; ++i) sample.push_back(node.shape[i]);
    sample.is_whole = node.type == sc::dtype::int32;
    return {sample, with.output};
  }

  /// Compares the next output as the written tests do, and prints the difference.
  void output(tensor found) {
    if (found.sample.is_whole)  // users get floats
      for (float& each : found.values) each = static_cast<float>(std::bit_cast<std::int32_t>(each));
    auto const* const expected = recorded_.find("outputs:" + std::to_string(outputs_));
    if (expected == nullptr) throw std::runtime_error("no recorded output");
    auto const values = sc::io::to_floats(*expected);
    auto const off = difference(found.values, values);
    bool const is_right = off < 1e-4 || is_close(found.values, values);
    std::printf("output %d: %.1e %s\n", outputs_++, off, is_right ? "right" : "differs");
  }

 private:
  /// The bounds of ONNX's own test runner: some cases record four digits.
  static bool is_close(std::vector<float> const& found, std::vector<float> const& expected) {
    if (found.size() != expected.size()) return false;
    for (std::size_t i = 0; i < found.size(); ++i) {
      double const value = static_cast<double>(found[i]), right = static_cast<double>(expected[i]);
      if (!(std::fabs(value - right) <= 1e-7 + 1e-3 * std::fabs(right))) return false;
    }
    return true;
  }
  /// The largest difference, in parts of the largest finite value.
  static double difference(std::vector<float> const& found, std::vector<float> const& expected) {
    if (found.size() != expected.size()) return INFINITY;
    double difference = 0, largest = 1e-30;
    for (std::size_t i = 0; i < found.size(); ++i) {
      float const value = found[i], right = expected[i];
      bool const is_same = value == right || (std::isnan(value) && std::isnan(right));
      if (!is_same && !(std::isfinite(value) && std::isfinite(right))) return INFINITY;
      if (!std::isfinite(right)) continue;
      largest = std::fmax(largest, std::fabs(static_cast<double>(right)));
      difference = std::fmax(difference, std::fabs(static_cast<double>(value) - static_cast<double>(right)));
    }
    return difference / largest;
  }

  sc::tensor_file weights_, recorded_;
  int inputs_ = 0, outputs_ = 0, batch_ = 1;
};

}  // namespace node_run
