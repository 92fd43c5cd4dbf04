// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes single arrays in NumPy's format, that of np.save.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/detail/npy_format.hpp>
#include <span>
#include <string>

namespace stagecraft {

/// Reads an array that np.save wrote. Column-major arrays are put into row-major order; pickles are refused. Throws
/// file_error: E5001 the file cannot be read, E5013 elements of an unknown type, E5014 it is no such file. Takes as
/// much memory as the file has bytes, and twice that for column-major arrays. Definition:
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
[[nodiscard]] inline stored_tensor read_npy(std::string const& path) { return io::read_npy(io::byte_source(path), {}); }
/// Reads an array from bytes in memory; errors call them `name`.
[[nodiscard]] inline stored_tensor parse_npy(std::span<std::byte const> bytes, std::string const& name) {
  return io::read_npy(io::byte_source(bytes, name), {});
}

/// Writes an array that np.load reads. Until the new file is whole, the former one stays at `path`. Throws file_error:
/// E5041 the file cannot be written, E5013 the elements are bfloat16.
inline void write_npy(std::string const& path, stored_tensor const& tensor) {
  auto const header = io::npy_header_text(path, tensor);
  io::replace_file(path, [&](io::file_writer& to) {
    to.write(header);
    to.write(tensor.bytes);
  });
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
