// SPDX-License-Identifier: BSD-3-Clause
#include "statement_writer.hpp"

#include "source_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace stagecraft::tool {

namespace {

constexpr std::size_t columns = 120;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The cells of a step that stands for itself.
std::vector<expression> constants_of(source_step const& step) {
  std::vector<expression> result;
  for (auto const& each : step.cells) result.push_back({each.value, true});
  return result;
}
std::vector<bool> defaults_of(source_step const& step) {
  std::vector<bool> result;
  for (auto const& each : step.cells) result.push_back(each.is_option_default);
  return result;
}

/// A name in parts: constants in quotes, expressions as they are.
std::vector<std::string> name_pieces(source_step const& step, std::vector<expression> const& cells) {
  std::vector<std::string> pieces;
  std::string constant;
  auto const flush = [&] {
    if (!constant.empty()) pieces.push_back(string_literal(constant));
    constant.clear();
  };
  std::size_t next = cells.size() - at(step.name_cells);
  for (auto const& part : step.name_parts) {
    if (!part.empty()) {
      constant += part;
      continue;
    }
    auto const& each = cells[next++];
    if (each.is_constant) {
      constant += each.text;
    } else {
      flush();
      pieces.push_back(each.text);
    }
  }
  flush();
  return pieces;
}

std::string appended(std::vector<std::string> const& pieces, std::string const& more) {
  std::string text = "sc::fixed_name(" + pieces.front() + ")";
  if (pieces.front().front() != '"') text = "sc::fixed_name(" + pieces.front() + ")";
  for (std::size_t i = 1; i < pieces.size(); ++i) text += ".append(" + pieces[i] + ")";
  return text + more;
}

/// A number as an expression of a loop's variable, which is `of` where the number is `value`; both grow by their steps.
std::string in_loop(long long value, long long step, std::string const& variable, long long of, long long of_step) {
  if (step == 0) return std::to_string(value);
  if (step == of_step) {
    auto const more = value - of;
    return variable + (more == 0 ? "" : more > 0 ? " + " + std::to_string(more) : " - " + std::to_string(-more));
  }
  if (of_step != 0 && step % of_step == 0 && value == step / of_step * of)
    return std::to_string(step / of_step) + " * " + variable;
  return {};
}

}  // namespace

std::string string_literal(std::string const& text) {
  std::string result = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') {
      result += c;
      continue;
    }
    // Three digits, so that one that follows is none of them.
    result += {'\\', '0', static_cast<char>('0' + c / 8), static_cast<char>('0' + c % 8)};
  }
  return result + "\"";
}

std::string raw_string_literal(std::string const& text) {
  std::string mark = "json";
  for (int i = 1; text.find(")" + mark + "\"") != std::string::npos; ++i) mark = "json" + std::to_string(i);
  return "R\"" + mark + "(" + text + ")" + mark + "\"";
}

std::string wrap(std::string const& line) {
  std::string text, rest = line;
  auto begin = line.find_first_not_of(' ');
  std::string const indent(begin == std::string::npos ? 0 : begin + 4, ' ');
  while (rest.size() > columns) {
    bool in_text = false;
    std::size_t best = 0;
    for (std::size_t i = begin; i < columns; ++i) {
      if (rest[i] == '"') in_text = !in_text;
      if (in_text && rest[i] == '\\') ++i;  // and the quotation mark behind it ends no text
      if (in_text) continue;
      if (rest[i] == ' ' && rest[i - 1] == ',') best = i + 1;
      if (rest[i] == '.' && i > begin && rest[i - 1] == ')') best = i;
    }
    if (best <= begin + 4) break;
    auto head = rest.substr(0, best);
    while (head.ends_with(' ')) head.pop_back();
    text += head + "\n";
    rest = indent + rest.substr(best);
    begin = indent.size();
  }
  return text + rest + "\n";
}

std::string wrap_list(std::string const& begin, std::vector<std::string> const& entries, std::string const& end) {
  std::string text, line = begin;
  std::string const indent(begin.size(), ' ');
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto const entry = entries[i] + (i + 1 < entries.size() ? "," : end);
    bool const is_first = line == begin || line == indent;
    if (!is_first && line.size() + 1 + entry.size() > columns) {
      text += wrap(line);
      line = indent + entry;
    } else {
      line += (is_first ? "" : " ") + entry;
    }
  }
  return text + wrap(line);
}

