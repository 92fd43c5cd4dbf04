// SPDX-License-Identifier: BSD-3-Clause
#include "commands/convert_options.hpp"

#include "commands/model_edits.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/models/name_pattern.hpp>
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <span>
#include <string_view>

namespace stagecraft::tool {

namespace {

/// Reads values of options; errors name the option.
class option_reader {
 public:
  explicit option_reader(std::string where) : where_(std::move(where)) {}

  [[noreturn]] void wrong(std::string const& what) const { throw file_error("E5130", where_ + ": " + what); }
  [[noreturn]] void wrong_type(std::string const& name, json const& value, char const* expected) const {
    auto const text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    wrong("'" + name + "' is " + text.substr(0, 80) + ", and must be " + expected);
  }

  void read(std::string const& name, json const& value, bool& to) const {
    if (!value.is_boolean()) wrong_type(name, value, "true or false");
    to = value.get<bool>();
  }
  void read(std::string const& name, json const& value, int& to, int least, int most) const {
    auto const text = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    double const given = value.is_number_integer() ? value.get<double>() : most + 1.0;
    if (given < least || given > most) wrong_type(name, value, text.c_str());
    to = value.get<int>();
  }
  void read_part(std::string const& name, json const& value, double& to) const {
    double const given = value.is_number() ? value.get<double>() : -1;
    if (!(given >= 0 && given <= 1)) wrong_type(name, value, "a number from 0 to 1");
    to = value.get<double>();
  }
  void read(std::string const& name, json const& value, std::string& to,
            std::initializer_list<std::string_view> const allowed) const {
    std::string text;
    for (auto const each : allowed) {
      if (value == each) {
        to = each;
        return;
      }
      text += (text.empty() ? "\"" : " or \"") + std::string(each) + "\"";
    }
    wrong_type(name, value, text.c_str());
  }
  void read(std::string const& name, json const& value, std::string& to) const {
    if (!value.is_string() || value.get_ref<std::string const&>().empty()) wrong_type(name, value, "a text");
    to = value.get<std::string>();
  }
  /// Reads regular expressions.
  void read(std::string const& name, json const& value, std::vector<std::string>& to) const {
    to.clear();
    if (!value.is_array()) wrong_type(name, value, "a list of texts");
    for (auto const& each : value) {
      if (!each.is_string()) wrong_type(name, each, "a text, as all entries of the list");
      to.push_back(each.get<std::string>());
      if (models::name_pattern(to.back()).failed() || models::name_pattern(searched_expression(to.back())).failed())
        throw file_error("E5134", where_ + ": '" + name + "' has the expression '" + to.back() +
                                      "', which cannot be read; it is one of Python's `re`, without groups that are "
                                      "referred to and without look-around");
    }
  }
  void read(std::string const& name, json const& value, std::vector<std::vector<std::string>>& to) const {
    to.clear();
    if (!value.is_array()) wrong_type(name, value, "a list of lists of texts");
    for (auto const& each : value) read(name, each, to.emplace_back());
  }
  /// Reads an object with these keys, each with its function.
  void read(std::string const& name, json const& value,
            std::map<std::string, std::function<void(json const&)>> const& keys) const {
    if (!value.is_object()) wrong_type(name, value, "an object");
    for (auto const& [key, each] : value.items()) {
      auto const found = keys.find(key);
      if (found == keys.end()) {
        std::string all;
        for (auto const& [known, read] : keys) all += (all.empty() ? "" : ", ") + known;
        wrong((name.empty() ? "there is no option '" : "'" + name + "' has no key '") + key + "'; there are " + all);
      }
      found->second(each);
    }
  }

