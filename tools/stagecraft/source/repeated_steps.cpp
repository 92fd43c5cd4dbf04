// SPDX-License-Identifier: BSD-3-Clause
// Turns repeated steps of a model into functions: first the sequence of steps that saves most lines, then the next one
// among the remaining steps, until none saves any. A function may call others.
#include "source/source_steps.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>

namespace stagecraft::tool {

namespace {

constexpr std::size_t longest_body = 80, most_parameters = 6, most_inputs = 4;
/// Lines of a function without its body.
constexpr int lines_around_body = 3;

/// A sequence of steps that occurs several times.
struct repetition {
  std::vector<int> begins;
  int length = 0;
  int score = 0;
  std::vector<int> inputs;  ///< values that the first occurrence takes from outside
};

class finder {
 public:
  finder(source_plan& plan, source_model const& model) : plan_(plan), model_(model) {}

  void run() {
    for (;;) {
      find_uses();
      auto const best = find_best();
      if (best.score <= 0) return;
      replace(best);
    }
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  /// Finds the last step that uses each value (one beyond the last step for outputs of the model), and the step that
  /// makes it.
  void find_uses() {
    last_use_.clear();
    maker_.clear();
    auto const& steps = plan_.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (int const input : steps[i].inputs) last_use_[input] = static_cast<int>(i);
      for (int const output : steps[i].outputs) maker_[output] = static_cast<int>(i);
    }
    for (int const output : plan_.outputs) last_use_[output] = static_cast<int>(steps.size());
  }

  /// Keys of the sequences that begin at one step, by length: like sequences have the same number; 0: the sequence has
  /// not exactly one result, and so can be no function.
  std::vector<int> keys_from(int begin, int longest) {
    std::vector<int> keys(at(longest) + 1);
    std::vector<int> inputs;
    int key = 0, last_use_before = -1;  // last use of all results but the last
    for (int length = 1; length <= longest; ++length) {
      auto const& step = plan_.steps[at(begin + length - 1)];
      if (!step.can_repeat || step.outputs.size() != 1) break;
      std::string own = std::to_string(key) + ":" + std::to_string(pattern_id(step.pattern));
      for (int const input : step.inputs) {
        auto const maker = maker_.find(input);
        if (maker != maker_.end() && maker->second >= begin && maker->second < begin + length - 1) {
          own += " s" + std::to_string(maker->second - begin);
          continue;
        }
        auto const known = std::find(inputs.begin(), inputs.end(), input);
        own += " i" + std::to_string(known - inputs.begin());
        if (known == inputs.end()) inputs.push_back(input);
      }
      if (inputs.size() > most_inputs) break;
      key = key_ids_.try_emplace(std::move(own), static_cast<int>(key_ids_.size()) + 1).first->second;
      auto const use = last_use_.find(step.outputs[0]);
      int const last_use = use == last_use_.end() ? -1 : use->second;
      if (last_use >= begin + length && last_use_before < begin + length && !inputs.empty()) keys[at(length)] = key;
      last_use_before = std::max(last_use_before, last_use);
      if (last_use_before >= begin + longest) break;  // a longer sequence would have two results
    }
    return keys;
  }
  /// The values that a sequence takes from outside, in their order.
  std::vector<int> inputs_of(int begin, int length) const {
    std::vector<int> inputs;
    for (int i = begin; i < begin + length; ++i)
      for (int const input : plan_.steps[at(i)].inputs) {
        auto const maker = maker_.find(input);
        bool const is_inside = maker != maker_.end() && maker->second >= begin && maker->second < i;
        if (!is_inside && std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
      }
    return inputs;
  }

  int pattern_id(std::string const& pattern) {
    return pattern_ids_.try_emplace(pattern, static_cast<int>(pattern_ids_.size())).first->second;
  }

  /// Finds the best repetition. The time is proportional to the numbers of steps and of functions found.
  repetition find_best() {
    int const count = static_cast<int>(plan_.steps.size());
    int const longest = std::min<int>(longest_body, count / 2);
    key_ids_.clear();
    std::vector<std::vector<int>> keys;
    std::unordered_map<int, int> times;
    for (int begin = 0; begin + 2 <= count; ++begin) {
      keys.push_back(keys_from(begin, std::min(longest, count - begin)));
      for (auto const key : keys.back()) times[key] += 1;
    }
    std::vector<repetition> candidates;
    for (int length = longest; length >= 2; --length) {
      std::unordered_map<int, repetition> found;
      std::vector<int> order;
      for (int begin = 0; begin + length <= count; ++begin) {
        auto const key = keys[at(begin)].size() > at(length) ? keys[at(begin)][at(length)] : 0;
        if (key == 0 || times[key] < 2) continue;
        auto& each = found[key];
        if (each.begins.empty()) {
          each.inputs = inputs_of(begin, length);
          each.length = length;
          order.push_back(key);
        }
        if (each.begins.empty() || each.begins.back() + length <= begin) each.begins.push_back(begin);
      }
      for (auto const key : order)
        if (score(found[key])) candidates.push_back(std::move(found[key]));
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](auto const& a, auto const& b) { return a.score > b.score; });
    find_loops(candidates);
    for (auto const& each : candidates)
      if (!holds_loop(each)) return each;
    return {};
  }

