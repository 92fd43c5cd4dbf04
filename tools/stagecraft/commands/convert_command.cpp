// SPDX-License-Identifier: BSD-3-Clause
#include "commands/convert_command.hpp"

#include "commands/convert_options.hpp"
#include "commands/model_converters.hpp"
#include "commands/model_edits.hpp"
#include "commands/node_groups.hpp"
#include "keras/model_json.hpp"
#include "pipeline/pipeline_search.hpp"
#include "saved_model/saved_model.hpp"
#include "source/source_model.hpp"
#include "source/source_writer.hpp"
#include "source/written_layer.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <stagecraft/serving/detail/export_folder.hpp>
#include <stagecraft/version.hpp>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;
constexpr char const* params_file = "/conversion_params.json";

void write_json(std::string const& path, io::json const& what) {
  io::replace_file(path, [&](io::file_writer& to) { to.write(what.dump(1) + "\n"); });
}

/// The exported model's application.json; without one, one batch at a time.
io::json application_of(std::string const& dir) {
  auto const path = dir + "/application.json";
  if (!fs::exists(path)) return io::export_config(1, 1, {});
  auto how = read_json_file(path);
  if (!how.is_object()) throw file_error("E5030", path + ": it is no JSON object");
  return how;
}

/// Computes the checksums of the model's own files.
io::json checksums_of(std::string const& dir) {
  auto sums = io::json::object();
  auto const add = [&](std::string const& path) {
    if (!fs::is_regular_file(path)) return;
    sums[fs::path(path).filename().string()] = io::hexadecimal(io::crc32_of(io::byte_source(path)));
  };
  add(dir);
  for (char const* const name : {"model.json", "weights.safetensors", "saved_model.pb"}) add(dir + "/" + name);
  return sums;
}

int stages_of(io::json const& config) {
  int stages = 1;
  if (auto const found = config.find("pipeline_stages"); found != config.end() && found->is_object())
    for (auto const& stage : *found)
      if (stage.is_number_integer() && stage.get<double>() < 64) stages = std::max(stages, stage.get<int>() + 1);
  return stages;
}

/// Keeps the stages of the remaining layers. Reports E5149 for a stage without layers.
void leave_out_stages(source_model const& model, std::string const& dir, io::json& config) {
  std::set<std::string> names;
  for (auto const& [path, name] : list_calls(model)) names.insert(name);
  auto left = io::json::object();
  for (auto const& [name, stage] : config["pipeline_stages"].items())
    if (names.contains(name)) left[name] = stage;
  if (left.size() == config["pipeline_stages"].size()) return;
  for (int stage = 0; stage < stages_of(config); ++stage)
    if (std::find(left.begin(), left.end(), stage) == left.end())
      throw file_error("E5149", dir + ": no layer of the model's pipeline stage " + std::to_string(stage) +
                                    " is left; give other stages by 'pipeline_cfg'");
  config["pipeline_stages"] = std::move(left);
  config["pipeline_stage_assignment"] = io::json::array();  // it counts the layers that were there
}

/// Keeps the stages of the converted model, unless it is divided anew.
void keep_stages(source_model const& model, std::string const& dir, convert_options const& options, io::json& config) {
  if (!options.manual_sharding.empty() || options.pipeline_cfg || options.no_ipu_placement) return;
  if (!fs::exists(dir + "/model.json")) return;
  auto const saved = read_json_file(dir + "/model.json");
  if (!saved.is_object() || !saved.contains("config") || !saved["config"].is_object()) return;
  for (auto const& [key, value] : saved["config"].items())
    if (std::string_view(key).find("pipelin") != std::string_view::npos) config[key] = value;
  if (auto const stages = config.find("pipeline_stages"); stages != config.end() && stages->is_object())
    leave_out_stages(model, dir, config);
}

/// True if names of a signature can be those of an application's outputs.
bool can_be_output_names(std::vector<std::string> const& names) {
  std::set<std::string> const different(names.begin(), names.end());
  return !names.empty() && names.size() <= 64 && different.size() == names.size() &&
         std::all_of(names.begin(), names.end(), [](std::string const& each) {
           return !each.empty() && each.size() <= fixed_name::capacity && each.find('\0') == std::string::npos;
         });
}

/// Replaces a file without writing over the former one, which a program may have mapped.
void replace_copy(std::string const& from, std::string const& to) {
  auto const beside = to + ".copying-" + std::to_string(::getpid());
  fs::copy_file(from, beside, fs::copy_options::overwrite_existing);
  fs::rename(beside, to);
}

application_machine machine_of(convert_options const& options) {
  application_machine machine;
  machine.init_ipu = !options.no_ipu_placement;
  machine.num_ipus = options.num_ipus;
  machine.matmul_amp = options.matmul_amp;
  machine.conv_amp = options.conv_amp;
  machine.matmul_partial_type = options.matmul_partial_type;
  machine.conv_partial_type = options.conv_partial_type;
  return machine;
}

}  // namespace

