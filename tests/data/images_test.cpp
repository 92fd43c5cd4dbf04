// SPDX-License-Identifier: BSD-3-Clause
// Images in folders: pixels, order, classes and labels are those of Keras (tests/golden/make_images.py); bad files are
// named errors. Samples of .npz files.
#include <doctest/doctest.h>

#include <stagecraft/data/data.hpp>
#include <stagecraft/data/image_dataset_from_directory.hpp>
#include <stagecraft/data/npz.hpp>
#include <stagecraft/io/detail/bundle_folder.hpp>
#include <stagecraft/io/npz.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../io/scratch_folder.hpp"

namespace sc = stagecraft;
namespace data = stagecraft::data;
using tests::contains;
using tests::error_of;

namespace {

std::string const golden = std::string(STAGECRAFT_GOLDEN_DIR) + "/images/";

std::vector<std::string> words_of(std::string const& line) {
  std::istringstream from(line);
  std::vector<std::string> words;
  for (std::string word; from >> word;) words.push_back(word);
  return words;
}
std::string bytes_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string write(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace

TEST_CASE("Pixels are those of Keras, in every size and kind of channels") {
  std::map<std::string, data::color_mode> const modes{
      {"grayscale", data::color_mode::grayscale}, {"rgb", data::color_mode::rgb}, {"rgba", data::color_mode::rgba}};
  std::map<std::string, sc::interpolation> const ways{{"nearest", sc::interpolation::nearest},
                                                      {"bilinear", sc::interpolation::bilinear},
                                                      {"bicubic", sc::interpolation::bicubic},
                                                      {"area", sc::interpolation::area}};
  for (auto const& expected : sc::read_safetensors(golden + "values.safetensors").tensors) {
    CAPTURE(expected.name);
    auto const words = words_of(expected.name);
    data::load_img_options options{modes.at(words[1]), {0, 0}, ways.at(words[3]), words.size() > 4};
    REQUIRE(std::sscanf(words[2].c_str(), "%dx%d", &options.target_size[0], &options.target_size[1]) == 2);
    auto const image = data::load_img(golden + "flowers/" + words[0], options);
    REQUIRE(sc::io::shape_text(image.shape()) == sc::io::shape_text(expected.shape));
    auto const values = sc::io::to_floats(expected);
    float off = 0;
    for (std::size_t i = 0; i < values.size(); ++i) off = std::fmax(off, std::fabs(values[i] - image.data()[i]));
    // TensorFlow has the weights of bicubic in a table of 1024 distances.
    CHECK(off <= (words[3] == "nearest" ? 0.0F : words[3] == "bicubic" ? 0.2F : 2e-4F));
    if (words[2] != "6x5" || words.size() > 4) continue;
    options.target_size = {0, 0};
    CHECK(data::load_img(golden + "flowers/" + words[0], options) == image);
  }
}

TEST_CASE("The order of files, what is held back, and labels are those of Keras") {
  std::ifstream lines(golden + "orders.txt");
  std::string line, labels;
  for (int i = 0; i < 5 && std::getline(lines, line); ++i) {
    CAPTURE(line);
    auto const words = words_of(line);
    data::image_dataset_options options{.image_size = {2, 3}, .shuffle = i < 4};
    options.seed = static_cast<std::uint32_t>(std::stoul(words[0]));
    options.validation_split = std::stof(words[1]);
    options.subset = words[2] == "training"     ? data::subset::training
                     : words[2] == "validation" ? data::subset::validation
                                                : data::subset::all;
    auto const found = data::image_dataset_from_directory(golden + "flowers", options);
    REQUIRE(found.cardinality() == static_cast<std::int64_t>(words.size()) - 3);
    for (std::size_t k = 3; k < words.size(); ++k) CHECK(found.file_paths[k - 3] == golden + "flowers/" + words[k]);
  }
  REQUIRE(std::getline(lines, labels));
  auto const all = data::image_dataset_from_directory(golden + "flowers", {.image_size = {2, 3}, .shuffle = false});
  CHECK(all.class_names == std::vector<std::string>{"daisy", "rose", "tulip"});
  std::string found;
  for (auto const& [image, label] : all) {
    CHECK(sc::io::shape_text(image.shape()) == "(2, 3, 3)");
    found += (found.empty() ? "" : " ") + std::to_string(static_cast<int>(label()));
  }
  CHECK(found == labels);

  auto const shuffled = data::image_dataset_from_directory(golden + "flowers", {.image_size = {2, 2}, .seed = 3});
  std::vector<std::string> passes;
  for (std::uint64_t const pass : {0, 0, 1}) {
    passes.emplace_back();
    auto const stream = shuffled.begin_pass(pass);
    while (auto const element = stream->next()) passes.back() += std::to_string(static_cast<int>(element->second()));
  }
  CHECK(passes[0] == passes[1]);
  CHECK(passes[0] != passes[2]);
}

TEST_CASE("Labels of other kinds") {
  auto const of = [](data::image_dataset_options options) {
    options.image_size = {2, 2}, options.shuffle = false;
    return data::image_dataset_from_directory(golden + "flowers", options);
  };
  for (auto const& [image, label] : of({.label_mode = data::label_mode::categorical}).skip(9))
    CHECK(label == xt::xarray<float>{0, 0, 1});
  for (auto const& [image, label] : of({.class_names = {"tulip", "rose", "daisy"}}).take(1)) CHECK(label() == 0);
  CHECK(of({.class_names = {"tulip", "rose", "daisy"}}).file_paths[0].ends_with("tulip/gray.jpeg"));
  for (auto const& [image, label] :
       of({.labels = {1, 0, 0, 0, 0, 0, 0, 0, 0, 1}, .label_mode = data::label_mode::binary}).take(1))
    CHECK(label == xt::xarray<float>{1});
  CHECK(of({.label_mode = data::label_mode::none}).cardinality() == 10);
  CHECK(contains(error_of([&] { of({.labels = {1, 2}}); }), "expected 10 labels, as many as images, found 2 [E5104]"));
  CHECK(contains(error_of([&] { of({.label_mode = data::label_mode::binary}); }), "found 3 [E5104]"));
  CHECK(contains(error_of([&] { of({.class_names = {"tulip"}}); }), "[E5104]"));
  CHECK(contains(error_of([&] { of({.validation_split = 0.5F}); }), "[E5104]"));
  CHECK(contains(error_of([&] { of({.interpolation = sc::interpolation::lanczos3}); }), "[E5104]"));
  CHECK(contains(error_of([&] { static_cast<void>(data::image_dataset_from_directory(golden + "nowhere")); }),
                 "nowhere: expected a readable folder"));
  CHECK(
      contains(error_of([&] { static_cast<void>(data::image_dataset_from_directory(golden, {.image_size = {0, 2}})); }),
               "[E5104]"));
  tests::scratch_folder const empty;
  CHECK(contains(error_of([&] { static_cast<void>(data::image_dataset_from_directory(empty.path)); }),
                 "found none [E5104]"));
}

TEST_CASE("Damaged images are named") {
  tests::scratch_folder const folder;
  auto const png = bytes_of(golden + "flowers/daisy/rgb.png"), jpeg = bytes_of(golden + "flowers/rose/rgb.jpg");
  auto const says = [&](char const* name, std::string const& bytes, char const* text) {
    auto const said = error_of([&] { static_cast<void>(data::load_img(write(folder / name, bytes))); });
    CHECK(contains(said, text));
    CHECK(contains(said, name));
    CHECK(contains(said, "[E5103]"));
  };
  says("empty.png", "", "expected a PNG or JPEG");
  says("gif.png", "GIF89a", "is a GIF");
  says("bmp.png", "BM123", "is a BMP");
  says("short.png", png.substr(0, png.size() - 20), "ends within it");
  auto changed = png;
  changed[60] ^= 1;
  says("checksum.png", changed, "the PNG is damaged");
  auto large = png;
  for (int const place : {16, 20}) large[static_cast<std::size_t>(place) + 1] = 0x0f;  // a million pixels wide and high
  says("large.png", large, "the PNG is damaged");
  says("short.jpg", jpeg.substr(0, jpeg.size() - 80), "the JPEG cannot be read: Premature end");
  says("head.jpg", jpeg.substr(0, 100), "the JPEG cannot be read");
  auto frame = jpeg.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  auto wide = jpeg;
  for (std::size_t const at : {5, 7}) wide[frame + at] = 0x7f;
  says("wide.jpg", wide, "more pixels than its bytes can become");
  wide.resize(2'000'000);
  says("huge.jpg", wide, "more than 2^28 pixels");
  std::string const header("IHDR\0\0\x80\0\0\0\x40\0\1\0\0\0\0", 17);  // 2^15 pixels wide, 2^14 high, of 1 bit
  auto const sum = sc::io::crc32_of(std::as_bytes(std::span(header)));
  auto bits = png.substr(0, 12) + header;
  for (int const shift : {24, 16, 8, 0}) bits += static_cast<char>(sum >> shift);
  says("bits.png", bits + std::string("\0\1\0\0IDAT", 8) + std::string(1 << 17, '\0'), "more than 2^28 pixels");
  CHECK(contains(error_of([&] { static_cast<void>(data::load_img(folder / "none.png")); }), "[E5001]"));
  std::filesystem::create_directory(folder.path / "class");
  write(folder / "class/bad.png", "no image");
  CHECK(contains(error_of([&] {
                   for (auto const& each : data::image_dataset_from_directory(folder.path)) static_cast<void>(each);
                 }),
                 "bad.png"));
}

TEST_CASE("Samples of .npz files are those of the arrays") {
  tests::scratch_folder const folder;
  std::string const arrays = std::string(STAGECRAFT_GOLDEN_DIR) + "/tensor_files/";
  for (char const* const name : {"stored.npz", "deflated.npz"}) {
    for (auto const& tensor : sc::read_npz(arrays + name).tensors) {
      CAPTURE(tensor.name);
      if (tensor.shape.empty()) {
        CHECK(contains(error_of([&] { static_cast<void>(data::npz(arrays + name, tensor.name)); }), "[E5014]"));
        continue;
      }
      auto const samples = data::npz(arrays + name, tensor.name);
      CHECK(samples.cardinality() == tensor.shape[0]);
      for (int pass = 0; pass < 2; ++pass) {
        std::vector<float> values;
        for (auto const& sample : samples) values.insert(values.end(), sample.begin(), sample.end());
        CHECK(values == sc::io::to_floats(tensor));
      }
    }
  }
  auto const said = error_of([&] { static_cast<void>(data::npz(arrays + "stored.npz", "none")); });
  CHECK(contains(said, "member 'none.npy': is not in the archive [E5015]"));
  CHECK(contains(error_of([&] { static_cast<void>(data::npz(arrays + "none.npz", "x")); }), "[E5001]"));
  CHECK(contains(error_of([&] { static_cast<void>(data::npz(arrays + "all.safetensors", "x")); }),
                 "expected a zip archive"));
  sc::tensor_file file;
  std::vector<float> const values(1000, 0.5F);
  file.tensors.push_back(sc::io::float_tensor("x", std::vector<std::int64_t>{10, 100}, values));
  sc::write_npz(folder / "x.npz", file);
  auto bytes = bytes_of(folder / "x.npz");
  bytes[2000] ^= 1;
  write(folder / "x.npz", bytes);
  auto const read_all = [&] {
    for (auto const& each : data::npz(folder / "x.npz", "x")) static_cast<void>(each);
  };
  CHECK(contains(error_of(read_all), "is damaged"));
}
