// SPDX-License-Identifier: BSD-3-Clause
// Lists of operations as ONNX: all words of `ops`, and all layers of the tables in tests/words. The files are those of
// which onnxruntime has said that they compute what the library does (tests/golden/check_onnx_lists.py), by checksum.
#include <stagecraft/io/detail/onnx_operations.hpp>
#include <array>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>
#include <zlib.h>

#include "../host/lists/operation_words.hpp"
#include "../words/table.hpp"

namespace {

namespace sc = stagecraft;
using sc::operations::runs::floats;
using sc::operations::runs::numbers;

sc::io::onnx_graph::lengths lengths_of(sc::operations::extents const& of) { return {of.begin(), of.end()}; }

/// The file of a traced call: weights are constants, states are inputs and outputs.
std::string file_of(sc::operations::trace const& traced, std::string const& name, std::vector<floats> const& weights) {
  sc::io::onnx_graph graph;
  std::vector<std::string> inputs, names;
  for (int const id : traced.inputs) {
    inputs.push_back("input_" + std::to_string(inputs.size()));
    graph.input(inputs.back(), lengths_of(traced.list.node_of(id).shape));
  }
  for (auto const& weight : traced.weights) {
    names.emplace_back(weight.name.view());
    sc::io::onnx_graph::lengths const shape(weight.shape.begin(), weight.shape.end());
    if (weight.between_batches)
      graph.input(names.back(), shape);
    else
      graph.floats(names.back(), shape, weights[names.size() - 1]);
  }
  auto const call = sc::io::onnx_operations(graph, traced, name, inputs, names).write();
  int const result = traced.outputs[0];
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    auto const& shape = call.outputs.size() > 1 ? traced.list.packed[i] : traced.list.node_of(result).shape;
    graph.node_named("output_" + std::to_string(i), "Identity", {call.outputs[i]});
    graph.output("output_" + std::to_string(i), lengths_of(shape));
  }
  return graph.finish(name);
}

/// Compares checksums with the committed ones; writes files and predictions to a folder if one is named.
class exported_lists {
 public:
  exported_lists() {
    std::ifstream from(std::string(STAGECRAFT_GOLDEN_DIR) + "/onnx_lists.txt");
    for (std::string line; std::getline(from, line);)
      if (!line.empty() && line[0] != '#') expected_[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
    if (char const* folder = std::getenv("STAGECRAFT_ONNX_FOLDER")) folder_ = folder;
  }
  void add(std::string const& name, sc::operations::trace traced, numbers with) {
    CAPTURE(name);
    REQUIRE_MESSAGE(!traced.list.problem.failed(), traced.list.problem.text.view());
    std::string found;
    try {
      auto const file = file_of(traced, name, with.weights);
      std::ostringstream text;
      text << std::hex
           << ::crc32(0, reinterpret_cast<unsigned char const*>(file.data()), static_cast<unsigned>(file.size()));
      found = text.str();
      if (!folder_.empty()) write(name, file, std::move(traced), with);
    } catch (sc::file_error const& problem) {
      std::string const what = problem.what();
      found = what.find("E5260") != std::string::npos ? "E5260" : what;
    }
    if (folder_.empty()) CHECK_MESSAGE(expected_[name] == found, "see tests/golden/check_onnx_lists.py");
    if (!folder_.empty()) std::ofstream(folder_ + "/checksums.txt", std::ios::app) << name << ' ' << found << '\n';
  }

 private:
  static void write_floats(std::string const& path, floats const& values) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<char const*>(values.data()), static_cast<std::streamsize>(4 * values.size()));
  }
  void write(std::string const& name, std::string const& file, sc::operations::trace traced, numbers with) const {
    std::ofstream(folder_ + "/" + name + ".onnx", std::ios::binary) << file;
    for (std::size_t i = 0; i < with.inputs.size(); ++i)
      write_floats(folder_ + "/" + name + ".input_" + std::to_string(i), with.inputs[i]);
    with.output_gradient.assign(static_cast<std::size_t>(traced.list.node_of(traced.outputs[0]).shape.size()), 1.0F);
    sc::operations::traced_plan const plan(std::move(traced), true);
    sc::operations::runs::float_run const run(plan, with);
    write_floats(folder_ + "/" + name + ".output", with.output);
  }

  std::map<std::string, std::string> expected_;
  std::string folder_;
};

void add_layers(char const* path, std::vector<words::word> const& all) {
  exported_lists lists;
  auto const file = golden::read(path);
  for (auto const& each : all) {
    auto traced = each.traced(3, false);
    numbers with;
    for (std::size_t i = 0; i < each.shapes.size(); ++i)
      with.inputs.push_back(file[each.name + "/input_" + std::to_string(i)].values);
    for (auto const& weight : traced.weights)
      with.weights.push_back(file[each.name + "/" + std::string(weight.name.view())].values);
    lists.add("layer_" + each.name, std::move(traced), with);
  }
}

}  // namespace

