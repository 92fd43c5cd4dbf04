// SPDX-License-Identifier: BSD-3-Clause
#include "commands/signature_command.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <vector>

namespace stagecraft::tool {

namespace {

constexpr char const* only_signature = "serving_default";

void check_tag_set(std::string const& tag_set) {
  for (auto const& tag : CLI::detail::split(tag_set, ','))
    if (auto trimmed = tag; CLI::detail::trim(trimmed) != "serve" && !trimmed.empty())
      throw file_error("E5095", "MetaGraphDef associated with tag-set " + tag_set +
                                    " could not be found in the SavedModel. Please use one of the following tag-sets: "
                                    "['serve']");
}

/// The description of the application in a folder.
serving::servable_description describe(std::string const& dir) {
  if (!std::filesystem::exists(dir + "/" + serving::application_file::default_name))
    throw file_error("E5095", "SavedModel file does not exist at: " + dir);
  return serving::application_file(dir).description();
}

void print_tensors(char const* what, std::vector<serving::tensor_spec> specs, bool are_inputs,
                   std::string const& indent) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < specs.size(); ++i)
    names.push_back(are_inputs ? "serving_default_" + specs[i].name + ":0"
                               : "StatefulPartitionedCall:" + std::to_string(i));
  std::vector<std::size_t> order(specs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return specs[a].name < specs[b].name; });
  std::printf("%sThe given SavedModel SignatureDef contains the following %s(s):\n", indent.c_str(), what);
  for (auto const place : order) {
    std::string shape = "(-1";
    for (auto const length : specs[place].shape) shape += ", " + std::to_string(length);
    std::printf("%s  %ss['%s'] tensor_info:\n", indent.c_str(), what, specs[place].name.c_str());
    auto const inner = indent + "      ";
    std::printf("%sdtype: DT_FLOAT\n%sshape: %s)\n%sname: %s\n", inner.c_str(), inner.c_str(), shape.c_str(),
                inner.c_str(), names[place].c_str());
  }
}

void print_signature(serving::servable_description const& known, std::string const& indent) {
  print_tensors("input", known.inputs, true, indent);
  print_tensors("output", known.outputs, false, indent);
  std::printf("%sMethod name is: tensorflow/serving/predict\n", indent.c_str());
}

/// Collects the classes of layers, each once, in their order.
void collect_layers(io::json const& value, std::vector<std::string>& to) {
  if (value.is_object())
    if (auto const name = value.find("class_name"), config = value.find("config");
        name != value.end() && config != value.end() && name->is_string() && config->is_object() &&
        config->contains("name"))
      if (std::find(to.begin(), to.end(), name->get<std::string>()) == to.end()) to.push_back(name->get<std::string>());
  if (value.is_structured())
    for (auto const& each : value) collect_layers(each, to);
}
std::vector<std::string> layers_of(std::string const& dir) {
  auto const path = dir + "/model.json";
  if (!std::filesystem::exists(path))
    throw file_error("E5190",
                     dir + " has no model.json: an application alone is compiled, and has no operations to list");
  io::byte_source const source(path);
  auto const bytes = source.read(0, source.size());
  std::vector<std::string> found;
  try {
    collect_layers(io::json::parse(std::string_view(reinterpret_cast<char const*>(bytes.data()), bytes.size())), found);
  } catch (io::json::exception const& why) {
    throw file_error("E5030", path + ": it is not JSON: " + why.what());
  }
  return found;
}

/// The text of a set as Python prints it.
std::string set_text(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "{'" : ", '") + name + "'";
  return text.empty() ? "set()" : text + "}";
}
void print_layers(std::string const& dir) {
  std::printf("The MetaGraph with tag set ['serve'] contains the following ops: %s\n",
              set_text(layers_of(dir)).c_str());
}

}  // namespace

void check_signature(std::string const& tag_set, std::string const& signature_def) {
  check_tag_set(tag_set);
  if (signature_def != only_signature)
    throw file_error("E5095",
                     "Could not find signature \"" + signature_def + "\". Please choose from: " + only_signature);
}

void signature_command::run() const {
  auto const known = describe(dir);
  if (all) {
    std::printf("\nMetaGraphDef with tag-set: 'serve' contains the following SignatureDefs:\n\nsignature_def['%s']:\n",
                only_signature);
    print_signature(known, "  ");
    if (std::filesystem::exists(dir + "/model.json")) print_layers(dir);
    return;
  }
  if (tag_set.empty()) {
    if (list_ops) std::printf("--list_ops must be paired with a tag-set or with --all.\n");
    std::printf("The given SavedModel contains the following tag-sets:\n'serve'\n");
    return;
  }
  check_tag_set(tag_set);
  if (list_ops) print_layers(dir);
  if (signature_def.empty()) {
    std::printf(
        "The given SavedModel MetaGraphDef contains SignatureDefs with the following keys:\nSignatureDef key: \"%s\"\n",
        only_signature);
    return;
  }
  check_signature(tag_set, signature_def);
  print_signature(known, "");
}

std::shared_ptr<signature_command> add_signature_options(CLI::App& show) {
  auto const command = std::make_shared<signature_command>();
  show.add_option("--dir", command->dir, "Instead of a file: the folder of an exported model, or of an application");
  auto* const all = show.add_flag("--all", command->all, "Of a folder: all that is known")->needs("--dir");
  auto* const tag_set =
      show.add_option("--tag_set", command->tag_set, "Of a folder: serve, which applications have")->needs("--dir");
  show.add_option("--signature_def", command->signature_def, "Its inputs and outputs: serving_default")
      ->needs(tag_set)
      ->excludes(all);
  tag_set->excludes(all);
  show.add_flag("--list_ops", command->list_ops, "Of a tag-set: the model's layers")->needs("--dir");
  return command;
}

void add_scan_command(CLI::App& app) {
  struct scan_command {
    std::string dir, tag_set, denylist;
  };
  auto const command = std::make_shared<scan_command>();
  auto* const own = app.add_subcommand("scan", "Looks for layers in an exported model, by their classes");
  own->add_option("--dir", command->dir, "The folder of the exported model")->required();
  own->add_option("--tag_set", command->tag_set, "serve, which applications have");
  own->add_option("--op_denylist", command->denylist, "What to look for, separated by ','");
  own->callback([command] {
    (void)describe(command->dir);
    check_tag_set(command->tag_set);
    std::vector<std::string> wanted{"WriteFile", "ReadFile", "PrintV2"}, found;
    if (!command->denylist.empty()) wanted = CLI::detail::split(command->denylist, ',');
    for (auto& each : wanted) CLI::detail::trim(each);
    auto const layers = layers_of(command->dir);
    for (auto const& each : wanted)
      if (std::find(layers.begin(), layers.end(), each) != layers.end()) found.push_back(each);
    if (found.empty())
      std::printf("MetaGraph with tag set ['serve'] does not contain the default denylisted ops: %s\n",
                  set_text(wanted).c_str());
    else
      std::printf("MetaGraph with tag set ['serve'] contains the following denylisted ops: %s\n",
                  set_text(found).c_str());
  });
}

}  // namespace stagecraft::tool