void convert_command::report_without_effect(convert_options const& options, json const& all) const {
  for (auto const& [name, why] : options_without_effect(options, all)) {
    if (given.contains(name)) throw file_error("E5209", "--" + name + " has no effect: " + why);
    std::fprintf(stderr, "WARNING: '%s' of %s has no effect: %s\n", name.c_str(), config_file.c_str(), why.c_str());
  }
  if (options.merge_subgraphs)
    std::fprintf(stderr, "WARNING: 'merge_subgraphs' has no effect: an application is one program in any case\n");
  if (!compiles && !options.pipeline_cfg && (!compile.compiler.empty() || !compile.include.empty()))
    throw file_error("E5209", std::string(compile.compiler.empty() ? "--include" : "--compiler") +
                                  " has no effect: with --no_compile, and without a pipeline, nothing is compiled");
}

void convert_command::run() const {
  if (tag_set != "serve")
    throw file_error("E5132", "MetaGraphDef associated with tags '" + tag_set +
                                  "' could not be found in SavedModel, with available tags '[{'serve'}]'.");
  auto const from = io::without_slash(dir);
  bool const is_saved = fs::is_directory(from) && is_saved_model(from);
  if (signature_def != "serving_default" && !is_saved)
    throw file_error("E5132", "No SignatureDef with key '" + signature_def + "' found in MetaGraphDef.");
  if (fs::exists(from + params_file))
    throw file_error("E5133", from +
                                  ": it is converted already, as its conversion_params.json says; convert the model "
                                  "that it was made of");
  auto all = config_file.empty() ? json::object() : read_config_file(config_file);
  all.update(given);
  auto const where = config_file.empty() ? std::string("stagecraft convert") : config_file;
  auto const options = read_convert_options(all, where);
  report_without_effect(options, all);

  import_options reading;
  reading.output_nodes = output_nodes;
  reading.group_of = groups_of(options);
  if (signature_def != "serving_default") reading.signature = signature_def;
  auto model = read_model(from, reading);
  model_converters converters(model, options, where);
  converters.replace_gelu();
  converters.place_on_ipus();
  converters.convert_int64();
  converters.convert_precision();
  auto const shards = converters.shard();

  auto how = application_of(from);
  if (all.contains("batch_size") || !fs::exists(from + "/application.json")) {
    how["batch_size"] = options.batch_size;
    how.erase("allowed_batch_sizes");  // up to another batch size
  }
  if (!fs::exists(from + "/application.json") && can_be_output_names(model.output_names))
    how["output_names"] = model.output_names;
  auto machine = machine_of(options);
  if (shards.stages() > 1) {
    auto& solution = how["solution"] = {{"device_mapping", shards.device_mapping}};
    for (auto const& [layer, stage] : shards.pipeline_mapping) solution["pipeline_mapping"][layer] = stage;
  }
  if (options.embedded_runtime_save_config)
    how["runtime_api_timeout_us"] = options.embedded_runtime_save_config->runtime_api_timeout_us;

  auto const place = io::without_slash(output_dir);
  io::unfinished_export unfinished(place);
  unfinished.prepare(false);
  io::bundle_contents contents;
  contents.model = model_json(model);
  keep_stages(model, from, options, contents.model["config"]);
  if (options.batch_per_step > 0) how["iterations"] = options.batch_per_step * stages_of(contents.model["config"]);
  contents.tensors = weights_of(model);
  auto const write_machine = [&] {
    if (!machine.init_ipu) return;
    how["machine"] = {{"num_ipus", machine.num_ipus},
                      {"matmul_amp", machine.matmul_amp},
                      {"conv_amp", machine.conv_amp},
                      {"matmul_partial_type", machine.matmul_partial_type},
                      {"conv_partial_type", machine.conv_partial_type}};
  };
  write_machine();
  io::write_export(place, contents, how);
  if (has_own_layers(model)) {
    auto const source = write_source(model, {type_name_of(model.name), fs::path(from).filename().string()});
    io::replace_file(place + "/model.hpp", [&](io::file_writer& to) { to.write(source.view()); });
  }
  if (auto const header = processing_header(place); !header.empty()) {
    std::error_code problem;
    fs::copy_file(fs::path(from) / header, fs::path(place) / header, problem);
    if (problem)
      throw file_error("E5001",
                       from + "/" + header + ", the processing_header of application.json: " + problem.message());
  }
  if (options.pipeline_cfg) {
    auto const solution = find_pipeline(*options.pipeline_cfg, {.folder = place,
                                                                .machine = machine,
                                                                .batch_per_step = options.batch_per_step,
                                                                .compiler = {compile.compiler, compile.include}});
    how = read_json_file(place + "/application.json");
    machine.num_ipus = solution.num_ipus();
    write_machine();
    write_json(place + "/application.json", how);
  }
  write_json(place + params_file,
             {{"format", "stagecraft conversion"},
              {"stagecraft_version", std::to_string(version_major) + "." + std::to_string(version_minor) + "." +
                                         std::to_string(version_patch)},
              {"source", from},
              {"crc32", checksums_of(from)},
              {"options", io::json(all)}});
  if (compiles) {
    auto own = compile;
    own.folder = place;
    own.run();
    if (options.embedded_runtime_save_config) {
      auto const& kept = options.embedded_runtime_save_config->embedded_runtime_exec_cachedir;
      auto const file = std::string("/") + serving::application_file::default_name;
      fs::create_directories(kept);
      replace_copy(place + file, kept + file);
    }
  } else {
    write_application_source(place, compile.machine);
  }
  unfinished.keep();
  std::printf("wrote %s\n", place.c_str());
}

