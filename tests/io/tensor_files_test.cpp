// SPDX-License-Identifier: BSD-3-Clause
// Files of tensors: what is written is read again; what NumPy and safetensors wrote is read; what is damaged or hostile
// is refused with its code, its file and its place, without memory beyond the file's.
#include <stagecraft/io/keras/hdf5_content.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/io/npz.hpp>
#include <stagecraft/io/safetensors.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "scratch_folder.hpp"

namespace sc = stagecraft;
namespace fs = std::filesystem;

static_assert(sc::io::float_of_half(0x3c00) == 1.0F && sc::io::float_of_half(0x0001) == 0x1p-24F &&
              sc::io::float_of_half(0xfbff) == -65504.0F);
static_assert(sc::io::bytes_of(std::array<std::int64_t, 2>{1LL << 40, 1LL << 40}, 4) == std::nullopt);
static_assert(sc::io::bytes_of(std::array<std::int64_t, 3>{1LL << 40, 0, 1LL << 40}, 4) == 0);

namespace {

using tests::contains;

template <class Function>
std::string error_of(Function const& function) {
  return tests::error_of<sc::file_error>(function);
}

std::string const golden = std::string(STAGECRAFT_GOLDEN_DIR) + "/tensor_files/";

/// A folder that is gone at the end.
sc::tensor_file some_tensors() {
  sc::tensor_file file;
  file.tensors.push_back(
      sc::io::float_tensor("dense/kernel:0", std::array{2, 3}, std::array{1.F, 2.F, 3.F, 4.F, 5.F, 6.F}));
  file.tensors.push_back(sc::io::number_tensor("iter", sc::element_type::int64, std::int64_t{-7}));
  file.tensors.push_back({"empty", sc::element_type::boolean, {0, 4}, {}});
  file.tensors.push_back({"half", sc::element_type::float16, {1}, {std::byte{0}, std::byte{0x3c}}});
  return file;
}

std::vector<std::byte> bytes_of_file(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  auto const bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A safetensors file of a header and so many bytes of tensors.
std::vector<std::byte> with_header(std::string_view header, std::size_t bytes) {
  std::vector<std::byte> file;
  sc::io::append_number<8>(file, header.size());
  sc::io::append_text(file, header);
  file.resize(file.size() + bytes);
  return file;
}

std::vector<std::byte> npy(std::string_view header, std::size_t bytes) {
  std::vector<std::byte> file;
  sc::io::append_text(file, std::string_view("\x93NUMPY\x01\x00", 8));
  sc::io::append_number<2>(file, header.size());
  sc::io::append_text(file, header);
  file.resize(file.size() + bytes);
  return file;
}

void check_golden(sc::tensor_file const& file) {
  REQUIRE(file.find("dense/kernel:0") != nullptr);
  CHECK(file.find("dense/kernel:0")->shape == std::vector<std::int64_t>{2, 3});
  CHECK(sc::io::to_floats(*file.find("dense/kernel:0")) == std::vector{-0.5F, -0.25F, 0.F, 0.25F, 0.5F, 0.75F});
  CHECK(sc::io::to_floats(*file.find("half")) == std::vector{1.5F, -0.25F, 65504.F, 0x1p-24F});
  CHECK(sc::io::to_floats(*file.find("iter")) == std::vector{7.F});
  CHECK(sc::io::to_floats(*file.find("mask")) == std::vector{1.F, 0.F});
  CHECK(file.find("empty")->shape == std::vector<std::int64_t>{0, 3});
  CHECK(file.find("nothing") == nullptr);
}

}  // namespace

TEST_CASE("what is written is read again, and beside it nothing is left") {
  tests::scratch_folder const folder;
  auto file = some_tensors();
  file.metadata.emplace_back("format", "test");
  sc::write_safetensors(folder / "w.safetensors", file);
  auto const read = sc::read_safetensors(folder / "w.safetensors");
  CHECK(read.metadata == file.metadata);
  CHECK(*read.find_metadata("format") == "test");
  for (auto const& tensor : file.tensors) CHECK(*read.find(tensor.name) == tensor);
  CHECK(read.tensors[0].name == "iter");  // the widest elements first

  sc::write_npz(folder / "w.npz", file);
  CHECK(sc::read_npz(folder / "w.npz").tensors == file.tensors);
  sc::write_npy(folder / "w.npy", file.tensors[0]);
  CHECK(sc::read_npy(folder / "w.npy").bytes == file.tensors[0].bytes);
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 3);

