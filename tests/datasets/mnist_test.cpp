// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/datasets/detail/digit_canvas.hpp>
#include <stagecraft/datasets/mnist.hpp>

#include <doctest/doctest.h>

#include "idx_bytes.hpp"

using namespace stagecraft_test;
namespace sc = stagecraft;
using sc::datasets::mnist;
using sc::datasets::read_idx_pair;

TEST_CASE("a folder with all four files gives their samples, as shades from 0 to 1 and labels") {
  temporary_folder const folder("mnist");
  folder.write("train-images-idx3-ubyte", image_bytes(30));
  folder.write("train-labels-idx1-ubyte", label_bytes(30));
  folder.write("t10k-images-idx3-ubyte", image_bytes(20));
  folder.write("t10k-labels-idx1-ubyte", label_bytes(20));
  auto const [train, test] = mnist(folder.path());
  CHECK(train.x.shape() == std::array<std::size_t, 3>{30, 28, 28});
  CHECK(train.y.shape() == std::array<std::size_t, 1>{30});
  CHECK(test.x.shape()[0] == 20);
  CHECK(train.x(0, 0, 0) == 0.0f);
  CHECK(train.x(0, 8, 26) == 250.0f / 255.0f);
  CHECK(train.x(1, 0, 0) == 31.0f / 255.0f);
  CHECK(train.y(29) == 9);
}

TEST_CASE("names with a dot are found too; a plain file goes before a gzipped one") {
  temporary_folder const folder("mnist_dots");
  folder.write("t10k-images.idx3-ubyte", image_bytes(20));
  folder.write("t10k-images-idx3-ubyte.gz", {1, 2, 3});
  folder.write("t10k-labels.idx1-ubyte", label_bytes(20));
  CHECK(mnist(folder.path()).train.y.size() == 17);
}

TEST_CASE("without train files, the first 85 % of the t10k files train and the rest tests") {
  temporary_folder const folder("mnist_split");
  folder.write("t10k-images-idx3-ubyte", image_bytes(40));
  folder.write("t10k-labels-idx1-ubyte", label_bytes(40));
  auto const [train, test] = mnist(folder.path());
  auto const all = read_idx_pair(folder.path() + "/t10k-images-idx3-ubyte", folder.path() + "/t10k-labels-idx1-ubyte");
  REQUIRE(train.y.size() == 34);
  REQUIRE(test.y.size() == 6);
  CHECK(xt::view(all.x, xt::range(0, 34)) == train.x);
  CHECK(xt::view(all.x, xt::range(34, 40)) == test.x);
  CHECK(xt::view(all.y, xt::range(0, 34)) == train.y);
  CHECK(xt::view(all.y, xt::range(34, 40)) == test.y);
}

TEST_CASE("missing and partial sets of files are told apart") {
  std::string text;
  temporary_folder const folder("mnist_missing");
  auto const code = [&] { return file_error_of([&] { (void)mnist(folder.path()); }, &text); };
  CHECK(code() == "E5010");
  CHECK(contains(text, "t10k-images-idx3-ubyte"));
  CHECK(contains(text, "found neither"));
  folder.write("t10k-images-idx3-ubyte", image_bytes(20));
  CHECK(code() == "E5010");
  CHECK(contains(text, "found no file of labels"));
  folder.write("t10k-labels-idx1-ubyte", label_bytes(20));
  CHECK(code() == "");
  folder.write("train-labels-idx1-ubyte", label_bytes(20));
  CHECK(code() == "E5010");
  CHECK(contains(text, "train-images-idx3-ubyte"));
  CHECK(contains(text, "found no file of images"));
}

