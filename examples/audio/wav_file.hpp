// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes sound: WAV files of 16, 24 or 32 bits.
#pragma once

#include <string>
#include <vector>

/// One channel of a sound, from -1 to 1.
struct sound {
  int rate = 48000;  ///< samples a second
  std::vector<float> samples;
};

/// Reads a RIFF file of whole numbers of 16, 24 or 32 bits or of floats of 32 bits, and returns the mean of its
/// channels. Throws std::runtime_error, with the path and the reason.
sound read_wav(std::string const& path);

/// Writes one channel of 16 bits; samples beyond -1 and 1 are clipped. Throws std::runtime_error.
void write_wav(std::string const& path, sound const& what);
