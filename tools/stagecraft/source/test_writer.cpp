// SPDX-License-Identifier: BSD-3-Clause
#include "source/test_writer.hpp"

#include "onnx/onnx_constants.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/npy.hpp>
#include <algorithm>
#include <cmath>

namespace stagecraft::tool {

namespace {

shape shape_of(source_model const& model, source_tensor const& tensor) {
  return model.calls[static_cast<std::size_t>(tensor.call)].outputs[static_cast<std::size_t>(tensor.output)].value();
}

template <class T>
stored_tensor tensor_of(element_type type, std::string const& name, std::vector<std::int64_t> const& shape,
                        std::vector<double> const& values) {
  stored_tensor result{name, type, shape, {}};
  for (double const value : values) {
    auto const element = static_cast<T>(value);
    auto const* const bytes = reinterpret_cast<std::byte const*>(&element);
    result.bytes.insert(result.bytes.end(), bytes, bytes + sizeof element);
  }
  return result;
}

/// Puts an array's axes from the file's order into the model's; axes of length 1 that the model lacks are left out, and
/// those that it has alone, below 0 in `axes`, are added. An array without elements becomes the number that stands in
/// its place.
stored_tensor with_axes(stored_tensor const& from, std::vector<int> const& axes) {
  if (!axes.empty() && axes.back() == unread_axis && from.size() == 0)
    return io::float_tensor(from.name, std::vector<std::int64_t>{1, 1}, std::vector<float>{0});
  std::vector<int> order;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(order), [](int axis) { return axis >= 0; });
  auto const own = order.size();
  for (int axis = 0; axis < static_cast<int>(from.shape.size()); ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  if (order.size() != from.shape.size()) return from;
  auto const moved = transposed(constant_of(from), order);
  std::vector<std::int64_t> shape;
  auto next = moved.shape.begin();
  for (int const axis : axes) shape.push_back(axis < 0 ? 1 : *next++);
  auto rest = moved.shape;
  rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(own));
  while (!rest.empty() && rest.back() == 1) rest.pop_back();
  shape.insert(shape.end(), rest.begin(), rest.end());
  if (moved.is_whole) return tensor_of<std::int64_t>(element_type::int64, from.name, shape, moved.values);
  std::vector<float> const floats(moved.values.begin(), moved.values.end());
  return io::float_tensor(from.name, shape, floats);
}

/// The numbers of an input of int32.
stored_tensor words_of(stored_tensor const& from, std::string const& file) {
  auto const values = constant_of(from).values;
  for (double const value : values)
    if (value != std::trunc(value) || value < -0x1p31 || value >= 0x1p31)
      throw file_error("E5066", file + ": has the number " + number_text(value).str() + ", but the input is of int32");
  return tensor_of<std::int32_t>(element_type::int32, from.name, from.shape, values);
}

bool is_of_words(source_model const& model, int input) {
  return input_type(model.layer_of(model.calls[static_cast<std::size_t>(input)])) == dtype::int32;
}

void add_recorded(std::vector<std::string> const& files, std::vector<shape> const& shapes,
                  std::vector<std::vector<int>> const& axes, char const* what, std::int64_t& samples, tensor_file& to,
                  std::vector<bool> const& are_words) {
  if (files.size() != shapes.size())
    throw file_error("E5066", "--test-" + std::string(what) + ": the model has " + std::to_string(shapes.size()) +
                                  ", found " + std::to_string(files.size()) + " files");
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto tensor = read_npy(files[i]);
    if (!axes.empty()) tensor = with_axes(tensor, axes[i]);
    std::vector<std::int64_t> expected{samples == 0 && !tensor.shape.empty() ? tensor.shape[0] : samples};
    expected.insert(expected.end(), shapes[i].begin(), shapes[i].end());
    if (tensor.shape != expected || expected[0] < 1)
      throw file_error("E5066", files[i] + ": has the shape " + io::shape_text(tensor.shape) + ", expected " +
                                    io::shape_text(expected));
    samples = expected[0];
    if (are_words[i]) {
      to.tensors.push_back(words_of(tensor, files[i]));
      to.tensors.back().name = std::string(what) + ":" + std::to_string(i);
      continue;
    }
    auto const values = io::to_floats(tensor);
    to.tensors.push_back(io::float_tensor(std::string(what) + ":" + std::to_string(i), expected, values));
  }
}

