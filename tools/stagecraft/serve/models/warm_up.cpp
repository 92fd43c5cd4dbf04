// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/warm_up.hpp"

#include "protobuf_tag.hpp"
#include "serve/examples/example_inputs.hpp"
#include "serve/http/http_message.hpp"
#include "serve/input_tensors.hpp"
#include "serve/option_files.hpp"
#include "serve/server_calls.hpp"
#include "serve/settings/server_log.hpp"
#include "tensorflow/graph_def.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/event_writer.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <protozero/pbf_reader.hpp>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr auto message_tag(std::uint32_t number) { return tag(number, pbf_wire_type::length_delimited); }

std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t result = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) result = result << 8 | static_cast<unsigned char>(bytes[i]);
  return result;
}

/// Calls `each` with each record of a file of TensorFlow's: a length, its checksum, bytes, and theirs.
template <class Each>
void read_records(std::string_view all, std::string const& path, Each const& each) {
  constexpr std::size_t length_bytes = 8, checksum_bytes = 4, most_records = 1000;
  auto const take = [&](std::uint64_t count) {
    if (count > all.size()) throw file_error("E5302", path + ": it is cut off");
    auto const part = all.substr(0, static_cast<std::size_t>(count));
    all.remove_prefix(part.size());
    return part;
  };
  auto const check = [&](std::string_view bytes) {
    if (number_of(take(checksum_bytes)) != io::masked_crc32c(bytes))
      throw file_error("E5302", path + ": it is damaged: a checksum is another one");
  };
  for (std::size_t count = 0; !all.empty(); ++count) {
    if (count == most_records)
      throw file_error("E5302", path + ": it has more than " + std::to_string(most_records) + " requests");
    auto const length = take(length_bytes);
    check(length);
    auto const record = take(number_of(length));
    check(record);
    each(record, count);
  }
}

/// The kinds of requests that are answered, by their fields in a PredictionLog.
enum class logged : std::uint32_t { classify = 2, regress = 3, multi_inference = 4, predict = 6 };

/// A request in a PredictionLog.
struct logged_request {
  logged kind;
  pbf_reader message;
};
/// Throws file_error E5302 for another kind.
logged_request request_of(std::string_view record, std::string const& of) {
  pbf_reader log(record.data(), record.size());
  while (log.next()) switch (log.tag_and_type()) {
      case message_tag(1): log.skip(); break;  // where it was logged
      case message_tag(2):
      case message_tag(3):
      case message_tag(4):
      case message_tag(6): {
        auto const kind = static_cast<logged>(log.tag());
        auto own = log.get_message();
        while (own.next(1, pbf_wire_type::length_delimited)) return {kind, own.get_message()};
        break;
      }
      default: throw file_error("E5302", of + " is neither Predict, Classify, Regress nor MultiInference");
    }
  throw file_error("E5302", of + " is empty");
}

std::string_view bytes_of(pbf_reader& reader) {
  auto const view = reader.get_view();
  return {view.data(), view.size()};
}

/// The name of the signature in a ModelSpec.
std::string signature_of(std::string_view bytes) {
  std::string name;
  for (pbf_reader spec(bytes.data(), bytes.size()); spec.next();)
    if (spec.tag_and_type() == message_tag(3))
      name = spec.get_string();
    else
      spec.skip();
  return name;
}

/// Reads the examples of an Input.
void read_input(std::string_view bytes, example_inputs& to) {
  std::string_view list;
  for (pbf_reader input(bytes.data(), bytes.size()); input.next();)
    if (input.tag_and_type() == message_tag(1) || input.tag_and_type() == message_tag(2))
      list = bytes_of(input);
    else
      input.skip();
  for (std::uint32_t const field : {2U, 1U})  // the context comes first, wherever it stands
    for (pbf_reader examples(list.data(), list.size()); examples.next(field, pbf_wire_type::length_delimited);)
      if (field == 2)
        to.read_context(bytes_of(examples));
      else
        to.read(bytes_of(examples));
  if (to.samples == 0) throw http_error{400, "Input is empty."};
}

/// Answers Classify, Regress and MultiInference.
void run_examples(served_version const& version, logged_request request) {
  std::vector<std::pair<std::string, bool>> tasks;  // signatures, and whether they classify
  std::string_view input;
  while (request.message.next()) {
    if (request.message.tag_and_type() == message_tag(2)) {
      input = bytes_of(request.message);
    } else if (request.message.tag_and_type() != message_tag(1)) {
      request.message.skip();
    } else if (request.kind != logged::multi_inference) {
      tasks.assign(1, {signature_of(bytes_of(request.message)), request.kind == logged::classify});
    } else {
      auto& [name, classifies] = tasks.emplace_back();
      for (auto task = request.message.get_message(); task.next();)
        if (task.tag_and_type() == message_tag(1))
          name = signature_of(bytes_of(task));
        else if (task.tag_and_type() == message_tag(2))
          classifies = task.get_string() == "tensorflow/serving/classify";
        else
          task.skip();
    }
  }
  if (tasks.empty()) throw http_error{400, "Missing ModelSpec"};
  std::atomic<std::size_t> bytes = 0;
  for (auto const& [name, classifies] : tasks) {
    constexpr std::size_t most = std::size_t{1} << 30;
    counted_bytes counted(bytes);
    example_inputs examples(find_signature(version, name, classifies), version.description(), counted, most);
    read_input(input, examples);
    (void)version.runtime->call(std::move(examples.inputs), examples.samples);
  }
}

void run(served_version const& version, logged_request from, std::string const& of) {
  if (from.kind != logged::predict) return run_examples(version, std::move(from));
  auto& request = from.message;
  input_tensors inputs(version.description().inputs);
  while (request.next()) {
    if (request.tag_and_type() != message_tag(2)) {
      request.skip();
      continue;
    }
    auto entry = request.get_message();
    std::string name;
    std::string_view bytes;
    while (entry.next()) switch (entry.tag_and_type()) {
        case message_tag(1): name = entry.get_string(); break;
        case message_tag(2): {
          auto const view = entry.get_view();
          bytes = {view.data(), view.size()};
          break;
        }
        default: entry.skip();
      }
    auto const tensor = parse_tensor(bytes, of);
    auto const place = inputs.place_of(name, tensor.shape);
    inputs.values[place] = numbers_of_bytes(name, tensor.type, tensor.shape,
                                            {reinterpret_cast<char const*>(tensor.bytes.data()), tensor.bytes.size()});
  }
  inputs.check_all();
  (void)version.runtime->call(std::move(inputs.values), inputs.samples);
}

}  // namespace

void warm_up(std::string const& folder, served_version const& version) {
  auto const path = folder + "/assets.extra/tf_serving_warmup_requests";
  if (::access(path.c_str(), F_OK) != 0) return;
  if (version.steps != nullptr)
    throw file_error("E5302", path + ": the models of an ensemble have warm-up requests of their own");
  if (version.sequences != nullptr)
    throw file_error("E5302", path + ": requests of TensorFlow Serving have no sequences, as this model needs");
  std::size_t all = 0;
  read_records(read_option_file(path), path, [&](std::string_view record, std::size_t place) {
    auto const of = path + ": request " + std::to_string(place);
    try {
      run(version, request_of(record, of), of);
    } catch (http_error const& why) {
      throw file_error("E5302", of + ": " + why.text);
    } catch (protozero::exception const&) {
      throw file_error("E5302", of + " is damaged");
    }
    ++all;
  });
  if (log().info) std::printf("%s: %zu requests are answered\n", path.c_str(), all);
}

}  // namespace stagecraft::tool
