// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/datasets/detail/digit_canvas.hpp>
#include <stagecraft/datasets/idx.hpp>

#include <doctest/doctest.h>

#include "idx_bytes.hpp"

using namespace stagecraft_test;
namespace sc = stagecraft;
using sc::datasets::idx_type;
using sc::datasets::parse_idx;

static_assert(sc::datasets::size_of(idx_type::float64) == 8);
static_assert(sc::datasets::size_of(static_cast<idx_type>(0x0a)) == 0);

TEST_CASE("an IDX file gives its type, its shape and its bytes") {
  byte_string const bytes = image_bytes(3, 4, 5);
  auto const view = parse_idx(bytes, "images");
  CHECK(view.header.type == idx_type::uint8);
  CHECK(view.header.shape == std::vector<std::size_t>{3, 4, 5});
  CHECK(view.data.size() == 60);
  CHECK(view.data.data() == bytes.data() + 16);
}

TEST_CASE("elements may be wider than a byte, and a dimension may be zero") {
  byte_string wide = idx_header_bytes(0x0d, {2, 3});
  wide.resize(wide.size() + 24);
  CHECK(parse_idx(wide, "wide").data.size() == 24);
  CHECK(parse_idx(idx_header_bytes(0x0e, {0xffffffffu, 0xffffffffu, 0xffffffffu, 0}), "empty").data.empty());
}

TEST_CASE("what is wrong with a file is said, with its name, what was expected and what was found") {
  std::string text;
  auto const code = [&](byte_string const& bytes) {
    return file_error_of([&] { (void)parse_idx(bytes, "some/file"); }, &text);
  };
  byte_string bytes = image_bytes(2, 3, 3);
  SUBCASE("empty") {
    CHECK(code({}) == "E5003");
    CHECK(text == "some/file: expected an IDX file, found an empty file [E5003]");
  }
  SUBCASE("every truncation") {
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      CHECK(code(byte_string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))) == "E5003");
    }
    CHECK(text ==
          "some/file: expected 18 bytes of data (uint8 of shape (2, 3, 3)), found 17: the file is truncated [E5003]");
  }
  SUBCASE("too long") {
    bytes.push_back(0);
    CHECK(code(bytes) == "E5004");
    CHECK(contains(text, "expected 18 bytes of data"));
  }
  SUBCASE("another format") {
    CHECK(code({'P', 'K', 3, 4}) == "E5002");
    CHECK(contains(text, "begins with two zero bytes, found byte 80"));
    CHECK(code({0, 'K'}) == "E5002");
    CHECK(code({0, 0, 7, 1, 0, 0, 0, 1}) == "E5002");
    CHECK(code({0, 0, 8, 0}) == "E5002");
    CHECK(code({0, 0, 8, 200}) == "E5002");
  }
  SUBCASE("sizes that no file has") {
    CHECK(code(idx_header_bytes(8, {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu})) == "E5002");
    CHECK(code(idx_header_bytes(8, {0x80000000u, 0x80000000u, 4})) == "E5002");
    CHECK(code(idx_header_bytes(8, {0xffffffffu, 1, 1})) == "E5003");
  }
}

TEST_CASE("a damaged file gives an error or consistent data, never anything else") {
  sc::datasets::detail::random_stream random(7, 0, 0);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    byte_string bytes = round % 2 == 0 ? image_bytes(3, 4, 4) : label_bytes(20);
    for (int edits = random.between(1, 4); edits > 0 && !bytes.empty(); --edits) {
      int const last = static_cast<int>(bytes.size()) - 1;
      int const in_header = random.between(0, last < 15 ? last : 15);
      int const anywhere = random.between(0, last);
      auto const value = static_cast<unsigned char>(random.bits());
      switch (random.between(0, 3)) {
        case 0: bytes[static_cast<std::size_t>(anywhere)] = value; break;
        case 1: bytes[static_cast<std::size_t>(in_header)] ^= static_cast<unsigned char>(1 << value % 8); break;
        case 2: bytes.resize(static_cast<std::size_t>(anywhere)); break;
        default: bytes.insert(bytes.begin() + anywhere, value); break;
      }
    }
    bytes.shrink_to_fit();  // so that the address sanitizer sees a read behind the end
    try {
      auto const view = parse_idx(bytes, "damaged");
      std::size_t size = sc::datasets::size_of(view.header.type);
      for (std::size_t const extent : view.header.shape) size *= extent;
      bool const is_consistent = size == view.data.size() && view.header.header_bytes + size == bytes.size();
      REQUIRE(is_consistent);
      unsigned sum = 0;
      for (unsigned char const byte : view.data) sum += byte;
      REQUIRE(sum <= 255 * view.data.size());
      ++accepted;
    } catch (sc::file_error const& error) {
      REQUIRE(error.code().starts_with("E500"));
    }
  }
  CHECK(accepted > 1000);
}
