// SPDX-License-Identifier: BSD-3-Clause
// JSON that is read as it stands in a request, value by value: numbers go straight to where they are needed, and no
// tree of values is made, which would take twenty times the text's memory.
#pragma once

#include "serve/api.hpp"

#include <stagecraft/io/element_type.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// Stands before a value, and goes on behind it with each function. NaN, Infinity and -Infinity are numbers. All
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
  /// Calls `each()` before each item of a list, which it must read, and returns how many there are.
  template <class Each>
  std::int64_t read_list(Each&& each) {
    begin('[');
    std::int64_t count = 0;
    for (; !ends(']', count == 0); ++count) each();
    --depth_;
    return count;
  }

  /// A text without its quotes; what stands for characters is replaced.
  [[nodiscard]] std::string read_text();
  [[nodiscard]] bool read_boolean();
  /// A whole number; false, and nothing is read, if the next value is something else.
  [[nodiscard]] bool read_integer(std::int64_t& to);

  /// Why a tensor was not read.
  struct failure {
    std::string what;                 ///< "is true, expected a number", of a number; "a list of 2 instead of 3"
    bool is_number = false;           ///< else the shape is another one
    std::vector<std::int64_t> place;  ///< indices in the tensor

    /// "[0, 2]"; "" if it is all of it.
    [[nodiscard]] std::string place_text() const;
  };
  /// Numbers of a shape, in lists in lists, which an element of `type` can hold: true and false are numbers of booleans
  /// alone, NaN and infinities, which may be texts, of floating-point types. All are rounded to float32, and none
  /// becomes an infinity. False, and it stands somewhere in the value, if that has another shape or holds something
  /// else: `why()` says what.
  [[nodiscard]] bool append_tensor(std::vector<std::int64_t> const& shape, element_type type, std::vector<float>& to);
  [[nodiscard]] failure const& why() const noexcept { return failure_; }
  /// True if the next value is a list that begins with a list.
  [[nodiscard]] bool is_list_of_lists();

  /// The next value, whatever it is.
  void skip();
  /// Skips the value, and returns the lengths of its nested lists, found from their first items.
  [[nodiscard]] std::vector<std::int64_t> skip_shape();
  /// Nothing but space may follow.
  void end();

  /// Calls `read` with a reader of the text. Where it throws http_error, a text that is no JSON is said instead.
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

  /// A place to come back to.
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
