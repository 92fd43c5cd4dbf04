// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"
#include "progress.hpp"
#include "source/source_writer.hpp"
#include "source/test_writer.hpp"

#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/npy.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <cstdio>
#include <filesystem>

namespace stagecraft::tool {

namespace {

void write_text(std::string const& path, source_text const& text) {
  io::replace_file(path, [&](io::file_writer& to) { to.write(text.view()); });
  std::printf("wrote %s\n", path.c_str());
}

}  // namespace

void import_command::run() const {
  auto& shown = progress::shown();
  shown.begin("reading " + file);
  auto const model = read_model(file, options);
  std::filesystem::path const from(file);
  auto base = output.empty() ? std::filesystem::path(from).replace_extension() : std::filesystem::path(output);
  auto const name = base.filename().string();
  auto const type = type_name_of(name);
  check_stem(name);
  auto const recorded = read_recorded(model, test_inputs, test_outputs);
  auto const stem = base.string();
  shown.begin("writing the model's source");
  auto const source = write_source(model, {type, from.filename().string()});
  shown.end();
  std::printf("model '%s': models::%s\n", diagnostics::shown_name(model.name).c_str(), type.str().c_str());
  write_text(stem + ".hpp", source);
  shown.begin("writing " + stem + ".safetensors");
  write_safetensors(stem + ".safetensors", weights_of(model));
  shown.end();
  std::printf("wrote %s.safetensors\n", stem.c_str());
  if (!recorded.tensors.empty()) {
    write_safetensors(stem + "_test.safetensors", recorded);
    std::printf("wrote %s_test.safetensors\n", stem.c_str());
  }
  write_text(stem + "_test.cpp", write_test(model, type, name, recorded));
}

}  // namespace stagecraft::tool
