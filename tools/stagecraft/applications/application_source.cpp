// SPDX-License-Identifier: BSD-3-Clause
#include "applications/application_source.hpp"

#include "source/source_model.hpp"
#include "source/source_writer.hpp"
#include "source/written_layer.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

namespace stagecraft::tool {

namespace {

/// The order of the calls in the file is significant.
template <class Json>
Json read_json(std::string const& path) {
  try {
    return Json::parse(read_text_file(path));
  } catch (json::exception const& why) {
    throw file_error("E5030", path + ": it is not JSON: " + why.what());
  }
}

void write_text(std::string const& path, source_text const& text) {
  io::replace_file(path, [&](io::file_writer& to) { to.write(text.view()); });
}

template <class Numbers>
source_text list_of(Numbers const& numbers) {
  std::vector<source_text> entries;
  for (auto const& number : numbers) entries.push_back(number_text(number.template get<int>()));
  return comma_list(entries);
}

/// The machine that a converted model is for, unless another one is asked for. Reports E5209 for threads of the host
/// with IPUs.
application_machine machine_of(json const& how, application_machine machine) {
  auto const own = how.find("machine");
  if (machine.init_ipu || own == how.end()) return machine;
  if (machine.threads != 1)
    throw file_error("E5209", "--threads " + std::to_string(machine.threads) +
                                  ": the model is converted for emulated IPUs, and threads are the host's");
  machine.init_ipu = true;
  machine.num_ipus = own->at("num_ipus").get<int>();
  machine.matmul_amp = own->at("matmul_amp").get<double>();
  machine.conv_amp = own->at("conv_amp").get<double>();
  machine.matmul_partial_type = own->at("matmul_partial_type").get<std::string>();
  machine.conv_partial_type = own->at("conv_partial_type").get<std::string>();
  return machine;
}

/// True if a converted model is divided among IPUs without a pipeline.
bool is_sharded(json const& how) { return how.contains("solution"); }

/// The type of the model with its saved stages, or with those of the file that `solution` names.
source_text staged_type(io::json const& config, json const& how, source_text const& type) {
  if (is_sharded(how)) return "sc::pipelined<"_cpp + type + ", sc::pipeline::solution_file<solution>>";
  auto const stages = config.find("pipeline_stages");
  if (stages == config.end() || !stages->is_object() || stages->empty()) return type;
  auto const mapping = config.find("pipelining_device_mapping");
  auto const has_mapping = mapping != config.end() && mapping->is_array() && !mapping->empty();
  return "sc::pipelined<"_cpp + type + ", sc::stages<" + list_of(*stages) + ">" +
         (has_mapping ? ", sc::device_mapping<"_cpp + list_of(*mapping) + ">" : source_text()) + ">";
}

/// A part of a tile's memory, with as many digits as its float has.
source_text proportion_text(double number) {
  if (!(number >= 0 && number <= 1))
    throw file_error("E5030", "application.json: a part of a tile's memory is a number from 0 to 1");
  return number_text(static_cast<float>(number));
}

source_text machine_type(application_machine const& machine) {
  if (machine.init_ipu) return "sc::ipu<"_cpp + ipu_config_text(machine) + ">";
  return "sc::host<"_cpp + (machine.threads > 1 ? number_text(machine.threads) : source_text()) + ">";
}

/// Returns a name of application.json that the source takes as it is; throws if `text` is none, since the key's value
/// is no such name.
source_text name_in(std::optional<source_text> text, char const* key) {
  if (!text)
    throw file_error("E5030",
                     "application.json: '" + std::string(key) + "' has a character or a word that is in no such name");
  return *std::move(text);
}

source_text options_text(json const& how, application_machine const& machine) {
  std::vector<source_text> parts;
  if (machine.init_ipu && !machine.allowed_batch_sizes.empty())
    throw file_error("E5148", "allowed_batch_sizes is given for emulated IPUs, which compute batches of one size");
  auto sizes = json(machine.allowed_batch_sizes);
  if (sizes.empty()) sizes = how.value("allowed_batch_sizes", json::array());
  if (!sizes.empty() && !machine.init_ipu) parts.push_back(".allowed_batch_sizes = {"_cpp + list_of(sizes) + "}");
  if (auto const& names = how.at("output_names"); !names.empty()) {
    std::vector<source_text> list;
    for (auto const& each : names) {
      auto const name = each.get<std::string>();
      check_name(name, "an output", "application.json");
      list.push_back(string_literal(name));
    }
    parts.push_back(".output_names = {"_cpp + comma_list(list) + "}");
  }
  auto const add_step = [&](char const* key, own_text option) {
    auto const type = how.value(key, std::string());
    if (!type.empty()) parts.push_back(option + (" = " + name_in(type_in_header(type), key)) + "{}");
  };
  add_step("preprocessing_step", ".preprocessing_step");
  add_step("postprocessing_step", ".postprocessing_step");
  return comma_list(parts);
}

/// The name of the header that the source includes.
std::string header_of(json const& how) {
  auto name = how.value("processing_header", std::string());
  if (!name.empty()) static_cast<void>(name_in(file_in_quotes(name), "processing_header"));
  return name;
}

}  // namespace

std::string read_text_file(std::string const& path) {
  io::byte_source const source(path);
  std::string text(source.size(), ' ');
  source.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string processing_header(std::string const& folder) {
  try {
    return header_of(read_json<json>(folder + "/application.json"));
  } catch (json::exception const& why) {
    throw file_error("E5030", folder + "/application.json: " + why.what());
  }
}

std::optional<application_machine> converted_machine(std::string const& folder) {
  std::error_code none;
  if (!std::filesystem::exists(folder + "/application.json", none)) return std::nullopt;
  auto const how = read_json<json>(folder + "/application.json");
  try {
    return how.is_object() && how.contains("machine") ? std::optional(machine_of(how, {})) : std::nullopt;
  } catch (json::exception const& why) {
    throw file_error("E5030", folder + "/application.json: " + why.what());
  }
}

io::json read_json_file(std::string const& path) { return read_json<io::json>(path); }

source_text ipu_config_text(application_machine const& machine) {
  auto const options = [](double amp, std::string const& type) {
    return "{.available_memory_proportion = "_cpp + proportion_text(amp) +
           ", .partials_type = " + dtype_text(type == "half" ? dtype::float16 : dtype::float32) + "}";
  };
  return "sc::ipu_config{.auto_select_ipus = "_cpp + number_text(machine.num_ipus) +
         ",\n                                     .matmuls = " +
         options(machine.matmul_amp, machine.matmul_partial_type) +
         ",\n                                     .convolutions = " +
         options(machine.conv_amp, machine.conv_partial_type) + "}";
}

source_text write_model_header(std::string const& folder, std::string const& header) {
  auto const saved = read_json<json>(folder + "/model.json");
  auto const model = read_config(saved, folder + "/model.json", {});
  auto const type = type_name_of(model.name);
  if (has_own_layers(model)) {
    // Operations of the model's own stand in the header that was written with the file.
    auto const written = folder + "/model.hpp";
    std::error_code problem;
    if (!std::filesystem::exists(written, problem))
      throw file_error("E5245", folder +
                                    ": model.json has operations of the model's own, and model.hpp, which has "
                                    "their C++, is not beside it; convert the model anew");
    if (written != header) std::filesystem::copy_file(written, header, problem);
    if (problem) throw file_error("E5041", header + ": " + problem.message());
    return "models::"_cpp + type;
  }
  write_text(header, write_source(model, {type, "model.json"}));
  return "models::"_cpp + type;
}

void write_application_source(std::string const& folder, application_machine const& wanted) {
  auto const how = read_json<json>(folder + "/application.json");
  auto const type = write_model_header(folder, folder + "/model.hpp");
  try {
    auto const machine = machine_of(how, wanted);
    source_text text("// The application of ");
    text += type + ": made by `stagecraft compile`.\n#include \"model.hpp\"\n";
    if (auto const header = header_of(how); !header.empty())
      text += "#include " + name_in(file_in_quotes(header), "processing_header") + "\n";
    text += machine.init_ipu ? "\n#include <stagecraft/ipu.hpp>\n"_cpp : "\n#include <stagecraft/host/host.hpp>\n"_cpp;
    text += "#include <stagecraft/serving/application.hpp>\n\nnamespace sc = stagecraft;\n\n";
    if (is_sharded(how)) text += "inline constexpr char solution[] = " + lines_literal(how["solution"].dump(1)) + ";\n";
    text += "using model_type = " + staged_type(read_json_file(folder + "/model.json").at("config"), how, type) + ";\n";
    text += "using machine_type = " + machine_type(machine) + ";\n\n";
    text += "inline constexpr auto inference = sc::inference{.batch_size = " +
            number_text(how.at("batch_size").get<int>()) +
            ", .steps_per_execution = " + number_text(how.at("iterations").get<int>()) +
            (is_sharded(how) ? ", .pipeline = {.schedule = sc::schedule::sequential}"_cpp : ""_cpp) + "};\n";
    text += "inline constexpr auto around_model = sc::serving::application_options{" + options_text(how, machine) +
            "};\n\n";
    text +=
        "extern \"C\" stagecraft_application const* stagecraft_get_application() {\n"
        "  return sc::serving::application<model_type, inference, around_model, machine_type>::table();\n}\n";
    write_text(folder + "/application.cpp", text);
  } catch (json::exception const& why) {
    throw file_error("E5030", folder + "/application.json: " + why.what());
  }
}

}  // namespace stagecraft::tool
