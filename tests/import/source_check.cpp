// SPDX-License-Identifier: BSD-3-Clause
// Prints the name of each file that does not have the shape of an imported model's header.
#include "../fuzz/source_shape.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    std::string const text(std::istreambuf_iterator<char>(file), {});
    if (!fuzz::source_shape(text).is_model()) std::cout << argv[i] << "\n";
  }
}