std::string statement_writer::target(source_step const& step, std::size_t index, std::vector<source_step> const&,
                                     bool& is_new) {
  is_new = false;
  auto const is_free = [&](auto const& variable) {
    auto const used = used_until_.find(variable);
    return !kept_.contains(variable) && (used == used_until_.end() || used->second <= index);
  };
  for (int const input : step.inputs)
    if (is_free(names_.at(input))) return names_.at(input);
  for (auto const* each : {"x", "y", "z", "a", "b", "c", "d", "e", "f", "g", "h"}) {
    if (declared_.contains(each) ? !is_free(each) : kept_.contains(each)) continue;
    is_new = declared_.insert(each).second;
    return each;
  }
  // Those before the first one of the last search are still in use, unless the step has come at which one is not.
  if (index >= numbered_free_at_) first_numbered_ = 1, numbered_free_at_ = never;
  for (;; ++first_numbered_) {
    auto const name = "t" + std::to_string(first_numbered_);
    if (!declared_.contains(name) || is_free(name)) {
      is_new = declared_.insert(name).second;
      return name;
    }
    if (!kept_.contains(name)) numbered_free_at_ = std::min(numbered_free_at_, used_until_.at(name));
  }
}

std::string statement_writer::arguments(source_step const& step) const {
  std::string text;
  for (int const input : step.inputs) text += (text.empty() ? "" : ", ") + names_.at(input);
  return text;
}

std::string input_type(model_layer const& input) {
  bool const is_converted = input.config.is_object() && input.config.value("converted_from", "") == "int64";
  return is_converted ? "sc::dtype::" + input.config.value("dtype", "int32") : "";
}

std::string statement_writer::name_text(source_step const& step, std::vector<expression> const& cells) const {
  auto pieces = name_pieces(step, cells);
  if (pieces.size() == 1 && pieces[0].front() == '"') return pieces[0];
  if (!prefix_.empty() && pieces.size() >= prefix_.size() &&
      std::equal(prefix_.begin(), prefix_.end(), pieces.begin())) {
    std::vector<std::string> const rest(pieces.begin() + static_cast<std::ptrdiff_t>(prefix_.size()), pieces.end());
    if (rest.empty()) return "name(\"\")";
    if (rest.size() == 1 && rest[0].front() == '"') return "name(" + rest[0] + ")";
  }
  return appended(pieces, "");
}

std::string statement_writer::layer_text(source_step const& step, std::vector<expression> const& cells,
                                         std::vector<bool> const& defaults) const {
  auto const& layer = *model_.layers[at(step.layer)].layer;
  std::size_t next = 0;
  std::string text, braces;
  for (auto const& each : layer.arguments) {
    bool const is_fixed = each.value.kind == literal::kinds::fixed;
    text += (text.empty() ? "" : ", ") + (is_fixed ? each.value.text : cells[next++].text);
  }
  for (auto const& each : layer.options) {
    bool const is_integer = each.value.kind == literal::kinds::integer;
    if (!is_integer && each.is_default) continue;
    auto value = each.value.text;
    if (each.value.kind != literal::kinds::fixed) {
      value = cells[next].text;
      if (defaults[next++]) continue;
    }
    braces += (braces.empty() ? "." : ", .") + each.name + " = " + value;
  }
  if (!braces.empty()) text += (text.empty() ? "{" : ", {") + braces + "}";
  text = layer.word + "{" + text + "}" + placement_text(layer);
  return step.has_name ? text + ".named(" + name_text(step, cells) + ")" : text;
}

