// SPDX-License-Identifier: BSD-3-Clause
// Regular expressions for the names of layers, read and matched by the compiler. Debian packages no library that does
// this, and the checks of stages may not need one anyway: they depend on nothing.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stagecraft::models {

/// A pattern as Python's `re.match` takes it: it must match a beginning of the name, not all of it.
///
/// - `a`, `.`, `[a-z_]`, `[^0-9]`, `\d \D \w \W \s \S` (of ASCII), `\.` and other escaped punctuation, `\a \t \n \r \f
/// \v`;
/// - `x*`, `x+`, `x?`, `x{2}`, `x{2,}`, `x{,3}`, `x{2,3}`; lazy forms (`x*?`) match the same names;
/// - `ab`, `a|b`, `(a)`, `(?:a)`;
/// - `^` and `\A`, `$` and `\Z`, `\b`, `\B`.
///
/// Not references to groups, nor lookahead and lookbehind, nor Python 3.11's `x*+`. All ways through the pattern are
/// followed at once, one character after the other, so that no pattern takes longer than its length times the name's;
/// nothing allocates. Definition: Python's documentation of `re`.
class name_pattern {
 public:
  /// Steps of a pattern, and sets of characters in it; what is repeated counts each time.
  static constexpr int capacity = 256, set_capacity = 24;

  constexpr explicit name_pattern(std::string_view text) : text_(text) {
    read_alternatives(0);
    if (!failed() && at_ < text_.size()) fail("a ')' has no '('");
    emit(instruction_kind::match);
    text_ = {};
  }

  /// The mistake in the pattern; empty if it can be read.
  [[nodiscard]] constexpr std::string_view problem() const noexcept { return problem_; }
  [[nodiscard]] constexpr bool failed() const noexcept { return !problem_.empty(); }
  /// The number of the wrong character, from 0.
  [[nodiscard]] constexpr int problem_at() const noexcept { return problem_at_; }

  /// True if the pattern matches the name's beginning. A pattern that cannot be read matches nothing.
  [[nodiscard]] constexpr bool matches(std::string_view name) const {
    if (failed()) return false;
    places even{}, odd{};
    if (reach(even, 0, name, 0)) return true;
    for (std::size_t i = 0; i < name.size(); ++i) {
      auto const& before = i % 2 == 0 ? even : odd;
      auto& here = i % 2 == 0 ? odd : even;
      here.count = 0;
      if (before.count == 0) return false;
      for (int k = 0; k < before.count; ++k)
        if (accepts(instructions_[before.waiting[k]], static_cast<unsigned char>(name[i])) &&
            reach(here, before.waiting[k] + 1, name, i + 1))
          return true;
    }
    return false;
  }

 private:
  enum class instruction_kind : unsigned char { character, set, fork, jump, begin, end, boundary, no_boundary, match };

  /// An instruction of the list that a pattern becomes. A fork goes on at both of its places, a jump at the first; they
  /// are counted from the instruction itself, so that instructions can be copied and moved.
  struct instruction {
    instruction_kind kind = instruction_kind::match;
    unsigned char value = 0;  ///< the character, or the number of the set
    short first = 0, second = 0;
  };
  struct character_set {
    std::uint64_t bits[4]{};

    [[nodiscard]] constexpr bool holds(unsigned char c) const { return (bits[c / 64] >> (c % 64) & 1) != 0; }
    constexpr void add(unsigned char c) { bits[c / 64] |= std::uint64_t{1} << (c % 64); }
    constexpr void add(character_set const& other) {
      for (int i = 0; i < 4; ++i) bits[i] |= other.bits[i];
    }
    constexpr void invert() {
      for (auto& part : bits) part = ~part;
    }
  };
  /// The places of the list that wait for the next character.
  struct places {
    short waiting[capacity];
    int count;
    short seen[capacity];  ///< the position in the name, from 1, at which an instruction was reached last
  };

  // Reading ----------------------------------------------------------------------------------------------------------

  constexpr void fail(std::string_view what) {
    if (failed()) return;
    problem_ = what;
    problem_at_ = static_cast<int>(at_);
  }
  [[nodiscard]] constexpr bool sees(char c) const { return at_ < text_.size() && text_[at_] == c; }
  constexpr bool takes(char c) { return sees(c) && (++at_, true); }
  [[nodiscard]] static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

  constexpr void emit(instruction_kind kind, unsigned char value = 0) {
    if (count_ >= capacity - (kind == instruction_kind::match ? 0 : 1)) return fail("it is too long");
    instructions_[count_++] = {kind, value};
  }
  constexpr void emit_set(character_set const& set) {
    if (set_count_ >= set_capacity) return fail("it has too many sets of characters");
    sets_[set_count_] = set;
    emit(instruction_kind::set, static_cast<unsigned char>(set_count_++));
  }
  /// A fork or jump before the instructions from `place` on.
  constexpr void insert(int place, instruction_kind kind, int first, int second = 0) {
    emit(kind);
    if (failed()) return;
    for (int i = count_ - 1; i > place; --i) instructions_[i] = instructions_[i - 1];
    instructions_[place] = {kind, 0, static_cast<short>(first), static_cast<short>(second)};
  }

