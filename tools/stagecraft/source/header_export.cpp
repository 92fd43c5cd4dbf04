// SPDX-License-Identifier: BSD-3-Clause
#include "source/header_export.hpp"

#include "source/source_model.hpp"
#include "source/source_text.hpp"
#include "source/source_writer.hpp"
#include "source/written_layer.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <stagecraft/io/weight_formats.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

namespace {

/// The class of a layer in a model's configuration, which may hold other models; empty if there is no such layer.
std::string class_of(io::json const& config, std::string_view layer) {
  auto const layers = config.find("layers");
  if (layers == config.end() || !layers->is_array()) return {};
  for (auto const& each : *layers) {
    auto const& own = each.at("config");
    if (own.value("name", std::string()) == layer) return each.value("class_name", std::string());
    if (auto found = class_of(own, layer); !found.empty()) return found;
  }
  return {};
}

/// True if a static_predictor reads the weight as bytes: the right factor of products, or the filter of a convolution.
bool can_be_bytes(stored_tensor const& tensor, io::json const& config) {
  std::string_view const name = tensor.name;
  auto const slash = name.rfind('/');
  if (slash == std::string_view::npos || !name.ends_with("kernel:0") || name.ends_with("depthwise_kernel:0"))
    return false;
  if (tensor.shape.size() == 2) return true;
  auto const before = name.substr(0, slash);
  auto const type = class_of(config, before.substr(before.rfind('/') + 1));  // npos + 1 is 0
  return type == "Conv1D" || type == "Conv2D";
}

source_text float_text(float number) {
  if (std::isnan(number)) return "__builtin_nanf(\"\")"_cpp;
  if (std::isinf(number)) return number > 0 ? "__builtin_inff()"_cpp : "-__builtin_inff()"_cpp;
  return number_text(number);
}

/// `inline constexpr float weight_3[] = {...};`, in lines of some numbers.
template <class Number, class Text>
source_text array_text(own_text type, source_text const& name, std::span<Number const> numbers, Text const& text) {
  constexpr std::size_t a_line = 10;
  source_text result = "inline constexpr "_cpp + type + " " + name + "[] = {";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    result += i == 0 ? ""_cpp : i % a_line == 0 ? ",\n    "_cpp : ", "_cpp;
    result += text(numbers[i]);
  }
  return result + "};\n";
}

struct rounded_weight {
  std::vector<int> bytes;
  std::vector<float> scales;
};

/// The largest number of each column becomes 127 or -127.
rounded_weight rounded(std::span<float const> numbers, std::size_t columns) {
  rounded_weight result{std::vector<int>(numbers.size()), std::vector<float>(columns)};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    result.scales[i % columns] = std::max(result.scales[i % columns], std::fabs(numbers[i]));
  for (float& scale : result.scales) scale = scale > 0 ? scale / 127 : 1;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    result.bytes[i] =
        static_cast<int>(std::clamp(std::round(numbers[i] / result.scales[i % columns]), -127.0F, 127.0F));
  return result;
}

bool are_finite(std::span<float const> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float number) { return std::isfinite(number); });
}

}  // namespace

void write_header(std::string const& path, io::bundle_contents const& contents, stored_weights stored) {
  auto const model = read_config(contents.model, path, {});
  if (has_own_layers(model))
    throw file_error("E5245", path +
                                  ": model.json has operations of the model's own, whose C++ is in the model.hpp that "
                                  "was written with it; there is no header with both");
  auto const type = type_name_of(model.name);
  auto const& config = contents.model.contains("config") ? contents.model.at("config") : contents.model;
  source_text arrays, list;
  int number = 0;
  for (auto const& tensor : contents.tensors.tensors) {
    if (tensor.name.starts_with(io::optimizer_prefix) || tensor.name.starts_with(io::counter_prefix)) continue;
    auto const name = "weight_"_cpp + number_text(number++);
    auto const values = io::to_floats(tensor, path);
    arrays += "// "_cpp + comment_text(tensor.name) + "\n";
    list += "    {"_cpp + string_literal(tensor.name) + ", " + type + "_arrays::" + name;
    if (stored == stored_weights::bytes && can_be_bytes(tensor, config) && are_finite(values)) {
      auto const small = rounded(values, static_cast<std::size_t>(tensor.shape.back()));
      arrays += array_text("std::int8_t"_cpp, name, std::span<int const>(small.bytes),
                           [](int each) { return number_text(each); });
      arrays += array_text("float"_cpp, name + "_scales", std::span<float const>(small.scales), float_text);
      list += ", "_cpp + type + "_arrays::" + name + "_scales";
    } else {
      arrays += array_text("float"_cpp, name, std::span<float const>(values), float_text);
    }
    list += "},\n"_cpp;
  }
  auto text = write_source(model, {type, "model.json"});
  text +=
      "\n#include <stagecraft/predict/constant_weight.hpp>\n#include <cstdint>\n\nnamespace models {\n\nnamespace "_cpp;
  text += type;
  text += "_arrays {\n\n"_cpp + arrays + "\n}  // namespace " + type + "_arrays\n\n";
  text += "/// For sc::static_predictor<models::"_cpp + type + ", models::" + type + "_weights>.\n";
  text +=
      "inline constexpr sc::constant_weight "_cpp + type + "_weights[] = {\n" + list + "};\n\n}  // namespace models\n";
  io::replace_file(path, [&](io::file_writer& to) { to.write(text.view()); });
}

}  // namespace stagecraft::tool
