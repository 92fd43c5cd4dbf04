// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary texts to the reader of Keras's configurations, and what it makes of them to the writer of source.
// Behind a 'b', which no JSON begins with, are the parts of a bundle with zeros between them: its model, its training,
// the names of weights, and the tensors; what is read of them goes to the writers of Keras's files. Behind an 'n' are
// texts with zeros between them, each after the number of a text in named_model.inc, in whose place it stands: names
// and words that somebody else has chosen. Anything but a file_error, or source that has the shape of a model
// (source_shape.hpp), fails.
#include "source/source_model.hpp"
#include "source/source_writer.hpp"
#include "source_shape.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/keras/keras_h5.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

constexpr char named_model[] =
#include "named_model.inc"
    ;

/// Whatever the names are, the source is that of a model.
void write_and_check(sc::tool::source_model const& model, std::string const& origin) {
  auto const type = sc::tool::type_name_of(origin);
  auto const text = sc::tool::write_source(model, {type, origin});
  require(fuzz::source_shape(text.view()).is_model());
}

/// The distinct texts of a configuration, in their order.
void collect_texts(sc::io::json const& of, std::vector<std::string>& to) {
  if (of.is_string() && std::find(to.begin(), to.end(), of.get<std::string>()) == to.end())
    to.push_back(of.get<std::string>());
  if (of.is_structured())
    for (auto const& each : of) collect_texts(each, to);
}
void replace_text(sc::io::json& in, std::string const& from, std::string const& to) {
  if (in.is_string() && in.get<std::string>() == from) in = to;
  if (in.is_structured())
    for (auto& each : in) replace_text(each, from, to);
}

void read_names(std::string_view text) {
  auto config = sc::io::parse_json(named_model, "fuzz");
  std::vector<std::string> texts;
  collect_texts(config, texts);
  std::string origin = "fuzz";
  while (!text.empty()) {
    auto const index = static_cast<unsigned char>(text.front());
    auto const end = std::min(text.find('\0', 1), text.size());
    std::string const given(text.substr(1, end - 1));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (index < texts.size())
      replace_text(config, texts[index], given);
    else
      origin = given;
  }
  write_and_check(sc::tool::read_config(config, "fuzz", {}), origin);
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
  may_refuse("E5063 E5064 E5065 E5191", [&] {
    auto model = sc::tool::read_config(contents.model, "fuzz", {});
    sc::tool::read_bundle_weights(contents.tensors, "fuzz", model);
    write_and_check(model, "fuzz");
  });
  may_refuse("E5030 E5041 E5043", [&] { require(!sc::io::keras_h5_of(contents, "fuzz").empty()); });
  may_refuse("E5030 E5041 E5043", [&] { require(!sc::io::keras_archive_of(contents, "fuzz").empty()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(bytes), size);
  may_refuse("E5011 E5012 E5013 E5030 E5063 E5064 E5191", [&] {
    if (text.starts_with('b')) return read_bundle(text.substr(1));
    if (text.starts_with('n')) return read_names(text.substr(1));
    write_and_check(sc::tool::read_config(sc::io::parse_json(text, "fuzz"), "fuzz", {}), "fuzz");
  });
  return 0;
}
