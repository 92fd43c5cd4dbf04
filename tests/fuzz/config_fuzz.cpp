// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary texts to the reader of Keras's configurations, and what it makes of them to the writer of source.
// Behind a 'b', which no JSON begins with, are the parts of a bundle with zeros between them: its model, its training,
// the names of weights, and the tensors; what is read of them goes to the writers of Keras's files. Anything but a
// file_error, or source, fails.
#include "source_model.hpp"
#include "source_writer.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/keras/keras_h5.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

namespace sc = stagecraft;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// Calls what may refuse the contents with one of these codes.
template <class Call>
void may_refuse(std::string_view codes, Call const& call) {
  try {
    call();
  } catch (sc::file_error const& error) {
    require(codes.find(error.code()) != std::string_view::npos);
  }
}

sc::io::bundle_contents bundle_of(std::string_view text) {
  auto const part = [&] {
    auto const end = text.find('\0');
    auto const found = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return found;
  };
  sc::io::bundle_contents contents;
  contents.model = sc::io::parse_json(part(), "fuzz");
  auto const training = sc::io::parse_json(part(), "fuzz");
  contents.training = training.is_object() ? training.value("training", sc::io::json()) : sc::io::json();
  contents.trainable_weights = sc::io::names_in(training, "trainable_weights", "fuzz");
  contents.non_trainable_weights = sc::io::names_in(training, "non_trainable_weights", "fuzz");
  contents.tensors = sc::parse_safetensors(std::as_bytes(std::span(text)), "fuzz");
  return contents;
}

void read_bundle(std::string_view text) {
  auto const contents = bundle_of(text);
  may_refuse("E5063 E5064 E5065", [&] {
    auto model = sc::tool::read_config(contents.model, "fuzz", {});
    sc::tool::read_bundle_weights(contents.tensors, "fuzz", model);
    require(!sc::tool::write_source(model, {"model", "fuzz"}).empty());
  });
  may_refuse("E5030 E5041 E5043", [&] { require(!sc::io::keras_h5_of(contents, "fuzz").empty()); });
  may_refuse("E5030 E5041 E5043", [&] { require(!sc::io::keras_archive_of(contents, "fuzz").empty()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(bytes), size);
  may_refuse("E5011 E5012 E5013 E5030 E5063 E5064", [&] {
    if (text.starts_with('b')) return read_bundle(text.substr(1));
    auto const model = sc::tool::read_config(sc::io::parse_json(text, "fuzz"), "fuzz", {});
    require(!sc::tool::write_source(model, {"model", "fuzz"}).empty());
  });
  return 0;
}
