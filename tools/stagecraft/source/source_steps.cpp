// SPDX-License-Identifier: BSD-3-Clause
#include "source/source_steps.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace stagecraft::tool {

namespace {

/// The number of a default name such as "dense_12"; 0 for "dense".
std::optional<int> number_of(std::string const& name, std::string const& base) {
  if (name == base) return 0;
  if (name.size() < base.size() + 2 || name.size() > base.size() + 8 || !name.starts_with(base + "_"))
    return std::nullopt;
  auto const digits = name.substr(base.size() + 1);
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  return std::stoi(digits);
}

/// Orders the calls of a model so that each comes after its inputs, blocks stay together and, where possible, numbered
/// layers are in the order of their numbers.
class call_order {
 public:
  explicit call_order(source_model const& model) : model_(model), needs_(model.calls.size()) {
    for (std::size_t i = 0; i < needs_.size(); ++i)
      for (auto const& input : model.calls[i].inputs) needs_[i].push_back(input.call);
    add_numbers();
  }

  [[nodiscard]] std::vector<int> find() const {
    std::vector<int> order;
    std::vector<bool> entered(needs_.size());
    auto const enters = [&](int call) {
      bool const is_new = !entered[static_cast<std::size_t>(call)];
      entered[static_cast<std::size_t>(call)] = true;
      return is_new;
    };
    struct frame {
      int call;
      std::size_t next;
    };
    std::vector<frame> stack;
    for (auto const& output : model_.outputs) {
      if (enters(output.call)) stack.push_back({output.call, 0});
      while (!stack.empty()) {
        auto& top = stack.back();
        auto const& needs = needs_[static_cast<std::size_t>(top.call)];
        if (top.next == needs.size()) {
          if (!model_.layer_of(model_.calls[static_cast<std::size_t>(top.call)]).is_input) order.push_back(top.call);
          stack.pop_back();
        } else if (int const need = needs[top.next++]; enters(need)) {
          stack.push_back({need, 0});
        }
      }
    }
    return order;
  }

 private:
  void add_numbers() {
    std::map<std::string, std::vector<std::pair<int, int>>> numbered;  // number and first call, by base
    std::set<int> seen;
    for (std::size_t i = 0; i < model_.calls.size(); ++i) {
      auto const& call = model_.calls[i];
      auto const& layer = model_.layer_of(call);
      if (!layer.layer || !seen.insert(call.layer).second) continue;
      auto const base = layer.layer->default_name;
      if (auto const number = number_of(layer.name, base)) numbered[base].emplace_back(*number, static_cast<int>(i));
    }
    for (auto& [base, calls] : numbered) {
      std::sort(calls.begin(), calls.end());
      for (std::size_t i = 1; i < calls.size(); ++i) {
        int const before = calls[i - 1].second, after = calls[i].second;
        // In the model's order, each call comes after those that it needs, unless numbers have reversed some.
        bool const is_turned = before > after;
        if ((is_turned || any_turned_) && may_lead_to(before, after)) continue;
        any_turned_ = any_turned_ || is_turned;
        needs_[static_cast<std::size_t>(after)].push_back(before);
      }
    }
  }

  /// True if a call may need another one. Also true after too many calls have been visited: the order by numbers is not
  /// worth more.
  [[nodiscard]] bool may_lead_to(int call, int other) {
    looked_at_by_.resize(needs_.size());
    ++searches_;
    std::vector<int> stack{call};
    while (!stack.empty()) {
      int const at = stack.back();
      stack.pop_back();
      if (at == other || looks_left_ == 0) return true;
      --looks_left_;
      for (int const need : needs_[static_cast<std::size_t>(at)])
        if (std::exchange(looked_at_by_[static_cast<std::size_t>(need)], searches_) != searches_) stack.push_back(need);
    }
    return false;
  }

