// SPDX-License-Identifier: BSD-3-Clause
#include "source/statement_writer.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace stagecraft::tool {

namespace {

constexpr std::size_t columns = 120;

/// The cells of a step as constants.
std::vector<expression> constants_of(source_step const& step) {
  std::vector<expression> result;
  for (auto const& each : step.cells) result.push_back({each.value, each.text, true});
  return result;
}
std::vector<bool> defaults_of(source_step const& step) {
  std::vector<bool> result;
  for (auto const& each : step.cells) result.push_back(each.is_option_default);
  return result;
}

/// A number that is `value` when a loop begins, and grows by `step` with each turn, as an expression of the loop's
/// variable, which begins with `start` and grows by one. Empty if there is no simple one.
source_text in_loop(long long value, long long step, identifier const& variable, long long start) {
  if (step == 0) return number_text(value);
  if (step == 1) {
    auto const more = value - start;
    return more == 0 ? variable : variable + ((more > 0 ? " + "_cpp : " - "_cpp) + number_text(std::llabs(more)));
  }
  if (value == step * start) return number_text(step) + " * " + variable;
  return {};
}

source_text list_of(shape const& lengths) {
  std::vector<source_text> entries;
  for (int const length : lengths) entries.push_back(number_text(length));
  return comma_list(entries);
}

}  // namespace

std::vector<statement_writer::name_piece> statement_writer::name_pieces(source_step const& step,
                                                                        std::vector<expression> const& cells) {
  std::vector<name_piece> pieces;
  std::string constant;
  auto const flush = [&] {
    if (!constant.empty()) pieces.push_back({string_literal(constant)});
    constant.clear();
  };
  std::size_t next = cells.size() - at(step.name_cells);
  for (auto const& part : step.name_parts) {
    if (part) {
      constant += *part;
      continue;
    }
    bool const is_text = step.cells[next].kind == cell::kinds::text;
    auto const& each = cells[next++];
    if (each.is_constant) {
      constant += is_text ? each.text : each.code.str();
    } else {
      flush();
      pieces.push_back({each.code, false, is_text});
    }
  }
  flush();
  return pieces;
}

source_text statement_writer::appended(std::vector<name_piece> const& pieces) {
  bool const begins_with_text = pieces.front().is_text;
  source_text text("sc::fixed_name(");
  text += (begins_with_text ? pieces.front().code : string_literal("")) + ")";
  for (std::size_t i = begins_with_text ? 1 : 0; i < pieces.size(); ++i) text += ".append(" + pieces[i].code + ")";
  return text;
}

identifier statement_writer::declare(identifier const& wanted) {
  auto const name = wanted.unused_in(declared_);
  kept_.insert(name);
  return name;
}

identifier statement_writer::target(source_step const& step, std::size_t index, bool& is_new) {
  is_new = false;
  auto const is_free = [&](auto const& variable) {
    auto const used = used_until_.find(variable);
    return !kept_.contains(variable) && (used == used_until_.end() || used->second <= index);
  };
  for (int const input : step.inputs)
    if (is_free(names_.at(input))) return names_.at(input);
  for (std::string_view const letter : {"x", "y", "z", "a", "b", "c", "d", "e", "f", "g", "h"}) {
    identifier const each(letter);
    if (declared_.contains(each) ? !is_free(each) : kept_.contains(each)) continue;
    is_new = declared_.insert(each).second;
    return each;
  }
  // Smaller numbers than the one of the last search are still in use, unless this step has reached the one at which one
  // becomes free.
  if (index >= numbered_free_at_) first_numbered_ = 1, numbered_free_at_ = never;
  for (;; ++first_numbered_) {
    identifier const name("t" + std::to_string(first_numbered_));
    if (!declared_.contains(name) || is_free(name)) {
      is_new = declared_.insert(name).second;
      return name;
    }
    if (!kept_.contains(name)) numbered_free_at_ = std::min(numbered_free_at_, used_until_.at(name));
  }
}

source_text statement_writer::arguments(source_step const& step) const {
  std::vector<source_text> entries;
  for (int const input : step.inputs) entries.push_back(names_.at(input));
  return comma_list(entries);
}

