// SPDX-License-Identifier: BSD-3-Clause
#include "source_writer.hpp"

#include "option_values.hpp"
#include "source_steps.hpp"
#include "statement_writer.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace stagecraft::tool {

namespace {

/// Names that mean something else in an imported header.
bool is_taken_word(std::string const& name) {
  static std::set<std::string> const words = [] {
    std::set<std::string> all{"alignas",
                              "and",
                              "asm",
                              "auto",
                              "bool",
                              "break",
                              "case",
                              "catch",
                              "char",
                              "class",
                              "concept",
                              "const",
                              "continue",
                              "default",
                              "delete",
                              "do",
                              "double",
                              "else",
                              "enum",
                              "explicit",
                              "export",
                              "extern",
                              "false",
                              "float",
                              "for",
                              "friend",
                              "goto",
                              "if",
                              "inline",
                              "int",
                              "long",
                              "main",
                              "model",
                              "models",
                              "mutable",
                              "name",
                              "namespace",
                              "new",
                              "not",
                              "operator",
                              "or",
                              "private",
                              "public",
                              "register",
                              "requires",
                              "return",
                              "sc",
                              "short",
                              "signed",
                              "sizeof",
                              "static",
                              "std",
                              "struct",
                              "switch",
                              "template",
                              "this",
                              "throw",
                              "true",
                              "try",
                              "typedef",
                              "typeid",
                              "typename",
                              "union",
                              "unsigned",
                              "using",
                              "virtual",
                              "void",
                              "volatile",
                              "while",
                              "xor",
                              "stagecraft",
                              "bidirectional",
                              "time_distributed",
                              "input",
                              "lambda",
                              "rnn"};
    for (auto const& class_name : known_classes()) all.insert(snake_case_of(class_name));
    return all;
  }();
  return words.contains(name);
}

class header_writer {
 public:
  header_writer(source_model const& model, source_options const& options) : model_(model), options_(options) {
    used_.insert(options.type);
  }

  std::string write() {
    source_plan main;
    if (is_list(model_)) {
      visit_names(model_);
    } else {
      main = make_steps(model_, names_, plans_);
    }
    std::string parts;
    collect_types(model_, parts);
    if (!is_list(model_)) find_functions(main, model_);
    for (auto const& function : main.functions)
      parts += (parts.empty() ? "" : "\n") + statement_writer::function_text(model_, main, function);
    has_parts_ = !parts.empty();
    std::string text = "// The model '" + model_.name + "' of " + options_.origin + ": made by `stagecraft import`.";
    // What stands in a file stays in the comment; a '\r' ends it for Clang.
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    text += "\n#pragma once\n\n#include <stagecraft/pipeline.hpp>\n";
    if (parts.find("std::string_view") != std::string::npos || !is_list(model_)) text += "#include <string_view>\n";
    text +=
        "\nnamespace models {\n\nnamespace sc = stagecraft;\nusing namespace sc::layers;  // NOLINT: as a program "
        "writes it\n\n";
    if (has_parts_)
      text += "namespace " + parts_name() + " {\n\n" + parts + "\n}  // namespace " + parts_name() + "\n\n";
    text += definition(model_, options_.type, is_list(model_) ? nullptr : &main, true);
    return text + "\n}  // namespace models\n";
  }

 private:
  /// Whether a model is written as sequential<...>.
  static bool is_list(source_model const& model) {
    if (!model.is_sequential) return false;
    for (auto const& layer : model.layers)
      if (layer.calls > 1) return false;
    return true;
  }
  [[nodiscard]] std::string parts_name() const { return options_.type + "_parts"; }

  /// Default names of a model that is a list.
  void visit_names(source_model const& model) { plans_.try_emplace(&model, make_steps(model, names_, plans_)); }

  /// Nested models are types, the innermost first.
  void collect_types(source_model const& model, std::string& to) {
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      auto const& layer = model.layers[i];
      if (!layer.nested) continue;
      collect_types(*layer.nested, to);
      auto type = type_name_of(layer.name);
      while (!used_.insert(type).second) type += "_";
      types_[&model][static_cast<int>(i)] = type;
      auto& plan = plans_.at(layer.nested.get());
      if (!is_list(*layer.nested)) {
        find_functions(plan, *layer.nested);
        for (auto& function : plan.functions) {
          while (!used_.insert(function.name).second) function.name += "_";
          to += (to.empty() ? "" : "\n") + statement_writer::function_text(*layer.nested, plan, function);
        }
      }
      to += (to.empty() ? "" : "\n") + definition(*layer.nested, type, &plan, false);
    }
  }

  std::string definition(source_model const& model, std::string const& type, source_plan const* plan,
                         bool is_outermost) {
    if (is_list(model)) return list_text(model, type, is_outermost);
    std::string body;
    if (is_outermost && has_parts_) body += "    using namespace " + parts_name() + ";  // NOLINT\n";
    statement_writer(model, *plan, types_[&model], "    ").write_build(body);
    return "struct " + type + " : sc::functional<" + type +
           "> {\n  static constexpr std::string_view name = " + string_literal(model.name) +
           ";\n\n  static constexpr auto build(auto& model) {\n" + body + "  }\n};\n";
  }

  std::string list_text(source_model const& model, std::string const& type, bool is_outermost) {
    std::vector<std::string> entries;
    auto const& steps = plans_.at(&model).steps;
    auto const& input = model.calls[static_cast<std::size_t>(model.inputs[0])];
    std::string sizes;
    for (int const length : input.outputs[0].value()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(length);
    auto const of_type = input_type(model.layer_of(input));
    entries.push_back("input{" + sizes + "}" + (of_type.empty() ? "" : ".of_type(" + of_type + ")"));
    for (auto const& step : steps) {
      auto const& layer = model.layers[static_cast<std::size_t>(step.layer)];
      if (layer.nested)
        entries.push_back((is_outermost ? parts_name() + "::" : "") + types_[&model][step.layer] + "{}");
      else
        entries.push_back(text_of(*layer.layer) + (step.has_name ? ".named(" + string_literal(layer.name) + ")" : ""));
    }
    bool const is_named = model.name != "sequential";
    auto const begin = "using " + type + " = " + (is_named ? "sc::named<" + string_literal(model.name) + ", " : "") +
                       "sc::sequential<";
    auto text = wrap_list(begin, entries, is_named ? ">>;" : ">;");
    // Where the alignment leaves no room, entries begin a line of their own.
    if (begin.size() > 60) text = begin + "\n" + wrap_list("    ", entries, is_named ? ">>;" : ">;");
    return text;
  }

  source_model const& model_;
  source_options const& options_;
  default_names names_;
  std::map<source_model const*, source_plan> plans_;
  std::map<source_model const*, std::map<int, std::string>> types_;
  std::set<std::string> used_;
  bool has_parts_ = false;
};

}  // namespace

std::string identifier_of(std::string const& text) {
  std::string name;
  for (char const c : text) {
    bool const is_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_word)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) name = "model_" + name;
  return is_taken_word(name) ? name + "_" : name;
}

std::string type_name_of(std::string const& text) {
  auto name = identifier_of(text);
  return name.ends_with('_') ? name + "model" : name;
}

std::string write_source(source_model const& model, source_options const& options) {
  return header_writer(model, options).write();
}

}  // namespace stagecraft::tool
