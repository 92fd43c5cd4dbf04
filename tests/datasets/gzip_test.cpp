// SPDX-License-Identifier: BSD-3-Clause
// Needs zlib: the optional component stagecraft::zlib.
#include <stagecraft/datasets/detail/digit_canvas.hpp>
#include <stagecraft/datasets/gzip.hpp>
#include <stagecraft/datasets/mnist.hpp>

#include <doctest/doctest.h>

#include "idx_bytes.hpp"

using namespace stagecraft_test;
namespace sc = stagecraft;
using sc::datasets::gunzip;
using sc::datasets::read_idx_pair;

namespace {

byte_string gzip(byte_string const& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  byte_string packed(deflateBound(&stream, bytes.size()) + 32);
  stream.next_in = const_cast<unsigned char*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

TEST_CASE("gunzip gives back what was packed, up to the limit, and says whether that was all") {
  byte_string const bytes = image_bytes(300);
  byte_string const packed = gzip(bytes);
  byte_string out{1, 2, 3};
  CHECK(gunzip(packed, out, bytes.size() + 100, "file"));
  CHECK(out == bytes);
  CHECK(gunzip(packed, out, bytes.size(), "file"));
  CHECK(out == bytes);
  CHECK_FALSE(gunzip(packed, out, bytes.size() - 1, "file"));
  CHECK(out == byte_string(bytes.begin(), bytes.end() - 1));
  CHECK_FALSE(gunzip(packed, out, 0, "file"));
  CHECK(out.empty());
}

TEST_CASE("several members in a row are one file") {
  byte_string const bytes = label_bytes(50);
  byte_string packed = gzip(byte_string(bytes.begin(), bytes.begin() + 20));
  byte_string const rest = gzip(byte_string(bytes.begin() + 20, bytes.end()));
  packed.insert(packed.end(), rest.begin(), rest.end());
  byte_string out;
  CHECK(gunzip(packed, out, 1000, "file"));
  CHECK(out == bytes);
}

TEST_CASE("gzipped files are read like plain ones") {
  temporary_folder const folder("gzip");
  folder.write("t10k-images-idx3-ubyte.gz", gzip(image_bytes(20)));
  folder.write("t10k-labels-idx1-ubyte.gz", gzip(label_bytes(20)));
  auto const packed = sc::datasets::mnist(folder.path());
  auto const plain = read_idx_pair(folder.write("images", image_bytes(20)), folder.write("labels", label_bytes(20)));
  CHECK(packed.train.x == xt::view(plain.x, xt::range(0, 17)));
  CHECK(packed.test.y == xt::view(plain.y, xt::range(17, 20)));
}

TEST_CASE("damaged gzip files and what should not be in them are refused") {
  std::string text;
  temporary_folder const folder("gzip_wrong");
  std::string const images = folder.write("images", image_bytes(20));
  auto const code = [&](byte_string const& bytes) {
    return file_error_of([&] { (void)read_idx_pair(images, folder.write("labels.gz", bytes)); }, &text);
  };
  byte_string const good = gzip(label_bytes(20));
  CHECK(code(good) == "");
  SUBCASE("every truncation") {
    for (std::size_t size = 2; size < good.size(); ++size) {
      CHECK(code(byte_string(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))) == "E5009");
    }
    CHECK(contains(text, "labels.gz: expected a whole gzip file, found a damaged one (it ends too early, at byte "));
  }
  SUBCASE("a wrong checksum") {
    byte_string bytes = good;
    bytes[bytes.size() - 6] ^= 1;
    CHECK(code(bytes) == "E5009");
    CHECK(contains(text, "incorrect data check"));
  }
  SUBCASE("bytes behind the end") {
    byte_string bytes = good;
    bytes.push_back(77);
    CHECK(code(bytes) == "E5009");
  }
  SUBCASE("no IDX inside") {
    CHECK(code(gzip({})) == "E5003");
    CHECK(code(gzip({'h', 'e', 'l', 'l', 'o'})) == "E5002");
    CHECK(code(gzip(byte_string(100000, 'x'))) == "E5002");
    CHECK(code(gzip(good)) == "E5002");
  }
  SUBCASE("too little, too much") {
    CHECK(code(gzip(idx_header_bytes(8, {0xffffffffu}))) == "E5003");
    CHECK(code(gzip(idx_header_bytes(8, {0xffff, 0xffff, 0xffff}))) == "E5003");
    byte_string bytes = label_bytes(20);
    bytes.push_back(0);
    CHECK(code(gzip(bytes)) == "E5004");
  }
  SUBCASE("a bomb: megabytes of zeros behind a small header") {
    byte_string bomb = label_bytes(20);
    bomb.resize(50'000'000);
    CHECK(code(gzip(bomb)) == "E5004");
    CHECK(contains(text, "found at least 21"));
  }
}

TEST_CASE("a mutated gzip file gives an error or the same data") {
  sc::datasets::detail::random_stream random(5, 0, 0);
  byte_string const bytes = image_bytes(8, 6, 6);
  byte_string const good = gzip(bytes);
  byte_string out;
  for (int round = 0; round < 5000; ++round) {
    byte_string packed = good;
    for (int edits = random.between(1, 3); edits > 0; --edits) {
      auto const place = static_cast<std::size_t>(random.between(0, static_cast<int>(packed.size()) - 1));
      packed[place] = static_cast<unsigned char>(random.bits());
    }
    try {
      if (gunzip(packed, out, bytes.size() * 2, "mutated")) REQUIRE(out == bytes);
    } catch (sc::file_error const& error) {
      REQUIRE(error.code() == "E5009");
    }
  }
}