std::string statement_writer::call_text(source_step const& step, std::vector<expression> const& cells,
                                        std::vector<bool> const& defaults, std::string& to) {
  if (step.function >= 0) {
    auto const& function = plan_.functions[at(step.function)];
    auto text = function.name + "(" + arguments(step);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      bool const is_text = function.parameters[i].kind == cell::kinds::text;
      text += ", " + (is_text && cells[i].is_constant ? string_literal(cells[i].text) : cells[i].text);
    }
    return text + ")";
  }
  auto const& layer = model_.layers[at(step.layer)];
  bool const is_model = layer.nested != nullptr;
  auto const made = [&] { return is_model ? types_.at(step.layer) + "{}" : layer_text(step, cells, defaults); };
  if (layer.calls < 2) return made() + "(" + arguments(step) + ")";
  auto found = shared_.find(step.layer);
  if (found == shared_.end()) {
    auto name = identifier_of(layer.name);
    if (is_model) name = "shared_" + name;
    while (!declared_.insert(name).second) name += "_";
    kept_.insert(name);
    found = shared_.emplace(step.layer, name).first;
    to += wrap(indent_ + "auto " + name + " = " + made() + ";");
  }
  return found->second + "(" + arguments(step) + ")";
}

void statement_writer::find_last_uses(std::vector<source_step> const& steps, std::vector<int> const& results) {
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (int const input : steps[i].inputs) last_use_[input] = i;
  for (int const result : results) last_use_[result] = steps.size();
  for (auto const& [value, name] : names_) note_use(value, name);
}

std::size_t statement_writer::write_loop(std::vector<source_step> const& steps, std::size_t begin, std::string& to) {
  auto const& first = steps[begin];
  if (first.function < 0) return 0;
  // As many calls as follow each other, each of the one before it, with arguments that grow evenly.
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
      if (own.kind != cell::kinds::integer && own.value != first.cells[c].value) return false;
      if (own.kind == cell::kinds::integer && index >= begin + 2 &&
          own.number() - before.cells[c].number() != steps[begin + 1].cells[c].number() - first.cells[c].number())
        return false;
    }
    return true;
  };
  while (end < steps.size() && follows(end)) ++end;
  std::size_t const times = end - begin;
  if (times < 2) return 0;
  std::string variable;
  long long start = 0, step_of_variable = 1;
  auto const& function = plan_.functions[at(first.function)];
  for (std::size_t c = 0; c < first.cells.size(); ++c)
    if (first.cells[c].kind == cell::kinds::integer && variable.empty() &&
        steps[begin + 1].cells[c].number() - first.cells[c].number() == 1) {
      variable = function.parameters[c].name;
      start = first.cells[c].number();
    }
  if (variable.empty()) variable = "i";
  while (declared_.contains(variable)) variable += "_";
  std::vector<expression> cells;
  for (std::size_t c = 0; c < first.cells.size(); ++c) {
    expression each{first.cells[c].value, first.cells[c].kind == cell::kinds::text};
    if (first.cells[c].kind == cell::kinds::integer) {
      auto const value = first.cells[c].number();
      each.text = in_loop(value, steps[begin + 1].cells[c].number() - value, variable, start, step_of_variable);
      if (each.text.empty()) return 0;
    }
    cells.push_back(std::move(each));
  }
  bool is_new = false;
  // The loop's variable is the chain's own: where it is still needed, it is copied first.
  auto source = names_.at(first.inputs[0]);
  auto const name = target(first, end - 1, steps, is_new);
  if (name != source) {
    to += indent_ + (is_new ? "auto " : "") + name + " = " + source + ";\n";
    names_[first.inputs[0]] = name;
  }
  auto const text = call_text(first, cells, {}, to);
  if (name != source) names_[first.inputs[0]] = source;
  to += wrap(indent_ + "for (int " + variable + " = " + std::to_string(start) + "; " + variable + " < " +
             std::to_string(start + static_cast<long long>(times)) + "; ++" + variable + ") " + name + " = " + text +
             ";");
  for (std::size_t i = begin; i < end; ++i) bind(steps[i].outputs[0], name);
  return times;
}