  auto const bytes = bytes_of_file(folder / "w.npz");
  sc::write_npz(folder / "w.npz", file);
  CHECK(bytes_of_file(folder / "w.npz") == bytes);
}

TEST_CASE("what NumPy and safetensors wrote is read") {
  check_golden(sc::read_safetensors(golden + "all.safetensors"));
  CHECK(*sc::read_safetensors(golden + "all.safetensors").find_metadata("made_by") == "safetensors");
  check_golden(sc::read_npz(golden + "stored.npz"));
  auto const deflated = sc::read_npz(golden + "deflated.npz");
  check_golden(deflated);
  CHECK(sc::io::to_floats(*deflated.find("zeros")) == std::vector<float>(2000));
  auto const columns = sc::io::to_floats(sc::read_npy(golden + "columns.npy"));
  REQUIRE(columns.size() == 24);
  for (int i = 0; i < 24; ++i) CHECK(columns[static_cast<std::size_t>(i)] == static_cast<float>(i));
}

TEST_CASE("files that cannot be read or written are errors with the system's reason") {
  tests::scratch_folder const folder;
  CHECK(contains(error_of([] { (void)sc::read_safetensors("/nowhere/w.safetensors"); }),
                 "/nowhere/w.safetensors: expected a readable file, found: No such file or directory [E5001]"));
  CHECK(contains(error_of([&] { (void)sc::read_npz(folder.path); }), "Is a directory [E5001]"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);  // of which no one writes
  CHECK(contains(error_of([&] { (void)sc::read_npy(folder / "pipe"); }), "Invalid argument [E5001]"));
  fs::remove(folder / "pipe");
  CHECK(contains(error_of([] { sc::write_npz("/nowhere/w.npz", {}); }), "No such file or directory [E5041]"));
  auto twice = some_tensors();
  twice.tensors.push_back(twice.tensors[0]);
  CHECK(contains(error_of([&] { sc::write_safetensors(folder / "w", twice); }), "are called 'dense/kernel:0' [E5011]"));
  twice.tensors = {{"\xff", sc::element_type::int8, {0}, {}}};
  CHECK(contains(error_of([&] { sc::write_safetensors(folder / "w", twice); }), "UTF-8"));
  twice.tensors = {{"b", sc::element_type::bfloat16, {0}, {}}};
  CHECK(contains(error_of([&] { sc::write_npz(folder / "w", twice); }), "bfloat16, which NumPy does not have [E5013]"));
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("hostile safetensors are refused") {
  struct hostile {
    std::vector<std::byte> file;
    std::string_view error;
  };
  auto const f32 = [](char const* name, char const* shape, char const* offsets) {
    return std::string("\"") + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  hostile const files[]{
      {{}, "found 0 bytes [E5011]"},
      {std::vector<std::byte>(8, std::byte{0xff}), "a header of 18446744073709551615 bytes in a file of 8 [E5011]"},
      {with_header("[]", 0), "begins with '{' [E5011]"},
      {with_header("{", 0), "not JSON at byte"},
      {with_header("{} x", 0), "not JSON at byte"},
      {with_header("{\"\xff\":1}", 0), "not JSON at byte"},
      {with_header(R"({"a":1})", 0), "has 1 where 'a' stands"},
      {with_header(R"({"a":[]})", 0), "has a list where 'a' stands"},
      {with_header(R"({"a":{}})", 0), "tensor 'a' lacks dtype, shape or data_offsets [E5011]"},
      {with_header(R"({"a":{"x":1}})", 0), "member 'x', which is not known"},
      {with_header(R"({"__metadata__":{"a":1}})", 0), "has 1 where 'a' stands"},
      {with_header(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0), "has 'dtype' twice"},
      {with_header("{" + f32("a", "[1]", "[0,4]") + "," + f32("a", "[1]", "[4,8]") + "}", 8), "has 'a' twice"},
      {with_header(R"({"a":{"dtype":"C64","shape":[],"data_offsets":[0,8]}})", 8),
       "type 'C64', which is not known [E5013]"},
      {with_header("{" + f32("a", "[-1]", "[0,4]") + "}", 4), "has -1 where 'shape' stands"},
      {with_header("{" + f32("a", "[1.5]", "[0,4]") + "}", 4), "has 1.5 where 'shape' stands"},
      {with_header("{" + f32("a", "[[1]]", "[0,4]") + "}", 4), "has a list where 'shape' stands"},
      {with_header("{" + f32("a", "[18446744073709551615]", "[0,4]") + "}", 4), "where 'shape' stands"},
      {with_header("{" + f32("a", "[4611686018427387904,4]", "[0,4]") + "}", 4),
       "a shape that memory can hold [E5012]"},
      {with_header("{" + f32("a", "[1]", "[0,4,8]") + "}", 4), "has 8 where 'data_offsets' stands"},
      {with_header("{" + f32("a", "[1]", "[0]") + "}", 4), "that are not two numbers [E5011]"},
      {with_header("{" + f32("a", "[2]", "[0,4]") + "}", 4), "expected 8 bytes [E5012]"},
      {with_header("{" + f32("a", "[1]", "[4,0]") + "}", 4), "[E5012]"},
      {with_header("{" + f32("a", "[1]", "[4,8]") + "}", 8), "expected it to begin at byte 0"},
      {with_header("{" + f32("a", "[2]", "[0,8]") + "," + f32("b", "[2]", "[4,12]") + "}", 12), "begin at byte 8"},
      {with_header("{" + f32("a", "[1]", "[0,4]") + "," + f32("b", "[1]", "[8,12]") + "}", 12), "begin at byte 4"},
      {with_header("{" + f32("a", "[1000000000000]", "[0,4000000000000]") + "}", 4), "the file ends at byte 4 [E5012]"},
      {with_header("{" + f32("a", "[1]", "[0,4]") + "}", 5), "expected 4 bytes of tensors, found 5 [E5012]"},
      {with_header("{" + std::string(100'000, '['), 0), "not JSON at byte"},
  };
  for (auto const& [file, error] : files)
    CHECK(contains(error_of([&] { (void)sc::parse_safetensors(file, "w"); }), error));
  CHECK(sc::parse_safetensors(with_header("{}      ", 0), "w") == sc::tensor_file());
}

TEST_CASE("hostile NumPy arrays are refused") {
  struct hostile {
    std::vector<std::byte> file;
    std::string_view error;
  };
  hostile const files[]{
      {{}, "which begins with"},
      {npy("", 0), "something else than '{' at byte 0 [E5014]"},
      {npy("{'descr': '<f4'}", 0), "without descr, fortran_order or shape"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x", 8), "text behind the dictionary"},
      {npy("{'descr': '<f4', 'descr': '<f4'", 0), "the key 'descr'"},
      {npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 8), "'<c8', which is not known [E5013]"},
      {npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", 8), "neither True nor False"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8), "something else than a dimension"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8), "too large"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }", 8), "[E5014]"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }", 8),
       "4000000000000 bytes, found 8"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 8), "takes 4 bytes, found 8 [E5014]"},
      {npy("{'descr", 0), "a text without an end"},
  };
  for (auto const& [file, error] : files) CHECK(contains(error_of([&] { (void)sc::parse_npy(file, "w"); }), error));
  CHECK(contains(error_of([] { (void)sc::read_npy(golden + "pickle.npy"); }),
                 "Python objects (a pickle), which are never"));
  CHECK(contains(error_of([] { (void)sc::read_npy(golden + "big_endian.npy"); }), "big-endian ('>f4') [E5013]"));
  CHECK(contains(error_of([] { (void)sc::read_npy(golden + "records.npy"); }), "records, not numbers [E5013]"));
}

TEST_CASE("hostile archives are refused") {
  tests::scratch_folder const folder;
  sc::write_npz(folder / "w.npz", some_tensors());
  auto const whole = bytes_of_file(folder / "w.npz");
  auto const directory = sc::io::number_at<4>(whole.data() + whole.size() - 6);
  auto const error_with = [&](std::size_t at, std::uint64_t value, std::size_t count) {
    auto changed = whole;
    for (std::size_t i = 0; i < count; ++i) changed.at(at + i) = static_cast<std::byte>(value >> (8 * i));
    return error_of([&] { (void)sc::parse_npz(changed, "w"); });
  };
  // Its directory and headers agree, and each byte has its place.
  for (auto const& [at, value, count] : {std::array<std::size_t, 3>{directory + 10, 12, 2},
                                         {directory + 8, 1, 2},
                                         {directory + 10, 8, 2},
                                         {directory + 24, 1, 4},
                                         {directory + 20, 0x7fffffff, 4},
                                         {directory + 42, 5, 4},
                                         {directory + 46, '/', 1},
                                         {40, 'x', 1},
                                         {whole.size() - 12, 3, 2},
                                         {whole.size() - 12, 400, 2},
                                         {whole.size() - 6, 5, 4},
                                         {whole.size() - 18, 1, 2}})
    CHECK(contains(error_with(at, value, count), "[E5015]"));
  CHECK(contains(error_with(190, 0xff, 1), "member 'dense/kernel:0.npy' is damaged: CRC error [E5015]"));
  // In the directory and in the header.
  auto const error_with_both = [&](std::size_t in_header, std::size_t in_directory, std::uint64_t value,
                                   std::size_t count) {
    auto changed = whole;
    for (std::size_t i = 0; i < count; ++i)
      changed.at(in_header + i) = changed.at(directory + in_directory + i) = static_cast<std::byte>(value >> (8 * i));
    return error_of([&] { (void)sc::parse_npz(changed, "w"); });
  };
  CHECK(contains(error_with_both(8, 10, 12, 2), "packed in another way than zlib's (12) [E5015]"));
  CHECK(contains(error_with_both(6, 8, 1, 2), "[E5015]"));  // encrypted
  CHECK(contains(error_with_both(22, 24, 1, 4), "which cannot become 1 [E5015]"));
  CHECK(contains(error_with_both(30, 46, '/', 1), "member '/ense/kernel:0.npy' has a path that leaves its folder"));
  // A bomb: a deflated member that claims to be a thousand times a thousand times as large.
  auto bomb = bytes_of_file(golden + "deflated.npz");
  auto const first = sc::io::number_at<4>(bomb.data() + bomb.size() - 6);
  for (std::size_t i = 0; i < 4; ++i) bomb.at(22 + i) = bomb.at(first + 24 + i) = std::byte{0x7f};
  CHECK(contains(error_of([&] { (void)sc::parse_npz(bomb, "w"); }), "[E5015]"));
}

TEST_CASE("archives unpack to no more than they may") {
  tests::scratch_folder const folder;
  sc::write_npz(folder / "w.npz", some_tensors());
  auto const whole = bytes_of_file(folder / "w.npz");
  CHECK(sc::parse_npz(whole, "w", {.most_bytes = whole.size()}).tensors == some_tensors().tensors);
  auto const what = error_of([&] { (void)sc::parse_npz(whole, "w", {.most_bytes = 200}); });
  CHECK(contains(what, "w: member 'iter.npy' unpacks from"));
  CHECK(contains(what, "expected at most"));
  CHECK(contains(what, "[E5220]"));
  constexpr std::uint64_t mb = 1 << 20;
  static_assert(sc::io::most_unpacked(0) == 64 * mb && sc::io::most_unpacked(2 * mb) == 64 * mb);
  static_assert(sc::io::most_unpacked(100 * mb) == 3200 * mb);
  static_assert(sc::io::most_unpacked(~std::uint64_t{0}) == ~std::uint64_t{0});
}

TEST_CASE("files that are cut off anywhere, or changed anywhere, are errors or tensors, nothing else") {
  for (char const* const name : {"all.safetensors", "stored.npz", "deflated.npz", "columns.npy"}) {
    auto const whole = bytes_of_file(golden + name);
    auto const read = [&](std::span<std::byte const> bytes) {
      if (std::string_view(name).ends_with("z"))
        (void)sc::parse_npz(bytes, name);
      else if (std::string_view(name).ends_with("y"))
        (void)sc::parse_npy(bytes, name);
      else
        (void)sc::parse_safetensors(bytes, name);
    };
    for (std::size_t size = 0; size < whole.size(); ++size)
      CHECK(error_of([&] { read(std::span(whole).first(size)); }) != "no error");
    for (std::size_t at = 0; at < whole.size(); ++at) {
      auto changed = whole;
      changed[at] ^= std::byte{0x41};
      (void)error_of([&] { read(changed); });  // throws nothing else
    }
  }
}
