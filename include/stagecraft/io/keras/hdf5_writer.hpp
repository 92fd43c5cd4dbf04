// SPDX-License-Identifier: BSD-3-Clause
// Writes HDF5 files as h5py does for Keras: groups, attributes of text, arrays of numbers. Equal content makes equal
// bytes: no times are written. Needs libhdf5 (its C interface).
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/keras/hdf5_handle.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <hdf5.h>
#include <string>
#include <vector>

namespace stagecraft::io {

/// A file that is made in memory.
class hdf5_writer {
 public:
  /// Errors call the file `path`. Throws file_error E5041 if libhdf5 finds no memory, as all functions here do.
  explicit hdf5_writer(std::string path) : path_(std::move(path)), file_(make_file(), &H5Fclose) {
    check(file_, "a file");
  }

  /// Makes a group and the groups that it is in.
  void add_group(std::string const& group) {
    if (group.empty() || H5Lexists(file_, group.substr(0, group.find('/')).c_str(), H5P_DEFAULT) < 0) return;
    for (std::size_t slash = group.find('/');; slash = group.find('/', slash + 1)) {
      auto const part = group.substr(0, slash);
      if (H5Lexists(file_, part.c_str(), H5P_DEFAULT) == 0) {
        hdf5_handle const creation(H5Pcreate(H5P_GROUP_CREATE), &H5Pclose);
        H5Pset_obj_track_times(creation, false);
        hdf5_handle const made(H5Gcreate2(file_, part.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), &H5Gclose);
        check(made, part);
      }
      if (slash == std::string::npos) break;
    }
  }

  /// Adds an attribute of one text, or of a list of texts. An empty list is one of numbers, as NumPy makes it.
  void add_text(std::string const& group, std::string const& name, std::string const& text) {
    hdf5_handle const space(H5Screate(H5S_SCALAR), &H5Sclose);
    char const* const from = text.c_str();
    write_attribute(group, name, text_type(), space, &from);
  }
  /// Adds an attribute of texts. More texts than an attribute holds are divided into "names0", "names1" and so on, as
  /// in Keras.
  void add_texts(std::string const& group, std::string const& name, std::vector<std::string> const& texts) {
    constexpr std::size_t most = 64512 / 16;  // an object's header has 64 kB, a text 16 bytes in it
    auto const parts = std::max<std::size_t>((texts.size() + most - 1) / most, 1);
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<char const*> from;  // as np.array_split: the first parts have one text more
      auto const begin = part * (texts.size() / parts) + std::min(part, texts.size() % parts);
      auto const count = static_cast<hsize_t>(texts.size() / parts + (part < texts.size() % parts ? 1 : 0));
      for (hsize_t i = 0; i < count; ++i) from.push_back(texts[begin + static_cast<std::size_t>(i)].c_str());
      hdf5_handle const space(H5Screate_simple(1, &count, nullptr), &H5Sclose);
      if (texts.empty())
        write_attribute(group, name, hdf5_handle(H5Tcopy(H5T_IEEE_F64LE), &H5Tclose), space, nullptr);
      else
        write_attribute(group, parts == 1 ? name : name + std::to_string(part), text_type(), space, from.data());
    }
  }

  /// Adds an array of floats at a path, whose groups are made.
  void add_array(std::string const& path, stored_tensor const& tensor) {
    if (auto const slash = path.rfind('/'); slash != std::string::npos) add_group(path.substr(0, slash));
    std::vector<hsize_t> const shape(tensor.shape.begin(), tensor.shape.end());
    hdf5_handle const space(
        shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
        &H5Sclose);
    hdf5_handle const creation(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose);
    H5Pset_obj_track_times(creation, false);
    hdf5_handle const array(H5Dcreate2(file_, path.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                            &H5Dclose);
    check(array, path);
    auto const values = to_floats(tensor);
    if (!values.empty() && H5Dwrite(array, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
      check(-1, path);
  }

  /// Adds one whole number at a path, whose groups are made.
  void add_number(std::string const& path, std::int64_t number) {
    if (auto const slash = path.rfind('/'); slash != std::string::npos) add_group(path.substr(0, slash));
    hdf5_handle const space(H5Screate(H5S_SCALAR), &H5Sclose), creation(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose);
    H5Pset_obj_track_times(creation, false);
    hdf5_handle const place(H5Dcreate2(file_, path.c_str(), H5T_STD_I64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                            &H5Dclose);
    check(place, path);
    if (H5Dwrite(place, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &number) < 0) check(-1, path);
  }

  /// The file's bytes.
  [[nodiscard]] std::vector<std::byte> finish() {
    if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) check(-1, "the file");
    auto const size = H5Fget_file_image(file_, nullptr, 0);
    check(size, "the file");
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    check(H5Fget_file_image(file_, bytes.data(), bytes.size()), "the file");
    return bytes;
  }

 private:
  static hid_t make_file() {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // what is wrong is said once, by us
    constexpr std::size_t step = std::size_t{1} << 20;
    hdf5_handle const access(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose), creation(H5Pcreate(H5P_FILE_CREATE), &H5Pclose);
    H5Pset_fapl_core(access, step, false);
    H5Pset_obj_track_times(creation, false);
    return H5Fcreate("stagecraft", H5F_ACC_TRUNC, creation, access);
  }
  static hdf5_handle text_type() {
    hdf5_handle type(H5Tcopy(H5T_C_S1), &H5Tclose);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
  }
  void write_attribute(std::string const& group, std::string const& name, hdf5_handle const& type,
                       hdf5_handle const& space, void const* from) {
    add_group(group);
    hdf5_handle const made(H5Acreate_by_name(file_, group.empty() ? "/" : group.c_str(), name.c_str(), type, space,
                                             H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                           &H5Aclose);
    check(made, "attribute " + name);
    if (from != nullptr && H5Awrite(made, type, from) < 0) check(-1, "attribute " + name);
  }
  void check(hid_t result, std::string const& what) const {
    if (result < 0) refuse("E5041", path_, "libhdf5 cannot write " + what);
  }

  std::string path_;
  hdf5_handle file_;
};

}  // namespace stagecraft::io
