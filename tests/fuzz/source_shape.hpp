// SPDX-License-Identifier: BSD-3-Clause
// Whether a text is what `stagecraft import` may write of a model, whatever the model's file says: a list of the tokens
// and statements that such headers have. Nothing else passes, so that no text of a file stands outside of quotes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace fuzz {

class source_shape {
 public:
  explicit source_shape(std::string_view text) : text_(text) {}

  /// Whether it is a model's header.
  bool is_model() {
    if (!read_tokens()) return false;
    while (next_ < tokens_.size())
      if (!read_declaration(0)) return false;
    return true;
  }

 private:
  using token = std::string_view;

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool is_name(token of) { return !of.empty() && is_letter(of.front()); }
  static bool is_text(token of) { return of.starts_with('"'); }

  bool read_tokens() {
    for (std::size_t at = 0; at < text_.size();) {
      char const c = text_[at];
      auto const rest = text_.substr(at);
      auto const line = rest.substr(0, rest.find('\n'));
      if (!std::all_of(line.begin(), line.end(), [](char each) { return each >= ' ' && each <= '~'; })) return false;
      std::size_t length = 1;
      if (c == ' ' || c == '\n') {
        ++at;
        continue;
      }
      if (rest.starts_with("//")) {
        if (line.ends_with('\\')) return false;  // the next line would be part of it
        at += line.size();
        continue;
      }
      if (c == '#') {
        if (line != "#pragma once" && line != "#include <stagecraft/operations/words.hpp>" &&
            line != "#include <stagecraft/pipeline.hpp>" && line != "#include <string_view>")
          return false;
        at += line.size();
        continue;
      }
      if (c == '"') {
        for (length = 1; length < line.size() && line[length] != '"'; ++length)
          if (line[length] == '\\' && !skip_escape(line, length)) return false;
        if (length++ >= line.size()) return false;
      } else if (is_letter(c)) {
        while (length < line.size() && (is_letter(line[length]) || is_digit(line[length]))) ++length;
      } else if (is_digit(c)) {
        while (length < line.size() && (is_letter(line[length]) || is_digit(line[length]) || line[length] == '.' ||
                                        (line[length - 1] == 'e' && line[length] == '-')))
          ++length;
      } else if (rest.starts_with("::") || rest.starts_with("++")) {
        length = 2;
      } else if (std::string_view("{}()[]<>,;:.=+-*/&").find(c) == std::string_view::npos) {
        return false;
      }
      tokens_.push_back(rest.substr(0, length));
      at += length;
    }
    return true;
  }

  /// Only a quotation mark, a backslash, a question mark and three octal digits are escaped.
  static bool skip_escape(std::string_view line, std::size_t& at) {
    auto const rest = line.substr(at + 1);
    if (rest.empty()) return false;
    if (rest[0] == '"' || rest[0] == '\\' || rest[0] == '?') return ++at, true;
    if (rest.size() < 3 || !is_digit(rest[0]) || !is_digit(rest[1]) || !is_digit(rest[2])) return false;
    return at += 3, true;
  }

  [[nodiscard]] token peek(std::size_t ahead = 0) const {
    return next_ + ahead < tokens_.size() ? tokens_[next_ + ahead] : token();
  }
  bool takes(token what) { return peek() == what && (++next_, true); }
  bool take_all(std::initializer_list<token> list) {
    for (auto const each : list)
      if (!takes(each)) return false;
    return true;
  }
  /// A name that the tool may make: none of C++'s words, no reserved one.
  bool takes_own_name() {
    static constexpr std::array<token, 60> words{
        "alignas", "alignof",  "and",      "asm",     "auto",     "bool",     "break",     "case",      "catch",
        "char",    "class",    "co_await", "concept", "const",    "continue", "constexpr", "decltype",  "default",
        "delete",  "do",       "double",   "else",    "enum",     "explicit", "export",    "extern",    "false",
        "float",   "for",      "friend",   "goto",    "if",       "inline",   "int",       "long",      "namespace",
        "new",     "noexcept", "not",      "nullptr", "operator", "or",       "private",   "protected", "public",
        "return",  "sc",       "short",    "sizeof",  "static",   "std",      "struct",    "switch",    "template",
        "this",    "true",     "typedef",  "using",   "virtual",  "while"};
    auto const name = peek();
    if (!is_name(name) || name.starts_with('_') || name.find("__") != token::npos) return false;
    if (name.size() > 100 || std::find(words.begin(), words.end(), name) != words.end()) return false;
    return ++next_, true;
  }