  /// Computes the lines that a function saves; returns false if it saves none.
  bool score(repetition& of) const {
    int const times = static_cast<int>(of.begins.size());
    if (times < 2) return false;
    of.score = times * of.length - (of.length + lines_around_body + times);
    for (std::size_t i = 1; i < of.begins.size(); ++i)  // successive calls become a loop
      of.score += of.begins[i] == of.begins[i - 1] + of.length ? 1 : 0;
    // Blocks with one input are preferred, since readers recognize them.
    of.score -= static_cast<int>(of.inputs.size() - 1) * (times + lines_around_body);
    if (of.score <= 0) return false;
    source_function function;
    std::vector<std::vector<cell>> arguments;
    find_parameters(of, function, arguments);
    of.score -= static_cast<int>(function.parameters.size() + 1) / 2;
    // A name whose number continues another's belongs to the next block.
    std::set<std::string> sums;
    for (auto const& cells : function.expressions)
      for (auto const& each : cells)
        if (!each.is_constant && each.code.view().find(" + ") != std::string_view::npos) sums.insert(each.code.str());
    of.score -= static_cast<int>(sums.size());
    return of.score > 0 && function.parameters.size() <= most_parameters;
  }

  /// Finds the places where two occurrences of a candidate follow each other, by the length of both.
  void find_loops(std::vector<repetition> const& candidates) {
    constexpr int shortest_turn = 3;
    loops_.clear();
    for (auto const& each : candidates)
      for (std::size_t i = 1; each.length >= shortest_turn && i < each.begins.size(); ++i)
        if (each.begins[i] == each.begins[i - 1] + each.length) loops_[each.length].insert(each.begins[i - 1]);
  }
  /// True if a shorter repetition follows itself within this one, which becomes a loop first.
  bool holds_loop(repetition const& of) const {
    int const begin = of.begins[0], end = begin + of.length;
    for (auto const& [length, begins] : loops_) {
      if (2 * length > of.length) break;
      auto const first = begins.lower_bound(begin);
      if (first != begins.end() && *first + 2 * length <= end) return true;
    }
    return false;
  }

  /// Makes parameters of the cells that differ; cells that follow from others become expressions of these.
  void find_parameters(repetition const& of, source_function& function,
                       std::vector<std::vector<cell>>& arguments) const {
    struct column {
      std::vector<cell const*> cells;
    };
    std::vector<column> parameters;
    std::set<identifier> taken{identifier("x"), identifier("y"), identifier("z"), identifier("w")};
    for (auto const& other : plan_.functions) taken.insert(other.name);
    for (int i = 0; i < of.length; ++i) {
      auto const& first = plan_.steps[at(of.begins[0] + i)];
      std::vector<expression> expressions;
      std::vector<bool> defaults;
      for (std::size_t c = 0; c < first.cells.size(); ++c) {
        column each;
        bool is_constant = true, is_default = true;
        for (int const begin : of.begins) {
          each.cells.push_back(&plan_.steps[at(begin + i)].cells[c]);
          is_constant = is_constant && each.cells.back()->is_alike(*each.cells.front());
          is_default = is_default && each.cells.back()->is_option_default;
        }
        defaults.push_back(is_default);
        if (is_constant) {
          expressions.push_back({first.cells[c].value, first.cells[c].text, true});
          continue;
        }
        source_text text;
        for (std::size_t p = 0; p < parameters.size() && text.empty(); ++p)
          text = in_terms_of(each.cells, parameters[p].cells, function.parameters[p].name);
        if (text.empty()) {
          auto const name = free_name(first.cells[c].role, taken);
          text = name;
          parameters.push_back(each);
          function.parameters.push_back({first.cells[c].kind, first.cells[c].is_of_name, name});
        }
        expressions.push_back({text, {}, false});
      }
      function.expressions.push_back(std::move(expressions));
      function.is_default.push_back(std::move(defaults));
    }
    for (std::size_t call = 0; call < of.begins.size(); ++call) {
      arguments.emplace_back();
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        auto argument = *parameters[p].cells[call];
        argument.role = function.parameters[p].name.str();
        argument.is_option_default = false;
        arguments.back().push_back(std::move(argument));
      }
    }
  }

  static identifier free_name(std::string const& role, std::set<identifier>& taken) {
    identifier name(role.empty() ? "number" : role);
    for (int i = 2; !taken.insert(name).second; ++i) name = identifier(role + "_" + std::to_string(i));
    return name;
  }