 private:
  std::string where_;
};

}  // namespace

json read_option_text(std::string const& text, std::string const& option) {
  auto const parse = [&](std::string const& from) { return parse_configuration(from, "E5130", "--" + option); };
  try {
    return parse(text);
  } catch (file_error const&) {
    auto python = text;
    std::replace(python.begin(), python.end(), '\'', '"');
    try {
      return parse(python);
    } catch (file_error const&) {  // it is the first one that is about what was given
    }
    throw;
  }
}

json read_config_file(std::string const& path) {
  io::byte_source const source(path);
  auto found = parse_configuration(io::text_of(source), "E5131", path);
  if (!found.is_object()) throw file_error("E5131", path + ": a configuration is an object, {...}");
  return found;
}

convert_options read_convert_options(json const& given, std::string const& where) {
  convert_options options;
  option_reader const from(where);
  constexpr int most = std::numeric_limits<int>::max();
  auto const flag = [&](char const* name, bool& to) {
    return std::pair<std::string const, std::function<void(json const&)>>(
        name, [&from, name, &to](json const& value) { from.read(name, value, to); });
  };
  auto const list = [&](char const* name, auto& to) {
    return std::pair<std::string const, std::function<void(json const&)>>(
        name, [&from, name, &to](json const& value) { from.read(name, value, to); });
  };
  auto const number = [&](char const* name, int& to, int least, int largest) {
    return std::pair<std::string const, std::function<void(json const&)>>(
        name, [&from, name, &to, least, largest](json const& value) { from.read(name, value, to, least, largest); });
  };
  auto const part = [&](char const* name, double& to) {
    return std::pair<std::string const, std::function<void(json const&)>>(
        name, [&from, name, &to](json const& value) { from.read_part(name, value, to); });
  };
  auto const partial_type = [&](char const* name, std::string& to) {
    return std::pair<std::string const, std::function<void(json const&)>>(
        name, [&from, name, &to](json const& value) { from.read(name, value, to, {"float", "half"}); });
  };
  from.read("", given,
            {list("excluded_nodes", options.excluded_nodes),
             flag("remove_excluded_nodes", options.remove_excluded_nodes),
             number("num_ipus", options.num_ipus, 1, 64),
             part("matmul_amp", options.matmul_amp),
             part("conv_amp", options.conv_amp),
             partial_type("matmul_partial_type", options.matmul_partial_type),
             partial_type("conv_partial_type", options.conv_partial_type),
             number("batch_size", options.batch_size, 1, most),
             number("batch_per_step", options.batch_per_step, 0, 100'000),
             {"precision_mode",
              [&](json const& value) { from.read("precision_mode", value, options.precision_mode, {"FP32", "FP16"}); }},
             list("precision_conversion_excluded_nodes", options.precision_conversion_excluded_nodes),
             flag("no_ipu_placement", options.no_ipu_placement),
             flag("int64_to_int32_conversion", options.int64_to_int32_conversion),
             flag("merge_subgraphs", options.merge_subgraphs),
             list("manual_sharding", options.manual_sharding),
             {"gelu_replacement",
              [&](json const& value) {
                auto& gelu = options.gelu_replacement.emplace();
                // On a command line, the guide writes the option's name once more.
                bool const is_wrapped = value.is_object() && value.size() == 1 && value.contains("gelu_replacement");
                from.read("gelu_replacement", is_wrapped ? value["gelu_replacement"] : value,
                          {list("nodes", gelu.nodes), list("node_as_gelu_input", gelu.node_as_gelu_input),
                           list("node_use_gelu_output", gelu.node_use_gelu_output)});
                if (gelu.nodes.empty()) from.wrong("'gelu_replacement' has no 'nodes'");
              }},
             {"embedded_runtime_save_config",
              [&](json const& value) {
                auto& own = options.embedded_runtime_save_config.emplace();
                from.read("embedded_runtime_save_config", value,
                          {{"embedded_runtime_exec_cachedir",
                            [&](json const& each) {
                              from.read("embedded_runtime_exec_cachedir", each, own.embedded_runtime_exec_cachedir);
                            }},
                           number("runtime_api_timeout_us", own.runtime_api_timeout_us, 0, most)});
                for (char const* const key : {"embedded_runtime_exec_cachedir", "runtime_api_timeout_us"})
                  if (!value.contains(key))
                    throw file_error("E5137",
                                     where + ": 'embedded_runtime_save_config' has no '" + key +
                                         "'; it needs embedded_runtime_exec_cachedir and runtime_api_timeout_us");
              }},
             {"pipeline_cfg", [&](json const& value) {
                options.pipeline_cfg = read_pipeline_configuration(value, where + ": 'pipeline_cfg'");
              }}});
  if (options.embedded_runtime_save_config && options.batch_per_step == 0) options.batch_per_step = 1;
  check_options(options, where);
  return options;
}

std::vector<std::pair<std::string, std::string>> options_without_effect(convert_options const& options,
                                                                        json const& given) {
  std::vector<std::pair<std::string, std::string>> result;
  convert_options const defaults;
  auto const add = [&](char const* name, bool is_default, char const* why) {
    if (given.contains(name) && !is_default) result.emplace_back(name, why);
  };
  auto const add_machine = [&](char const* why) {
    add("matmul_amp", options.matmul_amp == defaults.matmul_amp, why);
    add("conv_amp", options.conv_amp == defaults.conv_amp, why);
    add("matmul_partial_type", options.matmul_partial_type == defaults.matmul_partial_type, why);
    add("conv_partial_type", options.conv_partial_type == defaults.conv_partial_type, why);
  };
  if (options.excluded_nodes.empty())
    add("remove_excluded_nodes", !options.remove_excluded_nodes, "there are no 'excluded_nodes' that it could remove");
  if (options.precision_mode != "FP16")
    add("precision_conversion_excluded_nodes", options.precision_conversion_excluded_nodes.empty(),
        "'precision_mode' is FP32, which changes no layer");
  bool const is_one = options.num_ipus == defaults.num_ipus;
  if (options.no_ipu_placement) {
    constexpr char const* why = "'no_ipu_placement' makes an application for the host";
    add("num_ipus", is_one, why);
    add_machine(why);
    if (!options.remove_excluded_nodes) add("excluded_nodes", options.excluded_nodes.empty(), why);
  } else if (options.pipeline_cfg) {
    add("num_ipus", is_one, "'pipeline_cfg' says how many IPUs there are");
  }
  return result;
}

void check_options(convert_options const& options, std::string const& where) {
  bool const is_divided = !options.manual_sharding.empty() || options.pipeline_cfg.has_value();
  auto const lists = options.manual_sharding.size();
  if (lists != 0 && lists != static_cast<std::size_t>(options.num_ipus))
    throw file_error("E5135", where + ": 'manual_sharding' has " + std::to_string(lists) +
                                  (lists == 1 ? " list" : " lists") + " of expressions, but num_ipus is " +
                                  std::to_string(options.num_ipus) + "; each IPU has a list");
  if (is_divided && options.no_ipu_placement)
    throw file_error("E5136", where + ": " +
                                  std::string(options.pipeline_cfg ? "'pipeline_cfg'" : "'manual_sharding'") +
                                  " divides the model among IPUs, but 'no_ipu_placement' places nothing there");
  if (options.embedded_runtime_save_config && !options.int64_to_int32_conversion)
    throw file_error("E5138", where +
                                  ": an embedded runtime has no int64; 'embedded_runtime_save_config' needs "
                                  "'int64_to_int32_conversion'");
  if (options.pipeline_cfg && !options.embedded_runtime_save_config)
    throw file_error("E5139", where +
                                  ": 'pipeline_cfg' needs 'embedded_runtime_save_config', such as "
                                  "{\"embedded_runtime_exec_cachedir\": \"exec\", \"runtime_api_timeout_us\": 5000}");
  if (options.pipeline_cfg && !options.manual_sharding.empty())
    throw file_error("E5145", where + ": 'pipeline_cfg' and 'manual_sharding' both divide the model; give one of them");
}

}  // namespace stagecraft::tool
