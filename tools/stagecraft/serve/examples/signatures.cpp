// SPDX-License-Identifier: BSD-3-Clause
#include "serve/examples/signatures.hpp"

#include "serve/json_reader.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cstdint>
#include <limits>
#include <utility>

namespace stagecraft::tool {

namespace {

/// Reads the parts of signatures, and says where one is wrong.
class signature_reader {
 public:
  signature_reader(json_reader& reader, std::string path) : reader_(reader), where_(std::move(path)) {}

  std::vector<example_signature> read_all() {
    std::vector<example_signature> result;
    expect(json_reader::kind::object, "'signatures'", "an object");
    auto const path = where_;
    reader_.read_object([&](std::string const& name) {
      where_ = path + ": signature '" + name + "'";
      result.push_back(read_signature(name));
    });
    return result;
  }

 private:
  [[noreturn]] void refuse(std::string const& what) const { throw file_error("E4187", where_ + ": " + what); }
  void expect(json_reader::kind kind, std::string const& key, std::string const& what) {
    if (reader_.next() != kind) refuse(key + " is not " + what);
  }
  std::string text(std::string const& key) {
    expect(json_reader::kind::text, "'" + key + "'", "a text");
    return reader_.read_text();
  }
  std::int64_t integer(std::string const& key) {
    std::int64_t value = 0;
    if (!reader_.read_integer(value)) refuse("'" + key + "' is not a whole number");
    return value;
  }
  template <class Each>
  void list(std::string const& key, Each const& each) {
    expect(json_reader::kind::list, "'" + key + "'", "a list");
    (void)reader_.read_list(each);
  }

  example_signature read_signature(std::string const& name) {
    expect(json_reader::kind::object, "it", "an object");
    example_signature result(name, regression{});
    std::string method;
    bool has_scores = false, has_output = false;
    reader_.read_object([&](std::string const& key) {
      if (key == "method_name") {
        method = text(key);
      } else if (key == "scores" || key == "output") {
        (key == "scores" ? has_scores : has_output) = true;
        result.output = text(key);
      } else if (key == "labels") {
        has_scores = true;
        list(key, [&] { result.labels.push_back(text(key)); });
      } else if (key == "top") {
        has_scores = true;
        auto const top = integer(key);
        if (top < 0 || top > std::numeric_limits<int>::max()) refuse("'top' is no number of classes");
        result.top = static_cast<int>(top);
      } else if (key == "features") {
        list(key, [&] { result.features.push_back(read_feature()); });
      } else {
        refuse("'" + key + "' is no part of a signature");
      }
    });
    result.classifies = method == "tensorflow/serving/classify";
    if (!result.classifies && method != "tensorflow/serving/regress")
      refuse("method_name is '" + method + "', expected tensorflow/serving/classify or tensorflow/serving/regress");
    if (result.classifies ? has_output : has_scores)
      refuse(result.classifies ? "a classification has 'scores', not 'output'"
                               : "a regression has 'output', and neither 'scores' nor 'labels' nor 'top'");
    return result;
  }

  example_feature read_feature() {
    expect(json_reader::kind::object, "a feature", "an object");
    example_feature result;
    reader_.read_object([&](std::string const& key) {
      if (key == "name")
        result.name = text(key);
      else if (key == "input")
        result.input = text(key);
      else if (key == "dtype")
        result.dtype = text(key);
      else if (key == "shape")
        list(key, [&] { result.shape.push_back(integer(key)); });
      else if (key == "default_value")
        read_default(key, result.default_value);
      else
        refuse("'" + key + "' is no part of a feature");
    });
    return result;
  }

  /// Reads a list of numbers, or a number.
  void read_default(std::string const& key, std::vector<float>& to) {
    auto const read = [&] {
      if (!reader_.append_tensor({}, element_type::float32, to))
        refuse("'" + key + "' is no list of numbers: one " + reader_.why().what);
    };
    if (reader_.next() != json_reader::kind::list) return read();
    (void)reader_.read_list(read);
  }

  json_reader& reader_;
  std::string where_;
};

}  // namespace

std::vector<example_signature> read_signatures(json_reader& reader, std::string const& path) {
  return signature_reader(reader, path).read_all();
}

}  // namespace stagecraft::tool
