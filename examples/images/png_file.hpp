// SPDX-License-Identifier: BSD-3-Clause
// Writes grey pictures as PNG files, by libpng.
#pragma once

#include <string>
#include <xtensor/xtensor.hpp>

/// Writes a picture of (rows, columns) to a file; values are from 0, black, to 1, white, and are drawn as squares of
/// `scale` pixels. Throws std::runtime_error if the file cannot be written.
void write_png(std::string const& path, xt::xtensor<float, 2> const& picture, int scale = 1);