/// A list of numbered names: "a0, a1, a2".
source_text list_of(own_text name, std::size_t count) {
  std::vector<source_text> entries;
  for (std::size_t i = 0; i < count; ++i) entries.push_back(name + number_text(i));
  return comma_list(entries);
}

/// The header of an imported model in quotes.
source_text header_in_quotes(std::string const& stem) {
  auto name = file_in_quotes(stem + ".hpp");
  if (!name)
    throw file_error("E5192", "the model's header would be '" + comment_text(stem).str() +
                                  ".hpp', which #include cannot have: give another name by --output, of letters and "
                                  "digits");
  return *std::move(name);
}

constexpr own_text helpers_text = R"(/// The recorded values of an input or an output.
template <std::size_t Rank>
xt::xtensor<float, Rank> recorded(sc::tensor_file const& file, std::string const& name) {
  auto const* const found = file.find(name);
  if (found == nullptr || found->shape.size() != Rank) throw sc::file_error("E5066", "there is no '" + name + "'");
  std::array<std::size_t, Rank> shape{};
  for (std::size_t i = 0; i < Rank; ++i) shape[i] = static_cast<std::size_t>(found->shape[i]);
  auto tensor = xt::xtensor<float, Rank>::from_shape(shape);
  auto const values = sc::io::to_floats(*found);
  std::copy(values.begin(), values.end(), tensor.begin());
  return tensor;
}

/// The largest difference, in parts of the largest finite value. NaN and infinity have to be where they are expected.
double difference(auto const& found, auto const& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double difference = 0, largest = 1e-30;
  auto other = expected.begin();
  for (float const value : found) {
    float const right = *other++;
    bool const is_same = value == right || (std::isnan(value) && std::isnan(right));
    if (!is_same && !(std::isfinite(value) && std::isfinite(right))) return INFINITY;
    if (!std::isfinite(right)) continue;
    largest = std::fmax(largest, std::fabs(right));
    difference = std::fmax(difference, std::fabs(value - right));
  }
  return difference / largest;
}

)";

constexpr own_text words_text = R"(/// The recorded values of an input of int32.
template <std::size_t Rank>
xt::xtensor<std::int32_t, Rank> recorded_words(sc::tensor_file const& file, std::string const& name) {
  auto const* const found = file.find(name);
  if (found == nullptr || found->shape.size() != Rank || found->type != sc::element_type::int32)
    throw sc::file_error("E5066", "there is no '" + name + "' of int32");
  std::array<std::size_t, Rank> shape{};
  for (std::size_t i = 0; i < Rank; ++i) shape[i] = static_cast<std::size_t>(found->shape[i]);
  auto tensor = xt::xtensor<std::int32_t, Rank>::from_shape(shape);
  std::memcpy(tensor.data(), found->bytes.data(), found->bytes.size());
  return tensor;
}

)";

/// The largest difference that is right: more where layers compute in 16 bits, whose order of roundings is the
/// machine's.
own_text bound_of(source_model const& model) {
  own_text bound = "1e-4";
  for (auto const& each : model.layers) {
    if (!each.layer || !each.layer->dtype) continue;
    if (*each.layer->dtype == stagecraft::dtype::float16) bound = "4e-3";
    if (*each.layer->dtype == stagecraft::dtype::bfloat16) return "3e-2";
  }
  return bound;
}

}  // namespace

void check_stem(std::string const& stem) { static_cast<void>(header_in_quotes(stem)); }

tensor_file read_recorded(source_model const& model, std::vector<std::string> const& inputs,
                          std::vector<std::string> const& outputs) {
  tensor_file result;
  if (inputs.empty() && outputs.empty()) return result;
  std::vector<shape> of_inputs, of_outputs;
  std::vector<bool> are_words;
  for (int const input : model.inputs) of_inputs.push_back(shape_of(model, {input, 0}));
  for (int const input : model.inputs) are_words.push_back(is_of_words(model, input));
  for (auto const& output : model.outputs) of_outputs.push_back(shape_of(model, output));
  std::int64_t samples = 0;
  add_recorded(inputs, of_inputs, model.input_axes, "inputs", samples, result, are_words);
  are_words.assign(outputs.size(), false);
  add_recorded(outputs, of_outputs, model.output_axes, "outputs", samples, result, are_words);
  return result;
}

