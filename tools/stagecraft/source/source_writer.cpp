// SPDX-License-Identifier: BSD-3-Clause
#include "source/source_writer.hpp"

#include "source/source_steps.hpp"
#include "source/statement_writer.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

namespace {

void check_names(source_model const& model, std::string const& origin) {
  check_name(model.name, "a model", origin);
  for (auto const& layer : model.layers) {
    check_name(layer.name, layer.is_input ? "an input" : "a layer", origin);
    if (layer.nested) check_names(*layer.nested, origin);
  }
}

class header_writer {
 public:
  header_writer(source_model const& model, source_options const& options) : model_(model), options_(options) {
    used_.insert(options.type);
    parts_name_.emplace(identifier(options.type.str() + "_parts").unused_in(used_));
  }

  source_text write() {
    check_names(model_, options_.origin);
    source_plan main;
    if (is_list(model_)) {
      visit_names(model_);
    } else {
      main = make_steps(model_, names_, plans_);
    }
    source_text parts;
    write_own_layers(model_, parts);
    collect_types(model_, parts);
    if (!is_list(model_)) find_functions(main, model_);
    write_functions(model_, main, parts);
    has_parts_ = !parts.empty();
    source_text text("// The model '");
    text += comment_text(model_.name) + "' of " + comment_text(options_.origin) +
            ": made by `stagecraft import`.\n#pragma once\n\n";
    if (parts.view().find(": sc::layer<") != std::string_view::npos)
      text += "#include <stagecraft/operations/words.hpp>\n";
    text += "#include <stagecraft/pipeline.hpp>\n";
    if (parts.view().find("std::string_view") != std::string_view::npos || !is_list(model_))
      text += "#include <string_view>\n";
    text +=
        "\nnamespace models {\n\nnamespace sc = stagecraft;\nusing namespace sc::layers;  // NOLINT: as a program "
        "writes it\n\n";
    if (has_parts_)
      text += "namespace " + *parts_name_ + " {\n\n" + parts + "\n}  // namespace " + *parts_name_ + "\n\n";
    text += definition(model_, options_.type, is_list(model_) ? nullptr : &main, true);
    return text + "\n}  // namespace models\n";
  }

 private:
  /// True if a model is written as sequential<...>.
  static bool is_list(source_model const& model) {
    if (!model.is_sequential) return false;
    for (auto const& layer : model.layers)
      if (layer.calls > 1) return false;
    return true;
  }
  /// Counts the default names in a sequential<...>.
  void visit_names(source_model const& model) { plans_.try_emplace(&model, make_steps(model, names_, plans_)); }

  void write_functions(source_model const& model, source_plan& plan, source_text& to) {
    for (auto& function : plan.functions) {
      function.name = function.name.unused_in(used_);
      to += (to.empty() ? ""_cpp : "\n"_cpp) + statement_writer::function_text(model, plan, types_[&model], function);
    }
  }

  /// Layers that the library does not have are types, each written once.
  void write_own_layers(source_model const& model, source_text& to) {
    std::map<std::string, identifier> written;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      auto const& layer = model.layers[i].layer;
      if (!layer || layer->own_call.empty()) continue;
      auto const found = written.find(layer->own_call.str());
      if (found != written.end()) {
        types_[&model].emplace(static_cast<int>(i), found->second);
        continue;
      }
      auto const type = identifier(layer->own_name.view()).unused_in(used_);
      written.emplace(layer->own_call.str(), type);
      types_[&model].emplace(static_cast<int>(i), type);
      to += (to.empty() ? ""_cpp : "\n"_cpp) + "struct " + type + " : sc::layer<" + type +
            "> {\n  static constexpr std::string_view class_name = " + string_literal(layer->own_name.view()) +
            ";\n\n" + layer->own_call + "};\n";
    }
  }