void statement_writer::write_steps(std::vector<source_step> const& steps, source_function const* function,
                                   std::string& to) {
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
      std::string list;
      for (int const output : step.outputs) {
        auto name = "t" + std::to_string(declared_.size());
        while (!declared_.insert(name).second) name += "_";
        bind(output, name);
        list += (list.empty() ? "" : ", ") + name;
      }
      to += wrap(indent_ + "auto [" + list + "] = " + text + ";");
      continue;
    }
    bool const is_result = plan_.outputs.size() == 1 && step.outputs[0] == plan_.outputs[0];
    if (i + 1 == steps.size() && (function != nullptr || is_result)) {
      to += wrap(indent_ + "return " + text + ";");
      continue;
    }
    bool is_new = false;
    auto const name = target(step, i, steps, is_new);
    to += wrap(indent_ + (is_new ? "auto " : "") + name + " = " + text + ";");
    bind(step.outputs[0], name);
  }
}

void statement_writer::find_name_prefix(source_function const& function, std::string& to) {
  std::vector<std::string> common;
  int count = 0;
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    if (!function.body[i].has_name) continue;
    auto const pieces = name_pieces(function.body[i], function.expressions[i]);
    std::size_t last = pieces.size();
    while (last > 0 && pieces[last - 1].front() == '"') --last;
    if (last == 0) continue;
    std::vector<std::string> const prefix(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(last));
    if (count++ == 0)
      common = prefix;
    else if (common != prefix)
      return;
  }
  if (count < 2) return;
  prefix_ = common;
  auto const begin = indent_ + "auto const name = [&](std::string_view rest) {";
  auto const result = "return " + appended(common, ".append(rest)") + ";";
  bool const fits = begin.size() + result.size() + 5 <= columns;
  to += fits ? begin + " " + result + " };\n" : begin + "\n" + indent_ + "  " + result + "\n" + indent_ + "};\n";
}

std::string statement_writer::function_text(source_model const& model, source_plan const& plan,
                                            source_function const& function) {
  static std::map<int, std::string> const no_types;
  statement_writer writer(model, plan, no_types, "  ");
  std::string list;
  constexpr std::array inputs{"x", "y", "z", "w"};
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    writer.bind(function.inputs[i], inputs[i]);
    writer.declared_.insert(inputs[i]);
    list += (i == 0 ? "auto " : ", auto ") + std::string(inputs[i]);
  }
  for (auto const& each : function.parameters) {
    writer.declared_.insert(each.name);
    writer.kept_.insert(each.name);
    list += (each.kind == cell::kinds::integer ? ", int "
             : each.kind == cell::kinds::real  ? ", float "
                                               : ", std::string_view ") +
            each.name;
  }
  std::string body;
  writer.find_name_prefix(function, body);
  writer.find_last_uses(function.body, {function.result});
  writer.write_steps(function.body, &function, body);
  return wrap("constexpr auto " + function.name + "(" + list + ") {") + body + "}\n";
}

void statement_writer::write_build(std::string& to) {
  declared_.insert("model");
  kept_.insert("model");
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    auto const& call = model_.calls[at(model_.inputs[i])];
    auto const& name = model_.layer_of(call).name;
    std::string sizes;
    for (int const length : call.outputs[0].value()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(length);
    bool const has_default_name = name.starts_with("input_") || name == "input";
    auto const type = input_type(model_.layer_of(call));
    auto variable = plan_.inputs.size() == 1 ? std::string("x") : identifier_of(name);
    while (!declared_.insert(variable).second) variable += "_";
    if (plan_.inputs.size() > 1) kept_.insert(variable);
    bind(plan_.inputs[i], variable);
    to += wrap(indent_ + "auto " + variable + " = model.input(" +
               (type.empty() && has_default_name ? sizes : "{" + sizes + "}, " + string_literal(name)) +
               (type.empty() ? "" : ", " + type) + ");");
  }
  find_last_uses(plan_.steps, plan_.outputs);
  write_steps(plan_.steps, nullptr, to);
  bool const has_returned = plan_.outputs.size() == 1 && !names_.contains(plan_.outputs[0]);
  if (has_returned) return;
  std::string list;
  for (int const output : plan_.outputs) list += (list.empty() ? "" : ", ") + names_.at(output);
  to += wrap(indent_ + "return " + (plan_.outputs.size() == 1 ? list : "sc::outputs(" + list + ")") + ";");
}

}  // namespace stagecraft::tool
