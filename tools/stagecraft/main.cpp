// SPDX-License-Identifier: BSD-3-Clause
// The program `stagecraft`, for models in files. Exit codes: 0 success; 1 an error, which is printed with its code; 2 a
// wrong command line.
#include "commands/commands.hpp"
#include "commands/compile_command.hpp"
#include "commands/convert_command.hpp"
#include "commands/pipeline_command.hpp"
#include "commands/plan_command.hpp"
#include "commands/run_command.hpp"
#include "commands/signature_command.hpp"
#include "launch/launch_command.hpp"
#include "progress.hpp"
#include "serve/serve_command.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/version.hpp>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unistd.h>
#include <vector>

namespace {

namespace tool = stagecraft::tool;

/// Reads shapes such as "224,224,3".
std::vector<std::vector<int>> shapes_of(std::vector<std::string> const& texts) {
  std::vector<std::vector<int>> shapes;
  for (auto const& text : texts) {
    shapes.emplace_back();
    for (auto const& part : CLI::detail::split(text, ',')) {
      int length = 0;
      if (!CLI::detail::lexical_cast(part, length) || length < 1)
        throw CLI::ValidationError("--input-shape", "'" + text + "' is no shape such as 224,224,3");
      shapes.back().push_back(length);
    }
  }
  return shapes;
}

/// True if std::terminate was called because memory lacks: std::bad_alloc was not caught, or there was no memory for an
/// exception, which leaves none to look at.
bool lacks_memory() noexcept {
  if (auto const* const problem = abi::__cxa_current_exception_type()) return *problem == typeid(std::bad_alloc);
  constexpr std::size_t more_than_an_exception = 1 << 20;
  void* const volatile block = std::malloc(more_than_an_exception);  // volatile, or compilers leave the question out
  std::free(block);
  return block == nullptr;
}

std::terminate_handler other_problems = nullptr;

/// Prints E5226 and ends the program with exit code 1, in place of a signal. Allocates nothing that it needs.
[[noreturn]] void end_without_memory() noexcept {
  if (lacks_memory()) {
    constexpr std::string_view text = "stagecraft: the machine has no more memory [E5226]\n";
    auto const written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(written < 0 ? 127 : 1);
  }
  if (other_problems != nullptr) other_problems();
  std::abort();
}

/// Runs before all constructors of this program, which allocate: CLI11 has constants with texts.
[[gnu::constructor(101)]] void watch_memory() noexcept { other_problems = std::set_terminate(end_without_memory); }

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Models in files: imports those of Keras, ONNX and TensorFlow as C++ source, exports them, and shows what is in "
      "them.",
      "stagecraft");
  app.set_version_flag("--version", std::to_string(stagecraft::version_major) + "." +
                                        std::to_string(stagecraft::version_minor) + "." +
                                        std::to_string(stagecraft::version_patch));
  app.require_subcommand(1);

  std::vector<std::string> shapes, dimensions, values, output_nodes;
  std::string signature;
  bool int64_to_int32 = false;
  auto const add_file = [&](CLI::App& command, std::string& file) {
    auto* const own = command.add_option("file", file,
                                         "A model that Keras has saved, .h5, .keras or a SavedModel's folder, an .onnx "
                                         "file, TensorFlow's frozen graph (.pb), TensorFlow.js's model.json, or a "
                                         "folder that save_model has written");
    command.add_option("--signature", signature,
                       "The signature of a SavedModel whose graph is read; default: Keras's layers if the folder has "
                       "them, else serving_default");
    command.add_option("--output-node", output_nodes, "A node that is an output of a frozen graph; once for each");
    command.add_option("--input-shape", shapes,
                       "The shape of an input without the batch, such as 224,224,3, where the file has None; once for "
                       "each input");
    command
        .add_option("--dimension", dimensions,
                    "Lengths that an ONNX file leaves open, by name or by input and axis: batch=1,height=320 or "
                    "input.0=1")
        ->delimiter(',');
    command.add_option("--input-value", values, "An input of an ONNX file that is to be a constant: rate=16000");
    command.add_flag("--int64-to-int32", int64_to_int32, "All whole numbers of an ONNX file's graph are within int32");
    return own;
  };

  std::string architecture;
  tool::import_command import;
  auto* const import_app = app.add_subcommand("import", "Writes a model as a header, its weights, and a test of both");
  add_file(*import_app, import.file)->required();
  import_app->add_option("--output,-o", import.output, "Where to, without an ending; default: beside the file");
  import_app->add_option("--architecture", architecture,
                         "Of a file of weights alone, such as .weights.h5: a file with what model.to_json() returns");
  import_app->add_option("--test-inputs", import.test_inputs, ".npy files: what the model was given, for the test");
  import_app->add_option("--test-outputs", import.test_outputs, ".npy files: what it predicted then");

  tool::export_command export_;
  auto* const export_app =
      app.add_subcommand("export", "Writes a model that a program has saved as a file of Keras's or others'");
  export_app->add_option("bundle", export_.bundle, "A folder that save_model has written")->required();
  export_app->add_option("--to", export_.to, "Where to. " + tool::export_command::endings())->required();

  tool::show_command show;
  auto* const show_app = app.add_subcommand("show", "Prints inputs, outputs, layers and weights of a model");
  auto* const show_file = add_file(*show_app, show.file);
  auto const signatures = tool::add_signature_options(*show_app);
  show_file->excludes("--dir");
  show_app->get_option("--input-shape")->needs(show_file);

  tool::add_compile_command(app);
  tool::add_convert_command(app);
  tool::add_launch_command(app, tool::take_program_arguments(argc, argv));
  tool::add_pipeline_command(app);
  tool::add_plan_command(app);
  tool::add_run_command(app);
  tool::add_scan_command(app);
  tool::add_serve_command(app);

  try {
    app.parse(argc, argv);
    import.options.input_shapes = show.options.input_shapes = shapes_of(shapes);
    import.options.architecture = architecture;
    import.options.dimensions = show.options.dimensions = dimensions;
    import.options.input_values = show.options.input_values = values;
    import.options.int64_to_int32 = show.options.int64_to_int32 = int64_to_int32;
    import.options.signature = show.options.signature = signature;
    import.options.output_nodes = show.options.output_nodes = output_nodes;
    if (import_app->parsed()) import.run();
    if (export_app->parsed()) export_.run();
    if (show_app->parsed() && show.file.empty() && signatures->dir.empty()) throw CLI::RequiredError("file, or --dir");
    if (show_app->parsed() && !signatures->dir.empty())
      signatures->run();
    else if (show_app->parsed())
      show.run();
    return 0;
  } catch (CLI::ParseError const& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  } catch (std::exception const& problem) {
    tool::progress::shown().end();
    std::fprintf(stderr, "stagecraft: %s\n", stagecraft::diagnostics::shown_text(problem.what()).c_str());
    return 1;
  }
}
