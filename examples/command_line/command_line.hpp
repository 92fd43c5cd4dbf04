// SPDX-License-Identifier: BSD-3-Clause
// The arguments that all examples take, and the data that they ask for.
#pragma once

#include <stagecraft/datasets/labelled_split.hpp>
#include <cstddef>
#include <string>

struct arguments {
  std::string data;  ///< a folder with MNIST's files, or a file; empty: what the library, or the example, draws
  int epochs = 1;
  std::size_t digits = 1;  ///< of the built-in ones, to train with
};

/// Reads --data PATH, --epochs N, --digits N and --help; leaves the program with a message if they are not right.
arguments read_arguments(int argc, char** argv, char const* description, int default_epochs,
                         char const* data_description =
                             "folder with MNIST's IDX files; without it the built-in digits "
                             "are used");

/// The files of MNIST in the folder, or the digits that the library draws.
stagecraft::datasets::labelled_split load_data(arguments const& given);

/// The file, or sentences that count: "three hundred and two, three hundred and three, ...".
std::string load_text(arguments const& given);