  constexpr void read_alternatives(int depth) {
    if (depth > 32) return fail("its groups are nested too deeply");
    int const begin = count_;
    while (!failed() && at_ < text_.size() && !sees('|') && !sees(')')) read_repeated(depth);
    if (failed() || !takes('|')) return;
    insert(begin, instruction_kind::fork, 1, count_ - begin + 2);
    int const jump = count_;
    emit(instruction_kind::jump);
    read_alternatives(depth);
    if (!failed()) instructions_[jump].first = static_cast<short>(count_ - jump);
  }

  /// The number of repetitions; -1: any.
  struct repetition {
    int least = 1, most = 1;
  };

  /// Takes `*`, `+`, `?` or `{2,3}`, if it stands here. Other braces are ordinary characters.
  constexpr bool takes_repetition(repetition& result) {
    if (takes('*')) return result = {0, -1}, true;
    if (takes('+')) return result = {1, -1}, true;
    if (takes('?')) return result = {0, 1}, true;
    std::size_t const begin = at_;
    if (!takes('{') || sees('}')) return at_ = begin, false;
    int const least = read_number();
    int const most = takes(',') ? read_number() : least < 0 ? -2 : least;
    if (most == -2 || !takes('}')) return at_ = begin, false;
    result = {least < 0 ? 0 : least, most};
    return true;
  }
  /// A number, or -1 if there is none.
  constexpr int read_number() {
    int number = -1;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
      if (number <= capacity) number = (number < 0 ? 0 : number * 10) + (text_[at_] - '0');
    return number;
  }

  constexpr void read_repeated(int depth) {
    int const begin = count_;
    bool const is_place = read_atom(depth);
    std::size_t const sign = at_;
    repetition times;
    if (failed() || !takes_repetition(times)) return;
    if (is_place) return at_ = sign, fail("there is nothing to repeat");
    if (times.most >= 0 && times.most < times.least) return at_ = sign, fail("it repeats at least more than at most");
    takes('?');
    std::size_t const again = at_;
    repetition more;
    if (takes_repetition(more)) return at_ = again, fail("a repetition is repeated");
    repeat(begin, times);
  }

  constexpr void repeat(int begin, repetition const& times) {
    int const length = count_ - begin;
    for (int i = 1; i < times.least; ++i) copy(begin, length);
    if (times.most < 0 && times.least > 0) {  // the last one again and again
      emit(instruction_kind::fork);
      if (failed()) return;
      instructions_[count_ - 1].first = static_cast<short>(-length);
      instructions_[count_ - 1].second = 1;
    } else if (times.most < 0) {
      insert(begin, instruction_kind::fork, 1, length + 2);
      emit(instruction_kind::jump);
      if (!failed()) instructions_[count_ - 1].first = static_cast<short>(-length - 1);
    } else if (times.most == 0) {
      count_ = begin;
    } else {
      if (times.least == 0) insert(begin, instruction_kind::fork, 1, length + 1);
      int const source = times.least == 0 ? begin + 1 : begin;
      for (int i = times.least == 0 ? 1 : times.least; i < times.most && !failed(); ++i) {
        int const here = count_;
        copy(source, length);
        insert(here, instruction_kind::fork, 1, length + 1);
      }
    }
  }
  constexpr void copy(int from, int length) {
    for (int i = 0; i < length && !failed(); ++i) {
      auto const source = instructions_[from + i];
      emit(source.kind, source.value);
      if (!failed()) instructions_[count_ - 1] = source;
    }
  }

  /// Reads one thing; returns whether it is a place between characters.
  constexpr bool read_atom(int depth) {
    std::size_t const begin = at_;
    if (repetition times; takes_repetition(times)) return at_ = begin, fail("there is nothing to repeat"), false;
    char const c = text_[at_++];
    switch (c) {
      case '^': return emit(instruction_kind::begin), true;
      case '$': return emit(instruction_kind::end), true;
      case '.': return emit_set(all_but_newline()), false;
      case '[': return read_set(begin), false;
      case '\\': return read_escape(begin);
      case '(':
        if (takes('?') && !takes(':')) return at_ = begin, fail("groups that begin with '(?' are not supported"), false;
        read_alternatives(depth + 1);
        if (!failed() && !takes(')')) at_ = begin, fail("a '(' has no ')'");
        return false;
      default: return emit(instruction_kind::character, static_cast<unsigned char>(c)), false;
    }
  }

