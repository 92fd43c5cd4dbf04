// SPDX-License-Identifier: BSD-3-Clause
// The arguments that all examples take, and the data that they ask for.
#pragma once

#include <stagecraft/datasets/labelled_split.hpp>
#include <cstddef>
#include <string>
#include <string_view>

struct arguments {
  std::string data;   ///< a folder with MNIST's files, or a file; empty: what the library, or the example, draws
  std::string model;  ///< a file with a model; empty: the example trains one
  int epochs = 1;
  std::size_t digits = 1;  ///< number of built-in ones to train with
};

/// The meaning of --data for examples that train on digits.
inline constexpr std::string_view data_of_digits =
    "folder with MNIST's IDX files; without it the built-in digits are used";

/// Reads --data PATH, --epochs N, --help, for examples that train on digits --digits N and, for those that say what it
/// is, --model PATH; leaves the program with a message if they are not right.
arguments read_arguments(int argc, char** argv, char const* description, int default_epochs,
                         std::string_view data_description = data_of_digits, std::string_view model_description = {});

/// The files of MNIST in the folder, or the digits that the library draws.
stagecraft::datasets::labelled_split load_data(arguments const& given);

/// The file, or sentences that count: "three hundred and two, three hundred and three, ...".
std::string load_text(arguments const& given);