  /// The cells as an expression of a parameter's: equal, a multiple, a fraction, or with a constant added; otherwise
  /// empty.
  static source_text in_terms_of(std::vector<cell const*> const& cells, std::vector<cell const*> const& parameter,
                                 identifier const& name) {
    bool is_same = true, is_multiple = true, is_part = true, is_sum = true;
    // Equal numbers in names and sizes are a coincidence.
    if (cells[0]->kind != parameter[0]->kind || cells[0]->is_of_name != parameter[0]->is_of_name) return {};
    bool const is_integer = cells[0]->kind == cell::kinds::integer;
    long long factor = 0, divisor = 0, more = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      is_same = is_same && cells[i]->is_alike(*parameter[i]);
      if (!is_integer) continue;
      auto const a = cells[i]->number, b = parameter[i]->number;
      if (a == 0 || b == 0) is_multiple = is_part = false;
      if (i == 0) {
        factor = b == 0 ? 0 : a / b;
        divisor = a == 0 ? 0 : b / a;
        more = a - b;
      }
      is_multiple = is_multiple && a == factor * b;
      is_part = is_part && b == divisor * a;
      is_sum = is_sum && a - b == more;
    }
    if (is_same) return name;
    if (!is_integer) return {};
    if (is_sum && more != 0 && cells[0]->is_of_name)
      return name + (more > 0 ? " + "_cpp : " - "_cpp) + number_text(std::llabs(more));
    if (cells[0]->is_of_name) return {};
    if (is_multiple && factor > 1) return number_text(factor) + " * " + name;
    if (is_part && divisor > 1) return name + (" / " + number_text(divisor));
    return {};
  }

  /// A name for a function, made of its layers.
  identifier name_of(std::vector<source_step> const& body, std::vector<int> const& inputs) const {
    std::vector<std::string> words;
    bool adds = false, attends = false, joins = false, adds_input = false;
    for (auto const& step : body) {
      auto const word = step.layer >= 0 ? std::string(model_.layers[at(step.layer)].layer->word.view())
                                        : plan_.functions[at(step.function)].name.str();
      adds = adds || word == "add";
      adds_input = adds_input ||
                   (word == "add" && std::find(step.inputs.begin(), step.inputs.end(), inputs[0]) != step.inputs.end());
      joins = joins || word == "concatenate";
      attends = attends || word == "multi_head_attention" || word == "attention";
      words.push_back(word);
    }
    std::string name = attends && adds ? "encoder_block"
                       : attends       ? "attend"
                       : adds_input    ? "residual"
                       : adds          ? "projected_residual"
                       : joins         ? "joined"
                                       : "";
    if (name.empty()) {
      for (std::size_t i = 0; i < words.size() && i < 3; ++i)
        if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i), words[i]) ==
            words.begin() + static_cast<std::ptrdiff_t>(i))
          name += (name.empty() ? "" : "_") + short_word(words[i]);
      if (words.size() > 3) name += "_block";
    }
    auto const is_taken = [&](std::string const& wanted) {
      for (auto const& other : plan_.functions)
        if (other.name.str() == wanted) return true;
      for (auto const& layer : model_.layers)
        if (layer.layer && layer.layer->word.view() == wanted) return true;
      return false;
    };
    auto unique = name;
    for (int i = 2; is_taken(unique); ++i) unique = name + "_" + std::to_string(i);
    return identifier(unique);
  }
  static std::string short_word(std::string const& word) {
    if (word == "batch_normalization" || word == "layer_normalization") return "norm";
    if (word == "activation" || word == "re_lu") return "activation";
    if (word.find("depthwise") != std::string::npos) return "depthwise";
    if (word.find("conv") != std::string::npos) return "conv";
    if (word.find("pooling") != std::string::npos) return "pool";
    return word;
  }

  void replace(repetition const& of) {
    source_function function;
    std::vector<std::vector<cell>> arguments;
    find_parameters(of, function, arguments);
    auto const first = plan_.steps.begin() + of.begins[0];
    function.body.assign(first, first + of.length);
    function.inputs = of.inputs;
    function.result = function.body.back().outputs[0];
    function.name = name_of(function.body, function.inputs);
    int const index = static_cast<int>(plan_.functions.size());
    std::vector<source_step> steps;
    std::size_t next = 0;
    for (int i = 0; i < static_cast<int>(plan_.steps.size());) {
      if (next == of.begins.size() || of.begins[next] != i) {
        steps.push_back(std::move(plan_.steps[at(i++)]));
        continue;
      }
      source_step call;
      call.function = index;
      std::vector<int> inputs;
      std::set<int> inside;
      for (int k = 0; k < of.length; ++k) {
        auto const& step = plan_.steps[at(i + k)];
        for (int const input : step.inputs)
          if (!inside.contains(input) && std::find(inputs.begin(), inputs.end(), input) == inputs.end())
            inputs.push_back(input);
        inside.insert(step.outputs[0]);
      }
      call.inputs = inputs;
      call.outputs = plan_.steps[at(i + of.length - 1)].outputs;
      call.cells = std::move(arguments[next++]);
      call.pattern = "call " + std::to_string(index);
      call.can_repeat = true;
      steps.push_back(std::move(call));
      i += of.length;
    }
    plan_.steps = std::move(steps);
    plan_.functions.push_back(std::move(function));
  }

  source_plan& plan_;
  source_model const& model_;
  std::unordered_map<int, int> last_use_, maker_;  // for each value
  std::map<int, std::set<int>> loops_;             // loops by length
  std::unordered_map<std::string, int> pattern_ids_, key_ids_;
};

}  // namespace

void find_functions(source_plan& plan, source_model const& model) { finder(plan, model).run(); }

}  // namespace stagecraft::tool
