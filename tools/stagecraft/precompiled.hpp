// SPDX-License-Identifier: BSD-3-Clause
// What most of the program's sources include, in one way or another: compiled once for all of them.
#pragma once

#include "onnx/onnx_constants.hpp"
#include "onnx/onnx_folding.hpp"
#include "onnx/operations/made_nodes.hpp"
#include "onnx/operations/operation_nodes.hpp"
#include "source/source_writer.hpp"
#include "source/written_layer.hpp"
#include "tensorflow/lowering.hpp"

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>