  /// A name that is called later.
  bool declares() {
    declared_.push_back(peek());
    return takes_own_name();
  }
  /// Whether the name that was taken last may stand in front of a '(': a variable or a function of the header, a member
  /// that layers have, or something of the library's, which comes after its namespace. In a layer of operations, a
  /// member of `ops` or of a tensor, or a function of tensors, too.
  [[nodiscard]] bool is_callable(token name) const {
    static constexpr std::array<token, 7> members{"named",   "append", "in_dtype",     "on_host",
                                                  "of_type", "input",  "of_batch_size"};
    static constexpr std::array<token, 2> members_of_tensors{"length", "shape"};
    static constexpr std::array<token, 53> functions_of_tensors{
        "abs",        "acos",        "acosh",      "asin",        "asinh", "atan",      "atanh",       "ceil",
        "clip",       "cos",         "cosh",       "div",         "elu",   "equal",     "erf",         "exp",
        "expm1",      "floor",       "floor_mod",  "fmod",        "gelu",  "isfinite",  "isinf",       "isnan",
        "log",        "log1p",       "maximum",    "minimum",     "mod",   "not_equal", "pow",         "remainder",
        "rint",       "round",       "rsqrt",      "sigmoid",     "sign",  "sin",       "sinh",        "softplus",
        "softsign",   "sqrt",        "square",     "tan",         "tanh",  "where",     "bitwise_and", "bitwise_not",
        "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "view"};
    auto const is_in = [&](auto const& list) { return std::find(list.begin(), list.end(), name) != list.end(); };
    auto const before = next_ > 1 ? tokens_[next_ - 2] : token();
    if (before == "." && is_in_call_) return (next_ > 2 && tokens_[next_ - 3] == "ops") || is_in(members_of_tensors);
    if (before == ".") return is_in(members);
    return before == "::" || is_in(declared_) || (is_in_call_ && is_in(functions_of_tensors));
  }

  /// What stands in a namespace.
  bool read_declaration(int depth) {
    if (takes("namespace")) {
      if (takes("sc")) return take_all({"=", "stagecraft", ";"});
      if (depth > 2 || !takes_own_name() || !takes("{")) return false;
      while (!takes("}"))
        if (next_ >= tokens_.size() || !read_declaration(depth + 1)) return false;
      return true;
    }
    if (depth == 0) return false;
    if (takes("using")) {
      if (takes("namespace")) return take_all({"sc", "::", "layers", ";"});
      return takes_own_name() && takes("=") && read_expression() && takes(";");
    }
    if (takes("constexpr")) return takes("auto") && read_function();
    if (!takes("struct")) return false;
    auto const name = peek();
    if (!takes_own_name() || !take_all({":", "sc", "::"})) return false;
    if (takes("layer")) return take_all({"<", name, ">", "{"}) && read_layer();
    return take_all({"functional", "<", name, ">", "{"}) &&
           take_all({"static", "constexpr", "std", "::", "string_view", "name", "="}) && is_text(peek()) &&
           (++next_, takes(";")) && take_all({"static", "constexpr", "auto"}) && peek() == "build" && read_function() &&
           take_all({"}", ";"});
  }

  /// A layer of operations, from its members on.
  bool read_layer() {
    if (!take_all({"static", "constexpr", "std", "::", "string_view", "class_name", "="}) || !is_text(peek()))
      return false;
    ++next_;
    if (!take_all({";", "constexpr", "auto", "call", "(", "auto", "&"})) return false;
    static_cast<void>(takes("ops"));
    while (takes(",")) {
      if (!takes("auto") && !take_all({"sc", "::", "tensor_list"})) return false;
      if (!takes_own_name()) return false;
    }
    is_in_call_ = true;
    bool const is_whole = take_all({")", "const", "{"}) && read_statements() && take_all({"}", ";"});
    is_in_call_ = false;
    return is_whole;
  }
  /// What is computed where it stands, or for each step of a scan, after its '['.
  bool read_lambda() {
    if (!is_in_call_ || !take_all({"&", "]"})) return false;
    if (takes("(")) {
      do {
        if (!takes("auto")) return false;
        if (takes("const") && !takes("&")) return false;
        if (!takes_own_name()) return false;
      } while (takes(","));
      if (!takes(")")) return false;
    }
    return takes("{") && read_statements();
  }

  /// From its name on.
  bool read_function() {
    if (!declares() || !takes("(")) return false;
    do {
      if (takes("auto")) {
        static_cast<void>(takes("&"));
      } else if (!takes("int") && !takes("float") && !take_all({"std", "::", "string_view"})) {
        return false;
      }
      if (!takes_own_name()) return false;
    } while (takes(","));
    return takes(")") && takes("{") && read_statements();
  }

  /// Up to the end of a block.
  bool read_statements() {
    while (!takes("}"))
      if (!read_statement()) return false;
    return true;
  }
  bool read_statement() {
    if (takes("using")) return takes("namespace") && takes_own_name() && takes(";");
    if (takes("return")) return read_expression() && takes(";");
    if (takes("for")) {
      if (!take_all({"(", "int"})) return false;
      auto const name = peek();
      return takes_own_name() && takes("=") && read_expression() && takes(";") && takes(name) && takes("<") &&
             !peek().empty() && is_digit(peek().front()) && (++next_, take_all({";", "++", name, ")"})) &&
             read_statement();
    }
    if (takes("auto")) {
      if (takes("const") && !is_in_call_)
        return declares() && take_all({"=", "[", "&", "]", "(", "std", "::", "string_view", "rest", ")", "{"}) &&
               read_statements() && takes(";");
      if (takes("[")) {
        do
          if (!declares()) return false;
        while (takes(","));
        if (!takes("]")) return false;
      } else if (!declares()) {
        return false;
      }
      return takes("=") && read_expression() && takes(";");
    }
    return takes_own_name() && takes("=") && read_expression() && takes(";");
  }

  /// Up to the ',' or ';' or bracket that ends it: values, calls, and lists in brackets. Angle brackets are lists, too.
  bool read_expression(int depth = 0) {
    if (depth > 40) return false;
    std::size_t const begin = next_;
    for (;;) {
      auto const each = peek();
      if (each.empty()) return false;
      if (each == "," || each == ";" || each == ")" || each == "}" || (each == ">" && !is_in_call_))
        return next_ > begin || depth > 0;
      ++next_;
      if (each == "(" || each == "{" || (each == "<" && !is_in_call_)) {
        auto const end = each == "(" ? token(")") : each == "{" ? token("}") : token(">");
        do
          if (!read_expression(depth + 1)) return false;
        while (takes(","));
        if (!takes(end)) return false;
      } else if (each == "std") {
        if (!is_in_call_ || !takes("::")) return false;
        if (!takes("array") && !take_all({"numeric_limits", "<", "float", ">", "::", "infinity", "(", ")"}))
          return false;
      } else if (each == "stagecraft") {
        return false;
      } else if (each == "[" && peek() == "&") {
        if (!read_lambda()) return false;
      } else if (each == "[" && is_in_call_) {
        if (peek().empty() || !is_digit(peek().front())) return false;
        ++next_;
        if (!takes("]")) return false;
      } else if (is_name(each) && each != "sc" && each != "true" && each != "false") {
        --next_;
        if (!takes_own_name() || (peek() == "(" && !is_callable(each))) return false;
      } else if (each == "&" || each == "[" || each == "]" || each == ":" || each == "++") {
        return false;
      }
    }
  }

  std::string_view text_;
  std::vector<token> tokens_, declared_;
  std::size_t next_ = 0;
  bool is_in_call_ = false;  // of a layer of operations
};

}  // namespace fuzz