void add_convert_command(CLI::App& app) {
  auto const command = std::make_shared<convert_command>();
  auto* const own = app.add_subcommand("convert", "Makes an application for emulated IPUs of a model");
  own->add_option("--dir", command->dir, "A folder that save_model or an export has written, or a model's file")
      ->required();
  own->add_option("--output_dir", command->output_dir, "The folder of the application: a new one, or an empty one")
      ->required();
  own->add_option("--tag_set", command->tag_set, "serve, which models have")->capture_default_str();
  own->add_option("--signature_def", command->signature_def, "serving_default, which models have")
      ->capture_default_str();
  own->add_option("--output_node", command->output_nodes, "A node that is an output of a frozen graph; once for each");
  own->require_subcommand(1);
  own->fallthrough();
  auto* const ipu = own->add_subcommand("ipu", "For emulated IPUs");
  ipu->fallthrough();
  auto& given = command->given;
  auto const values = [&](char const* name, char const* help) {
    ipu->add_option_function<std::vector<std::string>>(
           std::string("--") + name, [&given, name](std::vector<std::string> const& each) { given[name] = each; }, help)
        ->expected(1, 1000)
        ->allow_extra_args(false);  // with them, CLI11 would take an expression such as "[ab]" for a list
  };
  auto const object = [&](char const* name, char const* help) {
    ipu->add_option_function<std::string>(
        std::string("--") + name,
        [&given, name](std::string const& text) { given[name] = read_option_text(text, name); }, help);
  };
  auto const flag = [&](char const* name, char const* spelling, char const* help) {
    ipu->add_flag_function(spelling, [&given, name](std::int64_t count) { given[name] = count > 0; }, help);
  };
  auto const text = [&](char const* name, char const* help) {
    ipu->add_option_function<std::string>(
        std::string("--") + name, [&given, name](std::string const& each) { given[name] = each; }, help);
  };
  values("excluded_nodes", "Layers that are not on IPUs: regular expressions that are searched for in their names");
  flag("remove_excluded_nodes", "--remove_excluded_nodes", "Removes these layers");
  object("num_ipus", "The IPUs of the application; default: 1");
  object("matmul_amp", "The part of a tile's memory for temporary data of matrix products; default: 0.6");
  object("conv_amp", "The same, of convolutions");
  text("matmul_partial_type", "The type of partial sums of matrix products: float, the default, or half");
  text("conv_partial_type", "The same, of convolutions");
  object("batch_size", "Samples of a batch; default: what the exported model says, else 1");
  object("batch_per_step", "Batches of an execution, in a pipeline for each stage; 0, the default: one");
  text("precision_mode", "FP16: layers compute and keep their weights in float16; FP32, the default");
  values("precision_conversion_excluded_nodes", "Layers that stay as they are");
  flag("no_ipu_placement", "--no_ipu_placement,!--ipu_placement", "Places nothing on IPUs");
  flag("int64_to_int32_conversion", "--int64_to_int32_conversion", "Inputs of int64 become those of int32");
  flag("merge_subgraphs", "--merge_subgraphs", "Nothing, with a warning: a program is one in any case");
  object("gelu_replacement",
         "The layers that are a GELU, which become one: JSON with lists of expressions, 'nodes', "
         "'node_as_gelu_input' and 'node_use_gelu_output'");
  object("manual_sharding", "For each IPU, a list of expressions for its layers: '[[\"^a\"], [\"^b\"]]'");
  object("embedded_runtime_save_config",
         "JSON with 'embedded_runtime_exec_cachedir', where the application is kept, and 'runtime_api_timeout_us'");
  object("pipeline_cfg", "How the model is divided into stages: JSON with 'converter', auto, manual or load");
  ipu->add_option("--config_file", command->config_file, "A file with all options: JSON, with comments");
  auto* const no_compile =
      ipu->add_flag("!--no_compile", command->compiles, "Writes sources only, for `stagecraft compile`");
  auto& compile = command->compile;
  ipu->add_option("--march", compile.march, "The processor that it is compiled for; off: any")
      ->capture_default_str()
      ->excludes(no_compile);
  ipu->add_option("--compiler", compile.compiler, "The C++ compiler; default: the environment's CXX, or c++");
  ipu->add_option("--include", compile.include, "Where the library's headers are");
  ipu->add_option("--flag", compile.flags, "One more flag for the compiler; several times")
      ->take_all()
      ->excludes(no_compile);
  ipu->callback([command] { command->run(); });
}

}  // namespace stagecraft::tool
