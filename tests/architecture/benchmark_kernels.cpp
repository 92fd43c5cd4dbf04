// SPDX-License-Identifier: BSD-3-Clause
// Benchmarks are not built with the tests; the one that calls kernels by hand at least compiles with them.
#include <stagecraft/optimizers/optimizers.hpp>

#include "../../benchmarks/mlp_kernels.hpp"

template class stagecraft::benchmarks::mlp_kernels<32, stagecraft::optimizers::rmsprop{}>;