  source_model const& model_;
  std::vector<std::vector<int>> needs_;
  std::vector<int> looked_at_by_;  // the last search
  int searches_ = 0;
  int looks_left_ = 1'000'000;
  bool any_turned_ = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// "conv4_block2_1_conv" as "conv", 4, "_block", 2, "_", 1, "_conv".
std::vector<std::string> parts_of(std::string const& name) {
  std::vector<std::string> parts;
  for (char const c : name) {
    bool const begins = parts.empty() || is_digit(c) != is_digit(parts.back().front()) ||
                        (c == '_' && parts.back() != "_") || (is_digit(c) && parts.back() == "0");
    if (begins)
      parts.emplace_back(1, c);
    else
      parts.back() += c;
  }
  return parts;
}

/// The name of a parameter for a part of a name, made of the text before it.
std::string role_of_part(std::vector<std::string> const& parts, std::size_t index) {
  std::string role;
  if (index > 0)
    for (char const c : parts[index - 1])
      if (is_letter(c)) role += static_cast<char>(c | ' ');  // in lower case
  return role.empty() ? "number" : role;
}

void add_name(source_step& step, std::string const& name) {
  step.has_name = true;
  auto const parts = parts_of(name);
  std::size_t const before = step.cells.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto const& part = parts[i];
    bool const is_counter = is_digit(part.front()) && part.size() < 7;
    bool const is_one_letter = i > 0 && part.size() == 1 && is_letter(part.front());
    if (is_counter) {
      auto const number = std::stoll(part);
      step.cells.push_back(
          {cell::kinds::integer, {}, number_text(number), number, role_of_part(parts, i), false, true});
    } else if ((i == 0 && part != "_") || is_one_letter) {
      step.cells.push_back({cell::kinds::text, part, {}, 0, i == 0 ? "prefix" : "letter", false, true});
    } else {
      step.name_parts.push_back(part);
      step.pattern += std::to_string(part.size()) + ":" + part;  // so that none looks like a cell
      continue;
    }
    step.name_parts.emplace_back(std::nullopt);
    step.pattern += is_counter ? "#" : "@";
  }
  step.name_cells = static_cast<int>(step.cells.size() - before);
}

void add_options(source_step& step, source_layer const& layer) {
  step.pattern = (layer.word + placement_text(layer) + layer.own_call).str();
  auto const add = [&](written_option const& each) {
    bool const is_integer = each.value.kind == literal::kinds::integer;
    if (!is_integer && each.is_default) return;
    step.pattern += "|" + std::string(each.name.view());
    if (each.value.kind == literal::kinds::fixed) {
      step.pattern += "=" + each.value.text.str();
      return;
    }
    step.pattern += is_integer ? "#" : "%";
    step.cells.push_back({is_integer ? cell::kinds::integer : cell::kinds::real,
                          {},
                          each.value.text,
                          is_integer ? std::stoll(each.value.text.str()) : 0,
                          std::string(each.name.view()),
                          each.is_default,
                          false});
  };
  for (auto const& each : layer.arguments) add(each);
  step.pattern += "||";
  for (auto const& each : layer.options) add(each);
  step.pattern += "||";
}

}  // namespace

source_plan make_steps(source_model const& model, default_names& names,
                       std::map<source_model const*, source_plan>& nested) {
  source_plan plan;
  std::map<std::pair<int, int>, int> value_of;
  auto const value = [&](source_tensor const& tensor) {
    return value_of.try_emplace({tensor.call, tensor.output}, static_cast<int>(value_of.size())).first->second;
  };
  for (int const input : model.inputs) {
    plan.inputs.push_back(value({input, 0}));
    names.take(model.layer_of(model.calls[static_cast<std::size_t>(input)]).name, "input");
  }
  std::set<int> called;
  for (int const index : call_order(model).find()) {
    auto const& call = model.calls[static_cast<std::size_t>(index)];
    auto const& layer = model.layer_of(call);
    source_step step;
    step.layer = call.layer;
    bool const is_first = called.insert(call.layer).second;
    for (auto const& input : call.inputs) step.inputs.push_back(value(input));
    for (std::size_t i = 0; i < call.outputs.size(); ++i) step.outputs.push_back(value({index, static_cast<int>(i)}));
    if (layer.nested) {
      step.pattern = "model " + layer.name;
      if (is_first) nested.try_emplace(layer.nested.get(), make_steps(*layer.nested, names, nested));
    } else {
      add_options(step, *layer.layer);
      step.can_repeat = layer.calls == 1 && call.outputs.size() == 1;
      if (is_first) {
        for (auto const& inner : layer.layer->wrapped_names) names.skip(inner);
        if (!names.take(layer.name, layer.layer->default_name)) add_name(step, layer.name);
      }
    }
    plan.steps.push_back(std::move(step));
  }
  for (auto const& output : model.outputs) plan.outputs.push_back(value(output));
  return plan;
}

}  // namespace stagecraft::tool
