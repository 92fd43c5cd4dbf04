// SPDX-License-Identifier: BSD-3-Clause
// Reads the JSON of a request value by value: numbers are written directly to their destination, without a tree of
// values, which would take twenty times the text's memory.
#pragma once

#include "serve/api.hpp"

#include <stagecraft/io/element_type.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// A position before a value, which each function moves past the value. NaN, Infinity and -Infinity are numbers. All
/// functions throw http_error 400 if the text is no JSON, lists and objects are nested deeper than 32, or an object has
/// more than 1000 keys; the text is not copied.
class json_reader {
 public:
  enum class kind { object, list, text, number, boolean, null };

  explicit json_reader(std::string_view text) : text_(text) {}

  /// Returns the kind of the next value.
  [[nodiscard]] kind next();

  /// Calls `each(key)` before each value of an object, which it must read.
  template <class Each>
  void read_object(Each&& each) {
    begin('{');
    int keys = 0;
    for (bool is_first = true; !ends('}', is_first); is_first = false) {
      if (++keys > most_keys) fail_of_keys();
      auto const key = read_text();
      expect(':');
      each(key);
    }
    --depth_;
  }
  /// Calls `each()` before each item of a list, which it must read, and returns the number of items.
  template <class Each>
  std::int64_t read_list(Each&& each) {
    begin('[');
    std::int64_t count = 0;
    for (; !ends(']', count == 0); ++count) each();
    --depth_;
    return count;
  }

  /// Reads a text without its quotes; escapes are replaced.
  [[nodiscard]] std::string read_text();
  [[nodiscard]] bool read_boolean();
  /// Reads a whole number; returns false, and reads nothing, if the next value is something else.
  [[nodiscard]] bool read_integer(std::int64_t& to);
  /// True if the next value, a number, is written without a point, an exponent, and words.
  [[nodiscard]] bool is_whole_number();

  /// The reason why a tensor was not read.
  struct failure {
    std::string what;                 ///< "is true, expected a number", of a number; "a list of 2 instead of 3"
    bool is_number = false;           ///< false: the shape differs
    std::vector<std::int64_t> place;  ///< indices in the tensor

    /// The text of the place, "[0, 2]"; "" for the whole tensor.
    [[nodiscard]] std::string place_text() const;
  };
  /// Appends the numbers of nested lists of this shape, which an element of `type` must be able to hold: only booleans
  /// may be true and false, only floating-point types NaN and infinities, which may be texts. Numbers are rounded to
  /// float32; finite ones that would become infinite are refused. Returns false, with the position somewhere in the
  /// value, if the shape or a number is wrong: `why()` says what.
  [[nodiscard]] bool append_tensor(std::vector<std::int64_t> const& shape, element_type type, std::vector<float>& to);
  [[nodiscard]] failure const& why() const noexcept { return failure_; }
  /// True if the next value is a list that begins with a list.
  [[nodiscard]] bool is_list_of_lists();

  /// Skips the next value, whatever it is.
  void skip();
  /// Skips the value, and returns the lengths of its nested lists, found from their first items.
  [[nodiscard]] std::vector<std::int64_t> skip_shape();
  /// Checks that only spaces follow.
  void end();

  /// Calls `read` with a reader of the text. If `read` throws http_error and the text is no JSON, that is reported in
  /// its place.
  template <class Read>
  static void read_all(std::string_view text, Read&& read) {
    try {
      json_reader reader(text);
      read(reader);
      reader.end();
    } catch (http_error const&) {
      json_reader reader(text);
      reader.skip();
      reader.end();
      throw;
    }
  }

  /// A position to return to.
  struct place {
    std::size_t at;
    int depth;
  };
  [[nodiscard]] place here() const noexcept { return {at_, depth_}; }
  void go_to(place const& to) noexcept {
    at_ = to.at;
    depth_ = to.depth;
  }

 private:
  static constexpr int deepest = 32, most_keys = 1000;

  [[noreturn]] void fail(std::string const& why) const;
  [[noreturn]] static void fail_of_keys();
  void skip_space() noexcept;
  void begin(char bracket);
  /// True if a list or object ends; else reads the separator of its items.
  bool ends(char bracket, bool is_first);
  void expect(char what);
  [[nodiscard]] bool takes(std::string_view word);
  /// Returns the end of the number that begins here.
  [[nodiscard]] std::size_t end_of_number() const;
  void append_character(std::string& to);
  unsigned read_four_digits();
  [[nodiscard]] bool refuse_number(std::string what);
  [[nodiscard]] bool refuse_list(std::string what);
  [[nodiscard]] bool append_numeral(std::string_view text, element_type type, std::vector<float>& to);
  [[nodiscard]] bool append_number(element_type type, std::vector<float>& to);
  bool append_tensor(std::int64_t const* shape, std::size_t rank, element_type type, std::vector<float>& to);
  void skip_shape(std::size_t level, std::vector<std::int64_t>& shape);

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  failure failure_;
};

}  // namespace stagecraft::tool
