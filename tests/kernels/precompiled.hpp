// SPDX-License-Identifier: BSD-3-Clause
// What most tests of kernels include: compiled once for all of them. All of the library would take them longer to read.
#pragma once

#include <doctest/doctest.h>

#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/product/matmul.hpp>
#include <stagecraft/kernels/reduction/reduce.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>
