// SPDX-License-Identifier: BSD-3-Clause
// What every test includes, in one way or another: compiled once for all of them.
#pragma once

#include <doctest/doctest.h>

#include <stagecraft/ipu.hpp>