  static constexpr character_set all_but_newline() {
    character_set set;
    set.add('\n');
    set.invert();
    return set;
  }
  /// The set of `\d`, `\w`, `\s` and their opposites; empty for another letter.
  static constexpr character_set set_of(char letter) {
    character_set set;
    char const lower = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    if (lower != 'd' && lower != 'w' && lower != 's') return set;
    for (int c = 0; c < 128; ++c) {
      bool const digit = c >= '0' && c <= '9', space = c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
      if (lower == 'd' ? digit : lower == 's' ? space : is_word(static_cast<unsigned char>(c)))
        set.add(static_cast<unsigned char>(c));
    }
    if (lower != letter) set.invert();
    return set;
  }
  static constexpr bool is_word(unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static constexpr bool is_empty(character_set const& set) {
    return (set.bits[0] | set.bits[1] | set.bits[2] | set.bits[3]) == 0;
  }
  /// The character after a backslash, or -1.
  static constexpr int escaped(char c) {
    switch (c) {
      case 'a': return '\a';
      case 't': return '\t';
      case 'n': return '\n';
      case 'r': return '\r';
      case 'f': return '\f';
      case 'v': return '\v';
      default: return is_word(static_cast<unsigned char>(c)) && c != '_' ? -1 : static_cast<unsigned char>(c);
    }
  }

  constexpr bool read_escape(std::size_t begin) {
    if (at_ == text_.size()) return at_ = begin, fail("it ends with a '\\'"), false;
    char const c = text_[at_++];
    if (c == 'A') return emit(instruction_kind::begin), true;
    if (c == 'Z') return emit(instruction_kind::end), true;
    if (c == 'b') return emit(instruction_kind::boundary), true;
    if (c == 'B') return emit(instruction_kind::no_boundary), true;
    if (auto const set = set_of(c); !is_empty(set)) return emit_set(set), false;
    if (escaped(c) < 0) return at_ = begin, fail("this letter or digit has no meaning behind a '\\'"), false;
    emit(instruction_kind::character, static_cast<unsigned char>(escaped(c)));
    return false;
  }

  /// Reads a set after its '['.
  constexpr void read_set(std::size_t begin) {
    character_set set;
    bool const inverted = takes('^');
    for (bool first = true; first || !sees(']'); first = false) {
      if (at_ >= text_.size()) return at_ = begin, fail("a '[' has no ']'");
      std::size_t const entry = at_;
      int const from = read_entry(set);
      if (failed()) return;
      if (!sees('-') || at_ + 1 >= text_.size() || text_[at_ + 1] == ']') {
        if (from >= 0) set.add(static_cast<unsigned char>(from));
        continue;
      }
      ++at_;
      int const to = read_entry(set);
      if (failed()) return;
      if (from < 0 || to < from) return at_ = entry, fail("a range of characters ends before it begins");
      for (int c = from; c <= to; ++c) set.add(static_cast<unsigned char>(c));
    }
    ++at_;
    if (inverted) set.invert();
    emit_set(set);
  }
  /// A character of a set, or -1 for a set of its own, such as `\d`, which is added.
  constexpr int read_entry(character_set& set) {
    std::size_t const begin = at_;
    char const c = text_[at_++];
    if (c != '\\') return static_cast<unsigned char>(c);
    if (at_ == text_.size()) return at_ = begin, fail("it ends with a '\\'"), -1;
    char const letter = text_[at_++];
    if (letter == 'b') return '\b';
    if (auto const named = set_of(letter); !is_empty(named)) return set.add(named), -1;
    if (escaped(letter) < 0) at_ = begin, fail("this letter or digit has no meaning behind a '\\'");
    return escaped(letter);
  }

  // Matching ---------------------------------------------------------------------------------------------------------

  [[nodiscard]] constexpr bool accepts(instruction const& at, unsigned char c) const {
    return at.kind == instruction_kind::character ? at.value == c : sets_[at.value].holds(c);
  }

  /// Adds the places that are reached from one without a further character; returns whether the end is among them.
  constexpr bool reach(places& here, int place, std::string_view name, std::size_t position) const {
    auto const mark = static_cast<short>(position + 1);
    short forks[capacity];
    int count = 0;
    for (;;) {
      auto const& at = instructions_[place];
      int next = -1;
      if (here.seen[place] != mark) {
        here.seen[place] = mark;
        switch (at.kind) {
          case instruction_kind::match: return true;
          case instruction_kind::character:
          case instruction_kind::set: here.waiting[here.count++] = static_cast<short>(place); break;
          case instruction_kind::jump: next = place + at.first; break;
          case instruction_kind::fork:
            next = place + at.first;
            forks[count++] = static_cast<short>(place + at.second);
            break;
          default:
            if (holds(at.kind, name, position)) next = place + 1;
        }
      }
      if (next < 0 && count == 0) return false;
      place = next < 0 ? forks[--count] : next;
    }
  }

  /// True if a place between characters is the one that an instruction asks for.
  static constexpr bool holds(instruction_kind kind, std::string_view name, std::size_t position) {
    bool const at_begin = position == 0, at_end = position == name.size();
    if (kind == instruction_kind::begin) return at_begin;
    if (kind == instruction_kind::end) return at_end;
    bool const before = !at_begin && is_word(static_cast<unsigned char>(name[position - 1]));
    bool const behind = !at_end && is_word(static_cast<unsigned char>(name[position]));
    // Python finds no \B in an empty text.
    return kind == instruction_kind::boundary ? before != behind : before == behind && !name.empty();
  }

  instruction instructions_[capacity]{};
  character_set sets_[set_capacity]{};
  int count_ = 0, set_count_ = 0;
  std::string_view problem_;
  int problem_at_ = 0;
  std::string_view text_;  ///< while it is read
  std::size_t at_ = 0;
};

}  // namespace stagecraft::models
