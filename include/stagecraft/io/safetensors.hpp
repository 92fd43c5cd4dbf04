// SPDX-License-Identifier: BSD-3-Clause
// Files of tensors in Hugging Face's format: the length of a header, the header in JSON, the tensors' bytes.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/detail/safetensors_header.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stagecraft {

namespace io {

/// The tensors of an opened file. Errors as read_safetensors.
[[nodiscard]] inline tensor_file read_safetensors(byte_source const& source) {
  auto const header = read_safetensors_header(source);
  tensor_file result;
  result.metadata = header.metadata;
  result.tensors.reserve(header.tensors.size());
  for (auto const& entry : header.tensors)
    result.tensors.push_back(
        {entry.name, entry.type, entry.shape, source.read(header.first_byte + entry.first, entry.last - entry.first)});
  return result;
}

/// Writes a file of tensors to where `to.write(bytes)` puts them; `path` is what errors call it.
template <class Writer>
void write_safetensors(Writer& to, tensor_file const& file, std::string const& path) {
  auto const order = order_of_safetensors(file);
  to.write(safetensors_header_text(path, file, order));
  for (auto const* tensor : order) to.write(tensor->bytes);
}

}  // namespace io

/// Reads a file of tensors: `auto file = sc::read_safetensors("w.safetensors"); file.find("dense/kernel:0")`.
///
/// The file must be as the format says, to the byte: header of at most 100 MB, each name once, known types, sizes that
/// agree with the shapes, no holes, overlaps or bytes too many. Takes as much memory as the file is large, whatever its
/// header says.
/// Throws file_error: E5001 the file cannot be read, E5011 the header is no header of such a file, E5012 a tensor's
/// place does not fit its shape or the file, E5013 a type of elements that is not known.
/// Definition: https://huggingface.co/docs/safetensors (format), and its Rust implementation.
[[nodiscard]] inline tensor_file read_safetensors(std::string const& path) {
  return io::read_safetensors(io::byte_source(path));
}

/// The same of bytes in memory; `name` is what errors call them.
[[nodiscard]] inline tensor_file parse_safetensors(std::span<std::byte const> bytes, std::string const& name) {
  return io::read_safetensors(io::byte_source(bytes, name));
}

/// Writes tensors, those with wide elements first, so that each lies as its elements need it. The file at `path` is the
/// former one until the new one is whole and on the disk.
/// Throws file_error: E5041 the file cannot be written, E5011 two tensors have one name, or a name is not UTF-8.
inline void write_safetensors(std::string const& path, tensor_file const& file) {
  io::replace_file(path, [&](io::file_writer& to) { io::write_safetensors(to, file, path); });
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
