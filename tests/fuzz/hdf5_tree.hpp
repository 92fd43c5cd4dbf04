// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files of what bytes describe: groups, attributes and arrays as Keras writes them, and as it does not. libhdf5
// itself writes them, so that what is read of them is right for it: what is fuzzed are this library's readers.
#pragma once

#include <stagecraft/io/keras/hdf5_handle.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <hdf5.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

/// Bytes that are taken one after the other; 0 behind their end.
class byte_stream {
 public:
  explicit byte_stream(std::span<std::uint8_t const> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_empty() const noexcept { return bytes_.empty(); }
  std::uint8_t byte() noexcept {
    if (bytes_.empty()) return 0;
    auto const first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  /// One of a list by its place or, from 0xf0 on, text of the bytes: its length in two bytes, then the text.
  std::string text(std::span<std::string_view const> known) {
    auto const which = byte();
    if (which < 0xf0) return std::string(known[which % known.size()]);
    auto const wanted = std::size_t{byte()} + 256U * byte();
    auto const length = std::min(wanted, bytes_.size());
    std::string result(reinterpret_cast<char const*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return result;
  }

 private:
  std::span<std::uint8_t const> bytes_;
};

/// Names of Keras's files: their place is what a corpus has.
inline constexpr std::array<std::string_view, 40> names{"model_weights",
                                                        "layer_names",
                                                        "weight_names",
                                                        "model_config",
                                                        "training_config",
                                                        "optimizer_weights",
                                                        "layers",
                                                        "vars",
                                                        "name",
                                                        "0",
                                                        "1",
                                                        "2",
                                                        "dense",
                                                        "dense/kernel:0",
                                                        "dense/bias:0",
                                                        "kernel:0",
                                                        "dense_1",
                                                        "backend",
                                                        "keras_version",
                                                        "layer_names0",
                                                        "weight_names0",
                                                        "weight_names1",
                                                        "lstm",
                                                        "cell",
                                                        "optimizer",
                                                        "functional",
                                                        "forward_layer",
                                                        "query_dense",
                                                        "seed_generator",
                                                        "10",
                                                        "Adam/iter:0",
                                                        "Adam/iteration:0",
                                                        "sequential",
                                                        "9",
                                                        "Adam/dense/kernel/m:0",
                                                        "Adam/m/dense/kernel:0",
                                                        "_layer_checkpoint_dependencies",
                                                        "..",
                                                        ".",
                                                        "encoder"};

/// What attributes of Keras's files say, after the names.
inline constexpr std::array<std::string_view, 6> configurations{
    R"({"class_name":"Sequential","config":{"name":"sequential","layers":[{"class_name":"InputLayer","c)"
    R"(onfig":{"batch_input_shape":[null,4],"name":"x"}},{"class_name":"Dense","config":{"name":"dense")"
    R"(,"units":3}}]}})",
    R"({"module":"keras","class_name":"Sequential","config":{"name":"sequential","layers":[{"class_name)"
    R"(":"InputLayer","config":{"batch_shape":[null,4],"name":"x"}},{"class_name":"Dense","config":{"na)"
    R"(me":"dense","units":3}}]}})",
    R"({"class_name":"Sequential","config":{"name":"sequential","layers":[{"class_name":"InputLayer","c)"
    R"(onfig":{"batch_input_shape":[null,2,4],"name":"x"}},{"class_name":"LSTM","config":{"name":"lstm")"
    R"(,"units":1}},{"class_name":"Sequential","config":{"name":"encoder","layers":[{"class_name":"Inpu)"
    R"(tLayer","config":{"batch_input_shape":[null,1],"name":"y"}},{"class_name":"Dense","config":{"nam)"
    R"(e":"dense","units":3}}]}}]}})",
    R"({"optimizer_config":{"class_name":"Adam","config":{"name":"Adam","learning_rate":0.001}},"loss":)"
    R"("mse"})",
    R"({"optimizer_config":{"class_name":"Custom>SGD","config":{"name":"SGD","momentum":0.9}}})",
    R"({"optimizer":{"module":"keras.optimizers","class_name":"Adam","config":{"learning_rate":0.001}}})"};