TEST_CASE("each wrong file is named, with what was expected and found") {
  std::string text;
  temporary_folder const folder("mnist_wrong");
  std::string const images = folder.write("images", image_bytes(20));
  std::string const labels = folder.write("labels", label_bytes(20));
  auto const code = [&](std::string const& x, std::string const& y, int classes = 10) {
    return file_error_of([&] { (void)read_idx_pair(x, y, classes); }, &text);
  };
  CHECK(code(images, labels) == "");
  SUBCASE("not there, or a folder") {
    CHECK(code(folder.path() + "/nothing", labels) == "E5001");
    CHECK(contains(text, "/nothing: expected a readable file, found: "));
    CHECK(code(folder.path(), labels) == "E5001");
  }
  SUBCASE("exchanged") {
    CHECK(code(labels, labels) == "E5005");
    CHECK(contains(text, "found uint8 of shape (20): is this the file of the labels?"));
    CHECK(code(images, images) == "E5005");
    CHECK(contains(text, "is this the file of the images?"));
  }
  SUBCASE("of different lengths") {
    CHECK(code(images, folder.write("short", label_bytes(19))) == "E5006");
    CHECK(contains(text, "/short: expected as many labels as "));
    CHECK(contains(text, "20, found 19"));
  }
  SUBCASE("a label that is none") {
    byte_string bytes = label_bytes(20);
    bytes[8 + 13] = 10;
    CHECK(code(images, folder.write("eleventh", bytes)) == "E5007");
    CHECK(contains(text, "expected labels from 0 to 9, found 10 for sample 13"));
    CHECK(code(images, folder.write("eleventh", bytes), 11) == "");
    CHECK(code(images, labels, 5) == "E5007");
  }
  SUBCASE("floats") {
    byte_string bytes = idx_header_bytes(0x0d, {20, 1, 1});
    bytes.resize(bytes.size() + 80);
    CHECK(code(folder.write("floats", bytes), labels) == "E5005");
    CHECK(contains(text, "found float32 of shape (20, 1, 1)"));
  }
  SUBCASE("no samples, no pixels") {
    CHECK(code(folder.write("none", image_bytes(0)), folder.write("none_labels", label_bytes(0))) == "E5005");
    CHECK(code(folder.write("flat", image_bytes(20, 28, 0)), labels) == "E5005");
  }
  SUBCASE("empty, truncated, too long, of another format") {
    CHECK(code(folder.write("bad", {}), labels) == "E5003");
    byte_string bytes = image_bytes(20);
    bytes.pop_back();
    CHECK(code(folder.write("bad", bytes), labels) == "E5003");
    bytes.resize(bytes.size() + 3000000);
    CHECK(code(folder.write("bad", bytes), labels) == "E5004");
    CHECK(code(folder.write("bad", {'x', 'y'}), labels) == "E5002");
  }
  SUBCASE("a header that promises more memory than there is") {
    CHECK(code(folder.write("bad", idx_header_bytes(8, {0xffff, 0xffff, 0xfff0})), labels) == "E5003");
    CHECK(code(images, folder.write("bad", idx_header_bytes(8, {0xffffffffu}))) == "E5003");
  }
  SUBCASE("images of another size than MNIST's") {
    folder.write("t10k-images-idx3-ubyte", image_bytes(20, 14, 14));
    folder.write("t10k-labels-idx1-ubyte", label_bytes(20));
    CHECK(file_error_of([&] { (void)mnist(folder.path()); }, &text) == "E5005");
    CHECK(contains(text, "expected images of 28 x 28 pixels, found 14 x 14"));
  }
}

TEST_CASE("a gzipped file in a program without zlib is refused with what to do") {
  auto* const before = sc::datasets::detail::gzip_decompressor;
  sc::datasets::detail::gzip_decompressor = nullptr;
  temporary_folder const folder("mnist_gzip");
  std::string text;
  folder.write("t10k-images-idx3-ubyte.gz", {0x1f, 0x8b, 8, 0});
  folder.write("t10k-labels-idx1-ubyte.gz", {0x1f, 0x8b, 8, 0});
  CHECK(file_error_of([&] { (void)mnist(folder.path()); }, &text) == "E5008");
  CHECK(contains(text, "include <stagecraft/datasets/gzip.hpp>"));
  sc::datasets::detail::gzip_decompressor = before;
}

TEST_CASE("a pair of which one file is damaged gives an error or a consistent data set") {
  sc::datasets::detail::random_stream random(11, 0, 0);
  byte_string const images = image_bytes(6, 3, 2);
  byte_string const labels = label_bytes(6);
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    byte_string x = images, y = labels;
    byte_string& damaged = round % 2 == 0 ? x : y;
    auto const place = static_cast<std::size_t>(random.between(0, static_cast<int>(damaged.size()) - 1));
    damaged[place] = static_cast<unsigned char>(random.between(0, random.happens(25) ? 255 : 15));
    try {
      auto const data = sc::datasets::detail::make_labelled_data(sc::datasets::parse_idx(x, "x"), "x",
                                                                 sc::datasets::parse_idx(y, "y"), "y", 10);
      bool const fits = data.x.shape()[0] == 6 && data.x.size() == 36 && data.y.size() == 6;
      REQUIRE(fits);
      for (float const shade : data.x) REQUIRE((shade >= 0.0f && shade <= 1.0f));
      for (std::int32_t const label : data.y) REQUIRE((label >= 0 && label <= 9));
      ++accepted;
    } catch (sc::file_error const& error) {
      REQUIRE(error.code().starts_with("E50"));
    }
  }
  CHECK(accepted > 500);
}
