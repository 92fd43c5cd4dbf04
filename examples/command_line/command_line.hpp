// SPDX-License-Identifier: BSD-3-Clause
// The arguments that all examples take, and the data that they ask for.
#pragma once

#include <stagecraft/datasets/labelled_split.hpp>
#include <string>

struct arguments {
  std::string data;  ///< a folder with MNIST's files; empty: the built-in digits
  int epochs = 1;
};

/// Reads --data PATH, --epochs N and --help; leaves the program with a message if they are not right.
arguments read_arguments(int argc, char** argv, char const* description, int default_epochs);

/// The files of MNIST in the folder, or the digits that the library draws.
stagecraft::datasets::labelled_split load_data(arguments const& given);