std::optional<dtype> input_type(model_layer const& input) {
  if (!input.config.is_object() || input.config.value("converted_from", json()) != "int64") return std::nullopt;
  auto const given = input.config.value("dtype", json("int32"));
  auto const found = given.is_string() ? dtype_named(given.get<std::string>()) : std::nullopt;
  if (!found)
    throw file_error("E5064", "input '" + input.name + "' is of " +
                                  given.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 60) +
                                  ", which is no type of the library");
  return found;
}

source_text statement_writer::name_text(source_step const& step, std::vector<expression> const& cells) const {
  auto const pieces = name_pieces(step, cells);
  if (pieces.empty()) return string_literal("");
  if (pieces.size() == 1 && pieces[0].is_constant) return pieces[0].code;
  if (!prefix_.empty() && pieces.size() >= prefix_.size() &&
      std::equal(prefix_.begin(), prefix_.end(), pieces.begin())) {
    std::vector<name_piece> const rest(pieces.begin() + static_cast<std::ptrdiff_t>(prefix_.size()), pieces.end());
    if (rest.empty()) return "name(\"\")"_cpp;
    if (rest.size() == 1 && rest[0].is_constant) return "name("_cpp + rest[0].code + ")";
  }
  return appended(pieces);
}

source_text statement_writer::layer_text(source_step const& step, std::vector<expression> const& cells,
                                         std::vector<bool> const& defaults) const {
  auto const& layer = *model_.layers[at(step.layer)].layer;
  std::size_t next = 0;
  source_text text, braces;
  for (auto const& each : layer.arguments) {
    bool const is_fixed = each.value.kind == literal::kinds::fixed;
    text += (text.empty() ? ""_cpp : ", "_cpp) + (is_fixed ? each.value.text : cells[next++].code);
  }
  for (auto const& each : layer.options) {
    bool const is_integer = each.value.kind == literal::kinds::integer;
    if (!is_integer && each.is_default) continue;
    auto value = each.value.text;
    if (each.value.kind != literal::kinds::fixed) {
      value = cells[next].code;
      if (defaults[next++]) continue;
    }
    braces += (braces.empty() ? "."_cpp : ", ."_cpp) + each.name + " = " + value;
  }
  if (!braces.empty()) text += (text.empty() ? "{"_cpp : ", {"_cpp) + braces + "}";
  auto const own = types_.find(step.layer);
  text = (own == types_.end() ? layer.word : source_text(own->second)) + ("{" + text) + "}" + placement_text(layer);
  return step.has_name ? text + ".named(" + name_text(step, cells) + ")" : text;
}

source_text statement_writer::call_text(source_step const& step, std::vector<expression> const& cells,
                                        std::vector<bool> const& defaults, source_text& to) {
  if (step.function >= 0) {
    auto const& function = plan_.functions[at(step.function)];
    auto text = function.name + ("(" + arguments(step));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      bool const is_text = function.parameters[i].kind == cell::kinds::text;
      text += ", " + (is_text && cells[i].is_constant ? string_literal(cells[i].text) : cells[i].code);
    }
    return text + ")";
  }
  auto const& layer = model_.layers[at(step.layer)];
  bool const is_model = layer.nested != nullptr;
  auto const made = [&] { return is_model ? types_.at(step.layer) + "{}"_cpp : layer_text(step, cells, defaults); };
  if (layer.calls < 2) return made() + "(" + arguments(step) + ")";
  auto found = shared_.find(step.layer);
  if (found == shared_.end()) {
    auto const name = declare(identifier(is_model ? "shared_" + layer.name : layer.name));
    found = shared_.emplace(step.layer, name).first;
    to += wrap(indent_ + "auto " + name + " = " + made() + ";");
  }
  return found->second + ("(" + arguments(step)) + ")";
}

void statement_writer::find_last_uses(std::vector<source_step> const& steps, std::vector<int> const& results) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (int const input : steps[i].inputs) last_use_[input] = i;
  for (int const result : results) last_use_[result] = steps.size();
  for (auto const& [value, name] : names_) note_use(value, name);
}