TEST_CASE("words of ops") {
  exported_lists lists;
  for (auto const& [name, computed, tolerance] : sc::operations::runs::word_cases()) {
    numbers with;
    auto const shapes = sc::operations::runs::read_inputs(name, with);
    lists.add("word_" + name, sc::operations::trace_call(computed, shapes, false), with);
  }
}
// Words without a case of their own elsewhere, on numbers that follow from their places.
TEST_CASE("words that lists are made of") {
  namespace ops = sc::operations;
  using tensors = sc::tracing::array_view<ops::tensor const>;
  struct list_case {
    std::string name;
    ops::tensor (*computed)(ops::tracer&, tensors);
    std::vector<ops::extents> shapes;
  };
  using tracer = ops::tracer;
  constexpr ops::window by_two{2, 2, 1, 0, 0}, wide{3, 2, 1, 1, 1};
  static constexpr ops::windows windows{by_two, wide};
  std::vector<list_case> const cases{
      {"flip", [](tracer& to, tensors in) { return to.flip(in[0], 1); }, {{2, 5}}},
      {"slice_backwards", [](tracer& to, tensors in) { return to.slice(in[0], 1, 6, 3, -3); }, {{2, 7}}},
      {"repeat", [](tracer& to, tensors in) { return to.repeat(in[0], 3, 1); }, {{2, 3}}},
      {"min", [](tracer& to, tensors in) { return to.min(in[0], {0, 2}); }, {{2, 3, 4}}},
      {"var", [](tracer& to, tensors in) { return to.var(in[0], 1); }, {{2, 5}}},
      {"matmul",
       [](tracer& to, tensors in) { return to.matmul(in[0], in[1], {.transpose_a = true, .transpose_b = true}); },
       {{2, 4, 3}, {5, 4}}},
      {"scattered", [](tracer& to, tensors in) { return to.scattered(in[0], {1, 1, 3}, {2, 9}); }, {{2, 3}}},
      {"scattered_to_the_end", [](tracer& to, tensors in) { return to.scattered(in[0], {1, 2, 3}, {2, 9}); }, {{2, 3}}},
      {"scattered_backwards", [](tracer& to, tensors in) { return to.scattered(in[0], {1, 7, -2}, {2, 9}); }, {{2, 3}}},
      {"conv_groups",
       [](tracer& to, tensors in) { return to.conv(in[0], in[1], windows, 2); },
       {{2, 6, 7, 4}, {2, 3, 2, 6}}},
      {"conv_transpose_groups",
       [](tracer& to, tensors in) { return to.conv_transpose(in[0], in[1], windows, {2, 6, 8, 4}, 2); },
       {{2, 3, 4, 6}, {2, 3, 2, 6}}},
      {"average_pool", [](tracer& to, tensors in) { return to.average_pool(in[0], windows); }, {{2, 6, 7, 3}}},
      {"max_pool", [](tracer& to, tensors in) { return to.max_pool(in[0], windows); }, {{2, 6, 7, 3}}},
      {"rows_outside", [](tracer& to, tensors in) { return to.take(in[0], floor(in[1] * 4.0F)); }, {{3, 2}, {2, 8}}},
      {"log1p_small", [](tracer&, tensors in) { return log1p(in[0] * 1e-5F); }, {{2, 9}}},
      {"functions",
       [](tracer&, tensors in) {
         return rsqrt(abs(in[0])) + sign(in[0]) + erf(in[0]) + fmod(in[0], 0.4F) + softplus(in[0]);
       },
       {{2, 9}}},
      {"not_numbers", [](tracer&, tensors in) { return sign(sqrt(in[0])) + ops::maximum(log(in[0]), 0.1F); }, {{2, 9}}},
      {"softmax_of_rows", [](tracer& to, tensors in) { return to.softmax(in[0], 1); }, {{2, 3, 4}}},
      {"scan",
       [](tracer& to, tensors in) {
         std::array const first{to.full({2, 3}, 0), to.full({2, 3}, 1)};
         auto const step = [](ops::tensor x, std::array<ops::tensor, 2> const& of) {
           return std::array{of[0] + x, of[1] * 0.5F + of[0]};
         };
         auto const all = to.scan(in[0], 1, first, step, true);
         return to.concatenate({all.all[0], all.all[1], to.reshape(all.last[1], {2, 1, 3})}, 1);
       },
       {{2, 4, 3}}},
  };
  exported_lists lists;
  for (auto const& [name, computed, shapes] : cases) {
    numbers with;
    for (auto const& shape : shapes) {
      with.inputs.emplace_back();
      for (int i = 0; i < shape.size(); ++i) with.inputs.back().push_back(static_cast<float>(i * 37 % 101) / 34 - 1.4F);
    }
    lists.add("list_" + name, ops::trace_call(computed, shapes, false), with);
  }
}
TEST_CASE("merging, attention") { add_layers("words_merging.txt", words::merging_words()); }
TEST_CASE("regularization, scales") { add_layers("words_regularization.txt", words::regularization_words()); }
TEST_CASE("preprocessing") { add_layers("words_preprocessing.txt", words::preprocessing_words()); }
TEST_CASE("windows") { add_layers("words_window.txt", words::window_words()); }
TEST_CASE("augmentation") { add_layers("words_augmentation.txt", words::augmentation_words()); }
TEST_CASE("layers with kernels") { add_layers("words_core.txt", words::core_words()); }
TEST_CASE("recurrent") { add_layers("words_recurrent.txt", words::recurrent_words()); }

TEST_CASE("long loops are refused") {
  namespace ops = sc::operations;
  auto const long_sum = [](ops::tracer& to, sc::tracing::array_view<ops::tensor const> in) {
    std::array const first{to.full({1, 1}, 0)};
    auto const step = [](ops::tensor x, std::array<ops::tensor, 1> const& before) { return std::array{before[0] + x}; };
    return to.scan(in[0], 1, first, step).last[0];
  };
  std::vector<ops::extents> const shapes{{1, 100001, 1}};
  CHECK_THROWS_WITH_AS(file_of(ops::trace_call(long_sum, shapes, false), "long", {}), doctest::Contains("E5261"),
                       sc::file_error);
}
