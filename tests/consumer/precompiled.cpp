// SPDX-License-Identifier: BSD-3-Clause
// A program that includes nothing: what it names is there because stagecraft::precompiled brings it.
using namespace stagecraft::layers;

using perceptron = stagecraft::sequential<input{28, 28}, flatten{}, dense{16, stagecraft::relu}, dense{10}>;
static_assert(stagecraft::count_parameters<perceptron>() == 784 * 16 + 16 + 16 * 10 + 10);

int main() {}
