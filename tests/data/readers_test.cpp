// SPDX-License-Identifier: BSD-3-Clause
// Datasets of files: what they read, and what they say of files that are not as they should be.
#include <doctest/doctest.h>

#include <stagecraft/data/data.hpp>
#include <stagecraft/data/idx.hpp>
#include <stagecraft/data/npy.hpp>
#include <stagecraft/data/npz.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/io/npz.hpp>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../each_locale.hpp"
#include "../io/scratch_folder.hpp"

namespace sc = stagecraft;
namespace data = stagecraft::data;

namespace {

struct files {
  tests::scratch_folder folder;

  std::string write(std::string const& name, std::string_view text) const {
    auto const path = (folder.path / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
};

template <class Data>
auto elements_of(Data const& dataset) {
  std::vector<typename Data::element_type> result;
  for (auto& element : dataset) result.push_back(std::move(element));
  return result;
}

template <class Make>
void fails(char const* text, Make const& make) {
  CHECK_THROWS_WITH_AS(elements_of(make()), doctest::Contains(text), sc::file_error);
}

}  // namespace

TEST_CASE("Lines of files, one after the other") {
  files const in;
  auto const first = in.write("a.txt", "one\r\n\ntwo"), second = in.write("b.txt", "three\n"), none = in.write("c", "");
  auto const lines = data::text_lines(std::vector<std::string>{first, none, second});
  CHECK(lines.cardinality() == data::unknown_cardinality);
  CHECK(elements_of(lines) == std::vector<std::string>{"one", "", "two", "three"});
  CHECK(elements_of(lines.repeat(2).skip(3)).size() == 5);
  auto const lengths = data::text_lines(first).map([](std::string const& line) { return line.size(); });
  CHECK(elements_of(lengths) == std::vector<std::size_t>{3, 0, 3});
  fails("E5001", [&] { return data::text_lines((in.folder.path / "missing").string()); });
  fails("E5001", [&] { return data::text_lines(in.folder.path.string()); });
}

TEST_CASE("Rows of tables") {
  files const in;
  auto const path = in.write("t.csv", "a,b,c\n1, 2.5 ,\"-3e2\"\n\n+4,5,6\n");
  using rows = std::vector<std::vector<float>>;
  CHECK(elements_of(data::csv(path, {.header = true})) == rows{{1, 2.5F, -300}, {4, 5, 6}});
  CHECK(elements_of(data::csv(path, {.header = true, .select_cols = {2, 0}})) == rows{{-300, 1}, {6, 4}});
  CHECK(elements_of(data::csv(in.write("s.csv", "1;2\n3;4"), {.field_delim = ';'})) == rows{{1, 2}, {3, 4}});
  // What is too small is 0; infinities are themselves; what is too large for float32 is an error.
  auto const extreme = elements_of(data::csv(in.write("x.csv", "1e-50,-1e-400,inf,3.4028235e38,0.000e999,1e-45\n")))[0];
  CHECK(extreme == std::vector<float>{0, 0, std::numeric_limits<float>::infinity(), 3.4028235e38F, 0, 1e-45F});
  CHECK(std::signbit(extreme[1]));
  for (auto const* const text : {"1e39", "-1e50", "3.4028236e38", "1e400", "1000e306", "0.1e400"})
    fails((std::string("y.csv:2: column 1 is ") + text +
           ", which is no number of type float32, of which the largest is 3.4028235e+38 [E5205]")
              .c_str(),
          [&] { return data::csv(in.write("y.csv", std::string("1,2\n1,") + text + "\n")); });
  fails("t.csv:1: expected a number in column 0, found 'a' [E5070]", [&] { return data::csv(path); });
  fails("r.csv:2: expected 2 fields, as the first row has, found 3 [E5071]",
        [&] { return data::csv(in.write("r.csv", "1,2\n1,2,3\n")); });
  fails("expected columns from 0 to 2, found 3 [E5071]",
        [&] { return data::csv(path, {.header = true, .select_cols = {3}}); });
  fails("found '' [E5070]", [&] { return data::csv(in.write("e.csv", "1,\n")); });
  tests::for_each_locale([&](char const* which) {  // 1,5 would be one number where a comma is the point
    CAPTURE(which);
    CHECK(elements_of(data::csv(in.write("l.csv", "1,5\n-2.5,1234.5e-2\n"))) == rows{{1, 5}, {-2.5F, 12.345F}});
  });
}

TEST_CASE("Samples of .npy files are those of the array") {
  files const in;
  auto const path = (in.folder.path / "x.npy").string();
  std::vector<float> values(12);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 4;
  sc::write_npy(path, sc::io::float_tensor("x", std::vector<int>{3, 2, 2}, values));
  auto const samples = data::npy(path);
  CHECK(samples.cardinality() == 3);
  auto const all = elements_of(samples);
  CHECK(all[2](1, 0) == 2.5F);
  CHECK(all[0].dimension() == 2);
  CHECK(elements_of(samples.shuffle(2)).size() == 3);
  auto const numbers = (in.folder.path / "y.npy").string();
  sc::write_npy(numbers,
                sc::stored_tensor{"y", sc::element_type::uint8, {3}, {std::byte{7}, std::byte{8}, std::byte{9}}});
  auto const both = data::zip(samples, data::npy(numbers));
  CHECK(std::get<1>(elements_of(both)[1])() == 8);
  fails("E5001", [&] { return data::npy(path + "x"); });
  fails("E5014", [&] { return data::npy(in.write("z.npy", "no array")); });
  fails("found a single number [E5014]", [&] {
    sc::write_npy(numbers, sc::io::number_tensor("n", sc::element_type::float32, 1.0F));
    return data::npy(numbers);
  });
  fails("found an array in Fortran's order [E5014]", [&] {
    std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }";
    header.resize(117, ' ');
    header += '\n';
    return data::npy(in.write("f.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "abcd"));
  });
  // Samples without numbers: a few of them, and so many that no pass would end.
  std::vector<float> const none;
  sc::write_npy(numbers, sc::io::float_tensor("e", std::vector<int>{5, 0}, none));
  CHECK(elements_of(data::npy(numbers)).size() == 5);
  fails("found 2305843009213693952 [E5014]", [&] {
    sc::write_npy(numbers, sc::io::float_tensor("e", std::vector<std::int64_t>{std::int64_t{1} << 61, 0}, none));
    return data::npy(numbers);
  });
}

TEST_CASE("Numbers of files that are beyond float32 are errors, which say where") {
  files const in;
  std::vector<double> const values{1, 0, 2, -1e39};
  sc::stored_tensor array{"x", sc::element_type::float64, {2, 2}, {}};
  auto const numbers = std::as_bytes(std::span(values));
  array.bytes.assign(numbers.begin(), numbers.end());
  auto const path = (in.folder.path / "x.npy").string(), archive = (in.folder.path / "x.npz").string();
  sc::write_npy(path, array);
  sc::write_npz(archive, {{array}, {}});
  fails("x.npy: sample 1: element[1] is -1e+39, which is no number of type float32", [&] { return data::npy(path); });
  fails("sample 1: element[1] is -1e+39, which", [&] { return data::npz(archive, "x"); });
  fails(
      "idx: sample 1: number 0 is 1e+300, which is no number of type float32, of which the largest is 3.4028235e+38 "
      "[E5205]",
      [&] {
        auto text = std::string("\0\0\x0e\x01\0\0\0\x02", 8);
        for (double const value : {1.0, 1e300}) {
          auto bytes = std::bit_cast<std::array<char, 8>>(value);
          text.append(bytes.rbegin(), bytes.rend());
        }
        return data::idx(in.write("idx", text));
      });
}

TEST_CASE("What a number is rounded to") {
  using enum sc::element_type;
  using sc::io::can_hold;
  constexpr double most = std::numeric_limits<float>::max(), infinite = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  // Halfway to what would be the next number, infinity is the nearest.
  static_assert(can_hold(float32, most) && can_hold(float32, 3.4028235677973362e38) &&
                !can_hold(float32, 0x1.ffffffp127));
  static_assert(can_hold(float16, 65519.9) && !can_hold(float16, -65520) && !can_hold(float16, 1e6));
  static_assert(can_hold(bfloat16, 3.39e38) && !can_hold(bfloat16, most) && can_hold(float64, 1e308));
  for (auto const type : {float16, bfloat16, float32, float64})
    CHECK((can_hold(type, infinite) && can_hold(type, nan)));
  for (auto const type : {int8, uint8, int16, uint16, int32, uint32, int64, uint64, boolean})
    CHECK(!(can_hold(type, infinite) || can_hold(type, nan) || can_hold(type, 0.5) || can_hold(type, 0x1p64)));
  static_assert(can_hold(int8, -128) && !can_hold(int8, 128) && !can_hold(uint8, -1) && can_hold(uint8, 255));
  static_assert(can_hold(int64, -0x1p63) && !can_hold(int64, 0x1p63) && can_hold(uint64, 0x1p63) &&
                !can_hold(boolean, 2));
}

TEST_CASE("Samples of IDX files, of each type of number") {
  files const in;
  auto const bytes = data::idx(in.write("u", std::string("\0\0\x08\x02\0\0\0\x02\0\0\0\x03", 12) + "abcdef"));
  CHECK(bytes.cardinality() == 2);
  CHECK(elements_of(bytes)[1](2) == 'f');
  auto const wide = data::idx(in.write("i", std::string("\0\0\x0c\x01\0\0\0\x02\xff\xff\xff\xfe\0\0\x01\x02", 16)));
  CHECK(elements_of(wide)[0]() == -2);
  CHECK(elements_of(wide)[1]() == 258);
  auto const floats = data::idx(in.write("f", std::string("\0\0\x0d\x01\0\0\0\x01\x3f\xc0\0\0", 12)));
  CHECK(elements_of(floats)[0]() == 1.5F);
  // No samples, each of which would be large.
  auto const none = data::idx(in.write("n", std::string("\0\0\x08\x02\0\0\0\0\xf0\0\0\0", 12)));
  CHECK(elements_of(none).empty());
  // Samples without numbers, which would be larger than memory.
  std::string_view const empty("\0\0\x08\x04\0\0\0\x02\x7f\xff\xff\xff\x7f\xff\xff\xff\0\0\0\0", 20);
  fails("found more [E5002]", [&] { return data::idx(in.write("w", empty)); });
  fails("E5002", [&] { return data::idx(in.write("g", "\x1f\x8b no")); });
  fails("E5003", [&] {
    return data::idx(in.write("s", std::string("\0\0\x08\x01\0\0\0\x05"
                                               "abc",
                                               11)));
  });
  fails("E5004", [&] {
    return data::idx(in.write("l", std::string("\0\0\x08\x01\0\0\0\x01"
                                               "abc",
                                               11)));
  });
}
