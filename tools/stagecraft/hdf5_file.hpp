// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files, as the library reads them.
#pragma once

#include <stagecraft/io/keras/hdf5_file.hpp>

namespace stagecraft::tool {

using io::hdf5_file;
using io::stored_array;

}  // namespace stagecraft::tool