/// Makes a file by commands of one byte, with what they need behind it, until the bytes end.
class hdf5_tree {
 public:
  explicit hdf5_tree(byte_stream& from) : from_(from) {
    for (auto const name : names) texts_.push_back(name);
    for (auto const text : configurations) texts_.push_back(text);
  }

  /// The file's bytes; none if libhdf5 does not write it.
  [[nodiscard]] std::vector<std::byte> make() {
    using handle = stagecraft::io::hdf5_handle;
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    handle const access(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
    H5Pset_fapl_core(access, 1 << 14, false);
    handle const file(H5Fcreate("fuzz", H5F_ACC_TRUNC, H5P_DEFAULT, access), &H5Fclose);
    file_ = file;
    constexpr int most_commands = 64;
    for (int i = 0; i < most_commands && !from_.is_empty(); ++i) carry_out(from_.byte());
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return {};
    auto const size = H5Fget_file_image(file, nullptr, 0);
    std::vector<std::byte> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (size > 0) H5Fget_file_image(file, bytes.data(), bytes.size());
    return bytes;
  }

 private:
  using handle = stagecraft::io::hdf5_handle;

  void carry_out(std::uint8_t command) {
    switch (command % 8) {
      case 0: enter(); break;
      case 1:
        if (!path_.empty()) path_.pop_back();
        break;
      case 2: write_texts(1, true); break;
      case 3: write_texts(from_.byte() % 8, false); break;
      case 4: write_array(command / 8); break;
      case 5: link(command / 8); break;
      case 6: write_numbers(); break;
      default: path_.clear();
    }
  }
  [[nodiscard]] std::string here() const {
    std::string path = "/";
    for (auto const& part : path_) path += part + "/";
    return path;
  }
  void enter() {
    auto const name = from_.text(names);
    handle const group(H5Gcreate2(file_, (here() + name).c_str(), H5P_DEFAULT, intermediate(), H5P_DEFAULT), &H5Gclose);
    if (H5Lexists(file_, (here() + name).c_str(), H5P_DEFAULT) > 0) path_.push_back(name);
  }
  static handle intermediate() { return {H5Pcreate(H5P_GROUP_CREATE), &H5Pclose}; }

  void write_attribute(hid_t type, hid_t space, void const* from) {
    auto const name = attribute_;
    if (H5Aexists_by_name(file_, here().c_str(), name.c_str(), H5P_DEFAULT) > 0)
      H5Adelete_by_name(file_, here().c_str(), name.c_str(), H5P_DEFAULT);
    handle const made(
        H5Acreate_by_name(file_, here().c_str(), name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        &H5Aclose);
    if (made >= 0 && from != nullptr) H5Awrite(made, type, from);
  }
  /// Of any kind that HDF5 has: as long as the longest, or each as long as it is; with any end.
  void write_texts(std::size_t count, bool is_scalar) {
    attribute_ = from_.text(names);
    auto const kind = from_.byte();
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) texts.push_back(from_.text(texts_));
    handle const type(H5Tcopy(H5T_C_S1), &H5Tclose);
    hsize_t const length = count;
    handle const space(is_scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, nullptr), &H5Sclose);
    H5Tset_cset(type, (kind & 1) != 0 ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
    H5Tset_strpad(type, static_cast<H5T_str_t>((kind >> 1) % 3));
    if ((kind & 64) != 0) {
      H5Tset_size(type, H5T_VARIABLE);
      std::vector<char const*> from;
      for (auto const& text : texts) from.push_back((kind & 128) != 0 && text.empty() ? nullptr : text.c_str());
      write_attribute(type, space, from.data());
      return;
    }
    std::size_t size = 1;
    for (auto const& text : texts) size = std::max(size, text.size() + (kind >> 3) % 2);
    H5Tset_size(type, size);
    std::string all;
    for (auto const& text : texts) all += text + std::string(size - std::min(size, text.size()), '\0');
    all.resize(size * std::max<std::size_t>(count, 1));
    write_attribute(type, space, all.data());
  }
  /// An empty list, as NumPy makes it, no space, or numbers where texts belong.
  void write_numbers() {
    attribute_ = from_.text(names);
    auto const kind = from_.byte();
    std::array<double, 4> const values{1, 2, 3, 4};
    hsize_t const length = kind % 4;
    handle const space(kind >= 128 ? H5Screate(H5S_NULL) : H5Screate_simple(1, &length, nullptr), &H5Sclose);
    write_attribute(H5T_NATIVE_DOUBLE, space, kind >= 128 ? nullptr : values.data());
  }

  static hid_t type_of(std::uint8_t which) {
    std::array const types{H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I64LE, H5T_STD_U8LE,
                           H5T_IEEE_F32BE, H5T_STD_I16BE,  H5T_C_S1,      H5T_STD_B8LE};
    return types[which % types.size()];
  }
  void write_array(int how) {
    auto const name = from_.text(names);
    auto const type = type_of(from_.byte());
    std::array<hsize_t, 4> shape{}, chunk{}, most{};
    int const rank = from_.byte() % 5;
    std::size_t elements = 1;
    for (int axis = 0; axis < rank; ++axis) {
      auto const length = from_.byte();
      auto const at = static_cast<std::size_t>(axis);
      shape[at] = length < 128 ? length % 8 : hsize_t{1} << (length % 63);
      chunk[at] = std::max<hsize_t>(from_.byte() % 16, 1);
      most[at] = (length & 64) != 0 ? H5S_UNLIMITED : std::max(shape[at], chunk[at]);
      elements = shape[at] != 0 && elements > 4096 / shape[at] ? 4097 : elements * shape[at];
    }
    handle const creation(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose);
    bool const is_chunked = (how & 1) != 0 && rank > 0;
    if (is_chunked) H5Pset_chunk(creation, rank, chunk.data());
    if (is_chunked && (how & 2) != 0) H5Pset_deflate(creation, 1);
    // libhdf5 itself crashes where it is to write arrays of chunks, or compact ones, in other files.
    bool const is_external = !is_chunked && (how & 6) == 4;
    if (!is_chunked && (how & 2) != 0) H5Pset_layout(creation, H5D_COMPACT);
    if (is_external) H5Pset_external(creation, "/dev/zero", 0, H5F_UNLIMITED);
    handle const space(
        rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, shape.data(), is_chunked ? most.data() : nullptr),
        &H5Sclose);
    handle const links(H5Pcreate(H5P_LINK_CREATE), &H5Pclose);
    H5Pset_create_intermediate_group(links, 1);
    handle const array(H5Dcreate2(file_, (here() + name).c_str(), type, space, links, creation, H5P_DEFAULT),
                       &H5Dclose);
    if (array < 0 || (how & 8) != 0 || is_external || elements > 4096) return;  // how it is where nothing is written
    std::vector<std::uint8_t> values(elements * H5Tget_size(type));
    for (auto& value : values) value = from_.byte();
    H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }

  /// To what is there, to a path, or out of the file; to the group itself or those around it, too.
  void link(int how) {
    auto const name = here() + from_.text(names);
    if (how % 4 == 0) {
      auto const upwards = std::min<std::size_t>(from_.byte() % 4, path_.size());
      std::string to = "/";
      for (std::size_t i = 0; i + upwards < path_.size(); ++i) to += path_[i] + "/";
      H5Lcreate_hard(file_, to.c_str(), file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    } else if (how % 4 == 1) {
      H5Lcreate_hard(file_, ("/" + from_.text(names)).c_str(), file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    } else if (how % 4 == 2) {
      H5Lcreate_soft(from_.text(names).c_str(), file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    } else {
      H5Lcreate_external("other.h5", from_.text(names).c_str(), file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }
  }

  byte_stream& from_;
  std::vector<std::string_view> texts_;
  std::vector<std::string> path_;
  std::string attribute_;
  hid_t file_ = -1;
};

}  // namespace fuzz
