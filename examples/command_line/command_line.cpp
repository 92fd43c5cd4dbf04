// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <stagecraft/datasets/digits.hpp>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#if defined(STAGECRAFT_EXAMPLES_WITH_ZLIB)
#include <stagecraft/datasets/gzip.hpp>
#endif
#include <stagecraft/datasets/mnist.hpp>

arguments read_arguments(int argc, char** argv, char const* description, int default_epochs) {
  arguments given;
  given.epochs = default_epochs;
  CLI::App app(description);
  app.add_option("--data", given.data, "folder with MNIST's IDX files; without it the built-in digits are used")
      ->type_name("PATH");
  app.add_option("--epochs", given.epochs, "how often the training data is seen")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& stop) {
    std::exit(app.exit(stop));
  }
  return given;
}

stagecraft::datasets::labelled_split load_data(arguments const& given) {
  if (given.data.empty()) return stagecraft::datasets::digits();
  try {
    return stagecraft::datasets::mnist(given.data);
  } catch (stagecraft::error const& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    std::exit(1);
  }
}
