// SPDX-License-Identifier: BSD-3-Clause
#include "commands/run_inputs.hpp"

#include "arrays/numpy_random.hpp"
#include "arrays/python_literal.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/io/npz.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace stagecraft::tool {

namespace {

[[noreturn]] void refuse(std::string const& text) { throw file_error("E5095", text); }

/// Splits a text at separators; in expressions, separators within quotes, parentheses or brackets do not count (names
/// of files may contain such marks). Empty parts are left out.
std::vector<std::string> split(std::string const& text, char separator, bool are_expressions) {
  std::vector<std::string> parts{""};
  int depth = 0;
  char quote = '\0';
  for (char const c : text) {
    if (!are_expressions) {
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    }
    if (c == separator && quote == '\0' && depth <= 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  std::erase_if(parts, [](auto const& part) { return part.find_first_not_of(" \t\n") == std::string::npos; });
  return parts;
}
std::string trimmed(std::string const& text) {
  auto const begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

run_array array_of(stored_tensor const& tensor, std::string const& path) {
  return {tensor.shape, io::to_floats(tensor, path)};
}
run_array array_of(python_value const& value, std::string const& text) {
  if (value.what != python_value::kind::array) refuse("Expression \"" + text + "\" is not a valid python literal.");
  run_array result{value.shape, {}};
  for (std::size_t i = 0; i < value.numbers.size(); ++i)
    result.values.push_back(io::narrowed(
        value.numbers[i], [&] { return "Expression \"" + text + "\": element " + io::place_text(value.shape, i); }));
  return result;
}

/// Refuses pickles, which saved_model_cli reads and which are programs. Those of protocol 2 and later begin with a byte
/// of their own.
void refuse_pickle(std::string const& path) {
  io::byte_source const source(path);
  auto const first = source.read(0, std::min<std::uint64_t>(source.size(), 1));
  bool const is_named = path.ends_with(".pkl") || path.ends_with(".pickle") || path.ends_with(".p");
  if (!(is_named || (!first.empty() && first[0] == std::byte{0x80})) || (!first.empty() && first[0] == std::byte{0x93}))
    return;
  auto const stem = path.substr(0, path.rfind('.') == std::string::npos ? path.size() : path.rfind('.'));
  throw file_error("E5208",
                   path +
                       ": is a pickle, which is a program of Python's and is not run. Save its array by NumPy: "
                       "np.save(\"" +
                       stem + ".npy\", array), and give that file");
}

/// Reads "key=file" or "key=file[name]".
void read_file(std::string const& given, std::map<std::string, run_array>& to) {
  auto const equals = given.find('=');
  auto const file_part = equals == std::string::npos ? "" : given.substr(equals + 1);
  auto const bracket = file_part.find('[');
  bool const has_name = bracket != std::string::npos;
  auto const path = file_part.substr(0, bracket);
  auto const name = has_name ? file_part.substr(bracket + 1, file_part.size() - bracket - 2) : "";
  if (equals == std::string::npos || equals == 0 || path.empty() ||
      (has_name && (!file_part.ends_with(']') || name.empty() || name.find_first_of("[]") != std::string::npos)) ||
      (!has_name && file_part.find(']') != std::string::npos))
    refuse("--inputs \"" + given +
           "\" format is incorrect. Please follow\"<input_key>=<filename>\", "
           "or\"<input_key>=<filename>[<variable_name>]\"");
  refuse_pickle(path);
  auto& array = to[given.substr(0, equals)];
  if (!path.ends_with(".npz")) {
    if (has_name)
      std::fprintf(stderr, "WARNING: Input file %s contains a single ndarray. Name key \"%s\" ignored.\n", path.c_str(),
                   name.c_str());
    array = array_of(read_npy(path), path);
    return;
  }
  auto const file = read_npz(path);
  if (has_name) {
    auto const* const found = file.find(name);
    if (found == nullptr) refuse("Input file " + path + " does not contain variable with name \"" + name + "\".");
    array = array_of(*found, path);
  } else {
    if (file.tensors.size() != 1)
      refuse("Input file " + path + " contains more than one ndarrays. Please specify the name of ndarray to use.");
    array = array_of(file.tensors[0], path);
  }
}

/// `all`: the argument that `given` is a part of.
std::pair<std::string, std::string> key_and_text(std::string const& given, std::string const& all, char const* option) {
  auto const equals = given.find('=');
  if (equals == std::string::npos)
    refuse("--" + std::string(option) + " \"" + all +
           "\" format is incorrect. Please follow\"<input_key>=<python expression>\"");
  return {trimmed(given.substr(0, equals)), trimmed(given.substr(equals + 1))};
}

/// Reads examples, whose features are inputs.
void read_examples(std::string const& given, std::string const& all, numpy_random& random,
                   std::map<std::string, run_array>& to) {
  auto const [key, text] = key_and_text(given, all, "input_examples");
  auto const value = read_python(text, random);
  auto const refuse_value = [&, &words = text] {
    refuse("tf.Example input must be a list of dictionaries, but \"" +
           (value.what == python_value::kind::text ? value.text : words) + "\" is " + python_type(value, words));
  };
  if (value.what != python_value::kind::list || value.items.empty()) refuse_value();
  for (auto const& example : value.items)
    if (example.what != python_value::kind::dictionary) refuse_value();
  for (auto const& [feature, first, source_of_first] : value.items[0].dictionary) {
    run_array array;
    for (auto const& example : value.items) {
      python_value const* found = nullptr;
      std::string source;
      for (auto const& [name, each, as_written] : example.dictionary)
        if (name == feature) {
          found = &each;
          source = each.what == python_value::kind::text ? each.text : as_written;
        }
      if (found == nullptr) refuse("an example has no feature \"" + feature + "\", which the first one has");
      auto const type = python_type(*found, source);
      if (type != "<class 'list'>")
        refuse("feature value must be a list, but " + feature + ": \"" + source + "\" is " + type);
      if (found->what != python_value::kind::array)
        refuse("feature \"" + feature + "\" holds something else than numbers");
      if (array.shape.empty()) {
        array.shape = found->shape;
        array.shape.insert(array.shape.begin(), static_cast<std::int64_t>(value.items.size()));
      }
      if (found->shape != first.shape) refuse("feature \"" + feature + "\" has lists of unequal lengths");
      array.values.insert(array.values.end(), found->numbers.begin(), found->numbers.end());
    }
    if (to.contains(feature))
      std::fprintf(
          stderr,
          "WARNING: input_key %s has been specified in multiple options. Value in --input_examples will be used.\n",
          feature.c_str());
    to[feature] = std::move(array);
  }
}

}  // namespace

std::map<std::string, run_array> read_run_inputs(std::string const& inputs, std::string const& input_exprs,
                                                 std::string const& input_examples) {
  if (inputs.empty() && input_exprs.empty() && input_examples.empty())
    refuse("At least one of --inputs, --input_exprs or --input_examples must be required");
  std::map<std::string, run_array> result;
  numpy_random random(0);  // one for all expressions
  for (auto const& part : split(inputs, ';', false)) read_file(trimmed(part), result);
  for (auto const& part : split(input_exprs, ';', true)) {
    auto const [key, text] = key_and_text(part, input_exprs, "input_exprs");
    if (result.contains(key))
      std::fprintf(stderr,
                   "WARNING: input_key %s has been specified with both --inputs and --input_exprs options. Value in "
                   "--input_exprs will be used.\n",
                   key.c_str());
    result[key] = array_of(read_python(text, random), text);
  }
  for (auto const& part : split(input_examples, ';', true)) read_examples(part, input_examples, random, result);
  return result;
}

std::vector<std::vector<float>> match_inputs(serving::servable_description const& known,
                                             std::map<std::string, run_array> const& given, std::int64_t& samples) {
  std::string names;
  for (auto const& input : known.inputs) names += (names.empty() ? "\"" : ", \"") + input.name + "\"";
  for (auto const& [key, array] : given) {
    bool is_known = false;
    for (auto const& input : known.inputs) is_known = is_known || input.name == key;
    if (!is_known)
      refuse("\"" + key + "\" is not a valid input key. Please choose from " + names + ", or use --show option.");
  }
  std::vector<std::vector<float>> result;
  samples = -1;
  for (auto const& input : known.inputs) {
    auto const found = given.find(input.name);
    if (found == given.end()) refuse("input \"" + input.name + "\" is not given; the inputs are " + names);
    auto const& array = found->second;
    bool const has_samples = array.shape.size() == input.shape.size() + 1;
    auto expected = input.shape;
    expected.insert(expected.begin(), has_samples ? array.shape[0] : 0);
    if (array.shape != expected) {
      auto text = io::shape_text(expected);
      text.replace(1, text.find_first_of(",)") - 1, "None");
      refuse("input \"" + input.name + "\" has shape " + io::shape_text(array.shape) + ", expected " + text);
    }
    if (samples >= 0 && samples != array.shape[0])
      refuse("input \"" + input.name + "\" has " + std::to_string(array.shape[0]) + " samples, the ones before " +
             std::to_string(samples));
    samples = array.shape[0];
    result.push_back(array.values);
  }
  return result;
}

}  // namespace stagecraft::tool