std::size_t statement_writer::write_loop(std::vector<source_step> const& steps, std::size_t begin, source_text& to) {
  auto const& first = steps[begin];
  if (first.function < 0) return 0;
  // Finds successive calls, each of which takes the result of the one before, with arguments that grow evenly.
  std::size_t end = begin + 1;
  auto const follows = [&](std::size_t index) {
    auto const &step = steps[index], &before = steps[index - 1];
    if (step.function != first.function || step.inputs[0] != before.outputs[0]) return false;
    if (last_use_.at(before.outputs[0]) != index) return false;
    if (std::count(step.inputs.begin(), step.inputs.end(), step.inputs[0]) != 1) return false;
    if (!std::equal(step.inputs.begin() + 1, step.inputs.end(), first.inputs.begin() + 1, first.inputs.end()))
      return false;
    for (std::size_t c = 0; c < step.cells.size(); ++c) {
      auto const& own = step.cells[c];
      if (own.kind != cell::kinds::integer && !own.is_alike(first.cells[c])) return false;
      if (own.kind == cell::kinds::integer && index >= begin + 2 &&
          own.number - before.cells[c].number != steps[begin + 1].cells[c].number - first.cells[c].number)
        return false;
    }
    return true;
  };
  while (end < steps.size() && follows(end)) ++end;
  std::size_t const times = end - begin;
  if (times < 2) return 0;
  std::optional<identifier> counted;
  long long start = 0;
  auto const& function = plan_.functions[at(first.function)];
  for (std::size_t c = 0; c < first.cells.size(); ++c)
    if (first.cells[c].kind == cell::kinds::integer && !counted &&
        steps[begin + 1].cells[c].number - first.cells[c].number == 1) {
      counted = function.parameters[c].name;
      start = first.cells[c].number;
    }
  auto used = declared_;
  auto const variable = counted.value_or(identifier("i")).unused_in(used);
  std::vector<expression> cells;
  for (std::size_t c = 0; c < first.cells.size(); ++c) {
    expression each{first.cells[c].value, first.cells[c].text, first.cells[c].kind == cell::kinds::text};
    if (first.cells[c].kind == cell::kinds::integer) {
      auto const value = first.cells[c].number;
      each.code = in_loop(value, steps[begin + 1].cells[c].number - value, variable, start);
      if (each.code.empty()) return 0;
    }
    cells.push_back(std::move(each));
  }
  bool is_new = false;
  // The loop changes its variable: a value that is still needed is copied first.
  auto source = names_.at(first.inputs[0]);
  auto const name = target(first, end - 1, is_new);
  if (name != source) {
    to += indent_ + (is_new ? "auto "_cpp : ""_cpp) + name + " = " + source + ";\n";
    names_.insert_or_assign(first.inputs[0], name);
  }
  auto const text = call_text(first, cells, {}, to);
  if (name != source) names_.insert_or_assign(first.inputs[0], source);
  to += wrap(indent_ + "for (int " + variable + " = " + number_text(start) + "; " + variable + " < " +
             number_text(start + static_cast<long long>(times)) + "; ++" + variable + ") " + name + " = " + text + ";");
  for (std::size_t i = begin; i < end; ++i) bind(steps[i].outputs[0], name);
  return times;
}

void statement_writer::write_steps(std::vector<source_step> const& steps, source_function const* function,
                                   source_text& to) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto const& step = steps[i];
    if (function == nullptr)
      if (std::size_t const times = write_loop(steps, i, to); times > 0) {
        i += times - 1;
        continue;
      }
    auto const cells = function != nullptr ? function->expressions[i] : constants_of(step);
    auto const defaults = function != nullptr ? function->is_default[i] : defaults_of(step);
    auto const text = call_text(step, cells, defaults, to);
    if (step.outputs.size() > 1) {
      std::vector<source_text> list;
      for (int const output : step.outputs) {
        auto const name = identifier("t" + std::to_string(declared_.size() - known_names_ + 1)).unused_in(declared_);
        bind(output, name);
        list.push_back(name);
      }
      to += wrap(indent_ + "auto [" + comma_list(list) + "] = " + text + ";");
      continue;
    }
    bool const is_result = plan_.outputs.size() == 1 && step.outputs[0] == plan_.outputs[0];
    if (i + 1 == steps.size() && (function != nullptr || is_result)) {
      to += wrap(indent_ + "return " + text + ";");
      continue;
    }
    bool is_new = false;
    auto const name = target(step, i, is_new);
    to += wrap(indent_ + (is_new ? "auto "_cpp : ""_cpp) + name + " = " + text + ";");
    bind(step.outputs[0], name);
  }
}

