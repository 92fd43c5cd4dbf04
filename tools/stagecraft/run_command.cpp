// SPDX-License-Identifier: BSD-3-Clause
#include "run_command.hpp"

#include "array_text.hpp"
#include "compile_command.hpp"
#include "run_inputs.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/crc32.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <stagecraft/serving/engine.hpp>
#include <stagecraft/version.hpp>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

std::string cache_folder() {
  if (char const* const own = std::getenv("XDG_CACHE_HOME"); own != nullptr && *own != '\0')
    return std::string(own) + "/stagecraft";
  char const* const home = std::getenv("HOME");
  return (home == nullptr ? fs::temp_directory_path().string() : std::string(home) + "/.cache") + "/stagecraft";
}

/// The folder of the same model as an application for IPUs: compiled once for each model and machine.
std::string application_on_ipus(std::string const& dir, application_machine const& machine) {
  std::string key = "stagecraft " + std::to_string(version_major) + "." + std::to_string(version_minor) + "." +
                    std::to_string(version_patch) + " ipus " + std::to_string(machine.num_ipus) + " " +
                    std::to_string(machine.matmul_amp) + " " + std::to_string(machine.conv_amp) + " " +
                    machine.matmul_partial_type + " " + machine.conv_partial_type;
  std::vector<std::string> names{"model.json", "application.json"};
  if (fs::exists(dir + "/application.json"))
    if (auto header = processing_header(dir); !header.empty()) names.push_back(std::move(header));
  for (auto const& name : names) {
    if (!fs::exists(dir + "/" + name))
      throw file_error("E5095", "--init_ipu: " + dir + " has no " + name +
                                    ": only exported models are compiled for another machine");
    io::byte_source const source(dir + "/" + name);
    auto const bytes = source.read(0, source.size());
    key += " " + std::to_string(io::crc32_of(bytes)) + " " + std::to_string(bytes.size());
  }
  char text[16];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(io::crc32_of(std::as_bytes(std::span(key)))));
  auto const place = cache_folder() + "/" + text;
  auto const is_current = [&] {
    if (!fs::exists(place + "/application.so") || !fs::exists(place + "/key")) return false;
    io::byte_source const source(place + "/key");
    auto const bytes = source.read(0, source.size());
    return std::string(reinterpret_cast<char const*>(bytes.data()), bytes.size()) == key;
  };
  if (is_current()) return place;
  fs::create_directories(place);
  for (auto const& name : names)
    fs::copy_file(dir + "/" + name, place + "/" + name, fs::copy_options::overwrite_existing);
  compile_command compile;
  compile.folder = place;
  compile.machine = machine;
  compile.is_silent = true;
  compile.run();
  io::replace_file(place + "/key", [&](io::file_writer& to) { to.write(std::string_view(key)); });
  return place;
}

}  // namespace

void run_command::run() const {
  auto const given = read_run_inputs(inputs, input_exprs, input_examples);
  if (tag_set != "serve")
    throw file_error("E5095", "MetaGraphDef associated with tags '" + tag_set +
                                  "' could not be found in SavedModel, with available tags '[{'serve'}]'.");
  if (signature_def != "serving_default")
    throw file_error("E5095", "No SignatureDef with key '" + signature_def + "' found in MetaGraphDef.");
  auto const place = machine.init_ipu ? application_on_ipus(dir, machine) : dir;
  serving::application_file const file(place);
  auto const& known = file.description();
  std::int64_t samples = 0;
  auto arrays = match_inputs(known, given, samples);
  serving::engine engine(
      file.make_program(fs::exists(dir + "/weights.safetensors") ? dir + "/weights.safetensors" : ""));
  auto const outputs = engine.call(std::move(arrays), samples);

  std::map<std::string, std::size_t> sorted;
  for (std::size_t i = 0; i < known.outputs.size(); ++i) sorted.emplace(known.outputs[i].name, i);
  if (!outdir.empty()) fs::create_directories(outdir);
  for (auto const& [key, place_of_output] : sorted) {
    auto shape = known.outputs[place_of_output].shape;
    shape.insert(shape.begin(), samples);
    auto const& values = outputs[place_of_output];
    std::printf("Result for output key %s:\n%s\n", key.c_str(), array_text(shape, values).c_str());
    if (outdir.empty()) continue;
    auto const path = (fs::path(outdir) / (key + ".npy")).string();
    if (!overwrite && fs::exists(path))
      throw file_error("E5095", "Output file " + path +
                                    " already exists. Add \"--overwrite\" to overwrite the existing output files.");
    write_npy(path, io::float_tensor("", shape, values));
    std::printf("Output %s is saved to %s\n", key.c_str(), path.c_str());
  }
}

void add_run_command(CLI::App& app) {
  auto const command = std::make_shared<run_command>();
  auto* const own = app.add_subcommand("run", "Gives an application arrays, and prints or saves its outputs");
  auto& machine = command->machine;
  own->add_option("--dir", command->dir, "The folder of the exported model")->required();
  own->add_option("--tag_set", command->tag_set, "serve, which applications have")->capture_default_str();
  own->add_option("--signature_def", command->signature_def, "serving_default, which applications have")
      ->capture_default_str();
  own->add_option("--inputs", command->inputs,
                  "Files of arrays: <input_key>=<filename>[<variable_name>], separated by ';': .npy, or .npz");
  own->add_option("--input_exprs", command->input_exprs,
                  "Literals of Python, or of NumPy: 'x=np.ones((2, 3));y=[[1, 2]]'");
  own->add_option("--input_examples", command->input_examples,
                  "Lists of dictionaries, whose keys are inputs: 'all=[{\"x\": [1, 2], \"y\": [3]}]'");
  own->add_option("--outdir", command->outdir, "Saves each output there, as <output_key>.npy");
  own->add_flag("--overwrite", command->overwrite, "Overwrites what is there");
  own->add_flag("--init_ipu", machine.init_ipu,
                "Runs on emulated IPUs, for which the model is compiled once, and kept in the cache");
  own->add_option("--num_ipus", machine.num_ipus, "How many")->capture_default_str()->check(CLI::Range(1, 64));
  own->add_option("--matmul_amp", machine.matmul_amp,
                  "The part of a tile's memory that plans of matrix products may take for temporary data")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  own->add_option("--conv_amp", machine.conv_amp, "The same, of convolutions")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  own->add_option("--matmul_partial_type", machine.matmul_partial_type, "The type of partial sums of matrix products")
      ->capture_default_str()
      ->check(CLI::IsMember({"float", "half"}));
  own->add_option("--conv_partial_type", machine.conv_partial_type, "The same, of convolutions")
      ->capture_default_str()
      ->check(CLI::IsMember({"float", "half"}));
  own->callback([command] { command->run(); });
}

}  // namespace stagecraft::tool
