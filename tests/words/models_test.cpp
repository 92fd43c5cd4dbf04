// SPDX-License-Identifier: BSD-3-Clause
// A model of the words, which has losses of layers and random numbers: in stages and on tiles as without. The one with
// attention, which costs compilers most, and the others are in models_thorough_test.cpp.
#include "check_policies.hpp"

TEST_CASE("regularization, scales") { words::check_policies<words::regularization_model>(); }