void statement_writer::find_name_prefix(source_function const& function, source_text& to) {
  std::vector<name_piece> common;
  int count = 0;
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    if (!function.body[i].has_name) continue;
    auto const pieces = name_pieces(function.body[i], function.expressions[i]);
    std::size_t last = pieces.size();
    while (last > 0 && pieces[last - 1].is_constant) --last;
    if (last == 0) continue;
    std::vector<name_piece> const prefix(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(last));
    if (count++ == 0)
      common = prefix;
    else if (common != prefix)
      return;
  }
  if (count < 2) return;
  prefix_ = common;
  auto const begin = indent_ + "auto const name = [&](std::string_view rest) {";
  auto const result = "return " + appended(common) + ".append(rest);";
  bool const fits = begin.size() + result.size() + 5 <= columns;
  to += fits ? begin + " " + result + " };\n" : begin + "\n" + indent_ + "  " + result + "\n" + indent_ + "};\n";
}

source_text statement_writer::function_text(source_model const& model, source_plan const& plan,
                                            std::map<int, identifier> const& types, source_function const& function) {
  statement_writer writer(model, plan, types, 2);
  std::vector<source_text> list;
  constexpr std::array<std::string_view, 4> inputs{"x", "y", "z", "w"};
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    identifier const name(inputs.at(i));
    writer.bind(function.inputs[i], name);
    writer.declared_.insert(name);
    list.push_back("auto "_cpp + name);
  }
  for (auto const& each : function.parameters) {
    writer.declared_.insert(each.name);
    writer.kept_.insert(each.name);
    list.push_back((each.kind == cell::kinds::integer ? "int "_cpp
                    : each.kind == cell::kinds::real  ? "float "_cpp
                                                      : "std::string_view "_cpp) +
                   each.name);
  }
  source_text body;
  writer.find_name_prefix(function, body);
  writer.find_last_uses(function.body, {function.result});
  writer.write_steps(function.body, &function, body);
  return wrap("constexpr auto " + function.name + "(" + comma_list(list) + ") {") + body + "}\n";
}

source_text batch_size_text(source_model const& model) {
  return model.batch_size > 0 ? ".of_batch_size("_cpp + number_text(model.batch_size) + ")" : source_text();
}

void statement_writer::write_build(source_text& to) {
  // Names of functions and types are declared first, so that no variable hides them.
  for (auto const& function : plan_.functions) declare(function.name);
  for (auto const& [layer, type] : types_) declare(type);
  known_names_ = declared_.size();
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    auto const& call = model_.calls[at(model_.inputs[i])];
    auto const& name = model_.layer_of(call).name;
    auto const sizes = list_of(call.outputs[0].value());
    bool const has_default_name = name.starts_with("input_") || name == "input";
    auto const type = input_type(model_.layer_of(call));
    bool const is_only = plan_.inputs.size() == 1;
    auto const variable = identifier(is_only ? "x" : name).unused_in(declared_);
    if (!is_only) kept_.insert(variable);
    bind(plan_.inputs[i], variable);
    auto const called = has_default_name ? source_text() : ".named("_cpp + string_literal(name) + ")";
    auto const input = model_.batch_size > 0
                           ? "input{"_cpp + sizes + "}" +
                                 (type ? ".of_type("_cpp + dtype_text(*type) + ")" : source_text()) + called +
                                 batch_size_text(model_)
                           : (!type && has_default_name ? sizes : "{" + sizes + "}, " + string_literal(name)) +
                                 (type ? ", " + dtype_text(*type) : source_text());
    to += wrap(indent_ + "auto " + variable + " = model.input(" + input + ");");
  }
  find_last_uses(plan_.steps, plan_.outputs);
  write_steps(plan_.steps, nullptr, to);
  bool const has_returned = plan_.outputs.size() == 1 && !names_.contains(plan_.outputs[0]);
  if (has_returned) return;
  std::vector<source_text> list;
  for (int const output : plan_.outputs) list.push_back(names_.at(output));
  to += wrap(indent_ + "return " + (list.size() == 1 ? list[0] : "sc::outputs(" + comma_list(list) + ")") + ";");
}

}  // namespace stagecraft::tool
