// SPDX-License-Identifier: BSD-3-Clause
#include "commands/run_command.hpp"

#include "applications/application_cache.hpp"
#include "arrays/array_text.hpp"
#include "commands/product_options.hpp"
#include "commands/run_inputs.hpp"
#include "commands/signature_command.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <stagecraft/serving/embedded_runtime.hpp>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

}  // namespace

void run_command::run() const {
  if (!worker.empty())
    throw file_error("E5190",
                     "--worker " + worker +
                         ": sessions of TensorFlow run on workers, by gRPC; applications run here, and on another "
                         "machine behind `stagecraft serve`, which is asked by HTTP");
  if (tf_debug)
    throw file_error(
        "E5190",
        "--tf_debug: TensorFlow's debugger shows the tensors of a graph's nodes; an application is compiled, "
        "and has the model's inputs and outputs alone");
  auto const given = read_run_inputs(inputs, input_exprs, input_examples);
  check_signature(tag_set, signature_def);
  auto const place = machine.init_ipu ? application_on_ipus(dir, machine) : dir;
  serving::application_file const file(place);
  auto const& known = file.description();
  std::int64_t samples = 0;
  auto arrays = match_inputs(known, given, samples);
  serving::embedded_runtime runtime(
      file.make_servable(fs::exists(dir + "/weights.safetensors") ? dir + "/weights.safetensors" : ""));
  auto const outputs = runtime.call(std::move(arrays), samples);

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
  own->add_flag("--overwrite", command->overwrite, "Overwrites what is there")->needs("--outdir");
  own->add_flag("--tf_debug", command->tf_debug, "TensorFlow's debugger, which applications do not have: an error");
  own->add_option("--worker", command->worker, "A worker of TensorFlow, which applications do not have: an error");
  auto* const init_ipu =
      own->add_flag("--init_ipu", machine.init_ipu,
                    "Runs on emulated IPUs, for which the model is compiled once, and kept in the cache");
  auto* const num_ipus =
      own->add_option("--num_ipus", machine.num_ipus, "How many")->capture_default_str()->check(CLI::Range(1, 64));
  num_ipus->needs(init_ipu);
  auto const products = add_product_options(*own, machine);
  for (auto* const each : products) each->needs(init_ipu);
  own->callback([command, num_ipus, products] {
    // The machine of a converted model, unless an option sets another one.
    auto& own_machine = command->machine;
    if (own_machine.init_ipu)
      if (auto const converted = converted_machine(command->dir)) {
        if (num_ipus->empty()) own_machine.num_ipus = converted->num_ipus;
        if (products[0]->empty()) own_machine.matmul_amp = converted->matmul_amp;
        if (products[1]->empty()) own_machine.conv_amp = converted->conv_amp;
        if (products[2]->empty()) own_machine.matmul_partial_type = converted->matmul_partial_type;
        if (products[3]->empty()) own_machine.conv_partial_type = converted->conv_partial_type;
      }
    command->run();
  });
}

}  // namespace stagecraft::tool
