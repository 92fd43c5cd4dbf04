// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <stagecraft/datasets/digits.hpp>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#if defined(STAGECRAFT_EXAMPLES_WITH_ZLIB)
#include <stagecraft/datasets/gzip.hpp>
#endif
#include <stagecraft/datasets/mnist.hpp>

arguments read_arguments(int argc, char** argv, char const* description, int default_epochs,
                         std::string_view data_description, std::string_view model_description) {
  arguments given;
  given.digits = stagecraft::datasets::digits_options().train;
  given.epochs = default_epochs;
  CLI::App app(description);
  app.add_option("--data", given.data, std::string(data_description))->type_name("PATH");
  if (!model_description.empty())
    app.add_option("--model", given.model, std::string(model_description))->type_name("PATH");
  app.add_option("--epochs", given.epochs, "how often the training data is seen")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (data_description == data_of_digits)
    app.add_option("--digits", given.digits, "how many of the built-in digits to train with")
        ->type_name("N")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& stop) {
    std::exit(app.exit(stop));
  }
  return given;
}

stagecraft::datasets::labelled_split load_data(arguments const& given) {
  if (given.data.empty()) return stagecraft::datasets::digits({.train = given.digits});
  try {
    return stagecraft::datasets::mnist(given.data);
  } catch (stagecraft::error const& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    std::exit(1);
  }
}

namespace {

/// 0 to 999 in words.
std::string in_words(int number) {
  static char const* const below_20[]{"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                      "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                      "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  static char const* const tens[]{"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
  if (number < 20) return below_20[number];
  if (number < 100)
    return tens[number / 10 - 2] + (number % 10 == 0 ? std::string() : "-" + std::string(below_20[number % 10]));
  return std::string(below_20[number / 100]) + " hundred" +
         (number % 100 == 0 ? std::string() : " and " + in_words(number % 100));
}

}  // namespace

std::string load_text(arguments const& given) {
  if (given.data.empty()) {
    std::string text;
    for (int number = 0; number < 1000; ++number) text += in_words(number) + (number % 10 == 9 ? ".\n" : ", ");
    return text;
  }
  std::ifstream file(given.data, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s cannot be read\n", given.data.c_str());
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}
