// SPDX-License-Identifier: BSD-3-Clause
// Runs the tests of a rank. What fails in one says which rank it is.
#define DOCTEST_CONFIG_IMPLEMENT
#include <stagecraft/mpi/rank_group.hpp>
#include <doctest/doctest.h>
#include <iostream>
#include <sstream>

int main(int count, char** arguments) {
  doctest::Context context(count, arguments);
  std::ostringstream text;
  context.setCout(&text);
  int const failed = context.run();
  auto& group = stagecraft::mpi::rank_group::get();
  if (failed != 0 || group.leads()) std::cerr << group.name(group.rank()) << ":\n" << text.str();
  return failed;
}
