// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes several arrays in one file, in the format of np.savez and np.savez_compressed.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/detail/npy_format.hpp>
#include <stagecraft/io/detail/zip_archive.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Limits of an archive of arrays that is unpacked.
struct npz_options {
  /// The most bytes that the arrays may take together (E5220); 0: 1 GiB, or 64 times the file's bytes if that is more.
  std::uint64_t most_bytes = 0;
};

namespace io {

/// Reads the arrays of an opened archive. Errors are those of read_npz.
[[nodiscard]] inline tensor_file read_npz(byte_source const& source, npz_options const& options = {}) {
  constexpr std::uint64_t least = std::uint64_t{1} << 30, growth = 64;
  auto left = options.most_bytes > 0 ? options.most_bytes : std::max(least, growth * source.size());
  zip_reader const archive(source);
  tensor_file result;
  for (auto const& member : archive.members()) {
    constexpr std::string_view ending = ".npy";
    if (!member.name.ends_with(ending)) continue;  // np.load, too, has no arrays for other members
    auto const bytes = archive.read(member, left);
    left -= bytes.size();
    result.tensors.push_back(read_npy(byte_source(bytes, source.name() + ", member '" + member.name + "'"),
                                      member.name.substr(0, member.name.size() - ending.size())));
  }
  return result;
}

}  // namespace io

/// Reads the arrays of an archive that np.savez or np.savez_compressed wrote. Pickles are refused. Throws file_error:
/// E5001 the file cannot be read, E5013 elements of an unknown type, E5014 a member is no array, E5015 it is no
/// archive, or a damaged or hostile one, E5220 its arrays are larger than `options` allow: `read_npz("labels.npz",
/// {.most_bytes = std::uint64_t{8} << 30})`. Takes memory for the file, the arrays, and one of them twice. Definition:
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
[[nodiscard]] inline tensor_file read_npz(std::string const& path, npz_options const& options = {}) {
  return io::read_npz(io::byte_source(path), options);
}
/// Reads arrays from bytes in memory; errors call them `name`.
[[nodiscard]] inline tensor_file parse_npz(std::span<std::byte const> bytes, std::string const& name,
                                           npz_options const& options = {}) {
  return io::read_npz(io::byte_source(bytes, name), options);
}

/// Writes arrays that np.load reads, stored, not deflated; the texts beside the tensors are left out. Until the new
/// file is whole, the former one stays at `path`. Takes as much memory as the file has bytes. Throws file_error: E5041
/// the file cannot be written, E5013 elements are bfloat16.
inline void write_npz(std::string const& path, tensor_file const& file) {
  std::vector<std::string> heads;  // libzip reads them in `finish`
  for (auto const& tensor : file.tensors) heads.push_back(io::npy_header_text(path, tensor));
  io::zip_writer archive(path);
  for (std::size_t i = 0; i < heads.size(); ++i)
    archive.add(file.tensors[i].name + ".npy", heads[i], file.tensors[i].bytes);
  auto const bytes = archive.finish();
  io::replace_file(path, [&](io::file_writer& to) { to.write(bytes); });
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