  /// Collects nested models, which become types, the innermost first.
  void collect_types(source_model const& model, source_text& to) {
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      auto const& layer = model.layers[i];
      if (!layer.nested) continue;
      collect_types(*layer.nested, to);
      auto const type = type_name_of(layer.name).unused_in(used_);
      types_[&model].emplace(static_cast<int>(i), type);
      auto& plan = plans_.at(layer.nested.get());
      if (!is_list(*layer.nested)) {
        find_functions(plan, *layer.nested);
        write_functions(*layer.nested, plan, to);
      }
      to += (to.empty() ? ""_cpp : "\n"_cpp) + definition(*layer.nested, type, &plan, false);
    }
  }

  source_text definition(source_model const& model, identifier const& type, source_plan const* plan,
                         bool is_outermost) {
    if (is_list(model)) return list_text(model, type, is_outermost);
    source_text body;
    if (is_outermost && has_parts_) body += "    using namespace " + *parts_name_ + ";  // NOLINT\n";
    statement_writer(model, *plan, types_[&model], 4).write_build(body);
    return "struct " + type + " : sc::functional<" + type +
           "> {\n  static constexpr std::string_view name = " + string_literal(model.name) +
           ";\n\n  static constexpr auto build(auto& model) {\n" + body + "  }\n};\n";
  }

  source_text list_text(source_model const& model, identifier const& type, bool is_outermost) {
    std::vector<source_text> entries, sizes;
    auto const& steps = plans_.at(&model).steps;
    auto const& input = model.calls[static_cast<std::size_t>(model.inputs[0])];
    for (int const length : input.outputs[0].value()) sizes.push_back(number_text(length));
    auto const of_type = input_type(model.layer_of(input));
    entries.push_back("input{" + comma_list(sizes) + "}" +
                      (of_type ? ".of_type("_cpp + dtype_text(*of_type) + ")" : source_text()) +
                      batch_size_text(model));
    for (auto const& step : steps) {
      auto const& layer = model.layers[static_cast<std::size_t>(step.layer)];
      if (auto const own = types_[&model].find(step.layer); own != types_[&model].end())
        entries.push_back(
            (is_outermost ? *parts_name_ + "::"_cpp : source_text()) + own->second + "{}" +
            (layer.layer ? placement_text(*layer.layer) : source_text()) +
            (!layer.nested && step.has_name ? ".named("_cpp + string_literal(layer.name) + ")" : source_text()));
      else
        entries.push_back(text_of(*layer.layer) +
                          (step.has_name ? ".named("_cpp + string_literal(layer.name) + ")" : source_text()));
    }
    bool const is_named = model.name != "sequential";
    auto const begin = "using " + type + " = " +
                       (is_named ? "sc::named<"_cpp + string_literal(model.name) + ", " : source_text()) +
                       "sc::sequential<";
    auto const end = is_named ? ">>;"_cpp : ">;"_cpp;
    // If the alignment leaves no room, entries begin on a new line.
    if (begin.size() > 60) return begin + "\n" + wrap_list(indent_of(4), entries, end);
    return wrap_list(begin, entries, end);
  }

  source_model const& model_;
  source_options const& options_;
  default_names names_;
  std::map<source_model const*, source_plan> plans_;
  std::map<source_model const*, std::map<int, identifier>> types_;
  std::set<identifier> used_;
  std::optional<identifier> parts_name_;
  bool has_parts_ = false;
};

}  // namespace

void check_name(std::string_view name, std::string_view of, std::string const& origin) {
  auto const wrong = [&](std::string const& what) {
    throw file_error("E5191", origin + ": the name of " + std::string(of) + " " + what);
  };
  if (name.empty()) wrong("is empty; each needs one");
  if (name.find('\0') != std::string_view::npos) wrong("has a NUL: '" + comment_text(name).str() + "'");
  if (name.size() > fixed_name::capacity)
    wrong("has " + std::to_string(name.size()) + " bytes, at most " + std::to_string(fixed_name::capacity) +
          " can be: '" + comment_text(name).str() + "'");
}

source_text write_source(source_model const& model, source_options const& options) {
  return header_writer(model, options).write();
}

}  // namespace stagecraft::tool