source_text write_test(source_model const& model, identifier const& type, std::string const& stem,
                       tensor_file const& recorded) {
  bool const has_values = !recorded.tensors.empty();
  auto const samples = has_values ? recorded.tensors.front().shape[0] : 1;
  auto const batch = model.batch_size > 0 ? model.batch_size : samples;
  auto const inputs = model.inputs.size(), outputs = model.outputs.size();
  source_text text("// Tests ");
  text += comment_text(stem) +
          ".hpp: made by `stagecraft import`. Compile it with -std=c++20 -O2 -march=native, and link -pthread -lzip.\n";
  text += "#include " + header_in_quotes(stem) +
          "\n\n#include <stagecraft/stagecraft.hpp>\n#include <stagecraft/io/weights.hpp>\n";
  bool const has_words =
      std::any_of(model.inputs.begin(), model.inputs.end(), [&](int input) { return is_of_words(model, input); });
  text += has_values ? "#include <stagecraft/io/safetensors.hpp>\n#include <algorithm>\n"_cpp : ""_cpp;
  text += "#include <array>\n#include <cmath>\n"_cpp + (has_values && has_words ? "#include <cstdint>\n"_cpp : ""_cpp) +
          "#include <cstdio>\n" + (has_values && has_words ? "#include <cstring>\n"_cpp : ""_cpp);
  text += "#include <string>\n#include <vector>\n\n";
  text +=
      "namespace sc = stagecraft;\n\ninline constexpr auto run = sc::inference{.batch_size = " + number_text(batch) +
      "};\n\n";
  if (has_values) text += helpers_text;
  if (has_values && has_words) text += words_text;
  text += "int main(int argc, char** argv) {\n  std::string const folder = argc > 1 ? argv[1] : \".\";\n";
  text += "  sc::predictor<models::" + type + ", run> net;\n  net.load_weights(folder + " +
          string_literal("/" + stem + ".safetensors") + ");\n";
  if (has_values)
    text += "  auto const values = sc::read_safetensors(folder + " + string_literal("/" + stem + "_test.safetensors") +
            ");\n";
  for (std::size_t i = 0; i < inputs; ++i) {
    auto const shape = shape_of(model, {model.inputs[i], 0});
    auto const rank = number_text(shape.rank() + 1);
    text += "  auto const x" + number_text(i) + " = ";
    if (has_values) {
      text += (is_of_words(model, model.inputs[i]) ? "recorded_words<"_cpp : "recorded<"_cpp) + rank +
              ">(values, \"inputs:" + number_text(i) + "\");\n";
    } else {
      auto sizes = number_text(batch);
      for (int const length : shape) sizes += ", " + number_text(length);
      text += "xt::eval(xt::zeros<float>(std::array<std::size_t, " + rank + ">{" + sizes + "}));\n";
    }
  }
  auto const given = inputs == 1 ? source_text("x0") : "sc::inputs(" + list_of("x", inputs) + ")";
  text += outputs == 1 ? "  auto const y0 = net.predict(" + given + ");\n"
                       : "  auto const [" + list_of("y", outputs) + "] = net.predict(" + given + ");\n";
  text += "  bool is_right = true;\n";
  for (std::size_t i = 0; i < outputs; ++i) {
    auto const own = "y" + number_text(i);
    if (has_values) {
      auto const rank = number_text(shape_of(model, model.outputs[i]).rank() + 1);
      text += "  {\n    auto const off = difference(" + own + ", recorded<" + rank +
              ">(values, \"outputs:" + number_text(i) + "\"));\n    std::printf(\"output " + number_text(i) +
              ": differs by %.1e of its largest value\\n\", off);\n    is_right = is_right && off < " +
              bound_of(model) + ";\n  }\n";
    } else {
      text += "  for (float const value : " + own + ") is_right = is_right && std::isfinite(value);\n";
    }
  }
  return text + "  std::puts(is_right ? \"passed\" : \"failed\");\n  return is_right ? 0 : 1;\n}\n";
}

}  // namespace stagecraft::tool
