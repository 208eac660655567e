// A scanner over bytes: longest match, no tables. Strings may hold any UTF-8; elsewhere only ASCII has a meaning.
#include "language/lexer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/visible.h"
#include "language/habits.h"

namespace gneiss::language {
namespace {

/// "**" and "^" have no meaning but a habit: the parser says what to write instead.
constexpr std::array<std::string_view, 19> kTwoCharacterSymbols = {
    "==", "!=", "<=", ">=", "&&", "||", "->", "..", "++", "--", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "::", "**"};
constexpr std::string_view kOneCharacterSymbols = "+-*/%=<>!(){}[],;:.@&|?^";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

class Scanner {
 public:
  Scanner(const Source& source, std::uint32_t begin, std::uint32_t end, Diagnostics* diagnostics)
      : source_(source), text_(std::string_view(source.text).substr(0, end)), at_(begin), diagnostics_(*diagnostics) {}

  Tokens run() {
    if (at_ == 0 && text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    while (at_ < text_.size()) step();
    push(TokenKind::kEnd, text_.size());
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Span span_from(std::size_t begin, std::size_t end) const {
    return {&source_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }

  Token& push(TokenKind kind, std::size_t begin) {
    Token token;
    token.kind = kind;
    token.span = span_from(begin, at_);
    token.text = std::string(text_.substr(begin, at_ - begin));
    out_.list.push_back(std::move(token));
    return out_.list.back();
  }

  void step() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else if (c == '#' || (c == '/' && peek(1) == '/')) {
      line_comment();
    } else if (c == '/' && peek(1) == '*') {
      block_comment();
    } else if (is_name_start(c)) {
      const std::size_t begin = at_;
      while (is_name_part(peek())) ++at_;
      push(TokenKind::kName, begin);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (text_.substr(at_, 3) == "\"\"\"" || text_.substr(at_, 3) == "'''") {
      documentation();
    } else if (c == '"' || (c == '\'' && closes_on_line())) {
      string(c);
    } else {
      symbol();
    }
  }

  void line_comment() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    std::size_t body = begin;
    while (body < at_ && (text_[body] == '/' || text_[body] == '#' || text_[body] == ' ' || text_[body] == '<')) ++body;
    std::size_t stop = at_;
    while (stop > body && (text_[stop - 1] == '\r' || text_[stop - 1] == ' ')) --stop;
    out_.comments.push_back({span_from(begin, at_), std::string(text_.substr(body, stop - body))});
  }

  void block_comment() {
    const std::size_t begin = at_;
    const std::size_t end = text_.find("*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : end + 2;
    if (end != std::string_view::npos) return;
    diagnostics_.error(Code::E0103, span_from(begin, begin + 2), "this comment has no end").help = "close it with */";
  }

  void number() {
    const std::size_t begin = at_;
    while (is_digit(peek())) ++at_;
    bool real = false;
    if (peek() == '.' && peek(1) != '.' && !is_name_start(peek(1))) {
      real = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if ((peek() == 'e' || peek() == 'E') &&
        (is_digit(peek(1)) || ((peek(1) == '-' || peek(1) == '+') && is_digit(peek(2))))) {
      real = true;
      at_ += 2;
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'f' && !is_name_part(peek(1))) {  // 0.5f, as C programmers write
      real = true;
      Token& token = push(TokenKind::kReal, begin);
      ++at_;
      read_number(&token);
      return;
    }
    if (is_name_part(peek()) || (real && peek() == '.' && is_digit(peek(1)))) {
      while (is_name_part(peek()) || (peek() == '.' && is_digit(peek(1)))) ++at_;
      push(real ? TokenKind::kReal : TokenKind::kInteger, begin);
      diagnostics_
          .error(Code::E0104, span_from(begin, at_),
                 fmt::format("'{}' is not a number", text_.substr(begin, at_ - begin)))
          .help = "numbers are written 16, 0.5 or 5e-4; a name may not begin with a digit";
      return;
    }
    read_number(&push(real ? TokenKind::kReal : TokenKind::kInteger, begin));
  }

  void read_number(Token* token) {
    const char* first = token->text.data();
    const char* last = first + token->text.size();
    const std::errc status = token->kind == TokenKind::kInteger ? std::from_chars(first, last, token->integer).ec
                                                                : std::from_chars(first, last, token->real).ec;
    if (status == std::errc() && std::isfinite(token->real)) return;
    token->real = 0;
    diagnostics_.error(Code::E0105, token->span, fmt::format("'{}' does not fit into a 64-bit number", token->text));
  }

  /// Is there another single quote before the line ends?
  bool closes_on_line() const {
    const std::size_t next = text_.find_first_of("'\n", at_ + 1);
    return next != std::string_view::npos && text_[next] == '\'';
  }

  /// A text between triple quotes, which documents in Python.
  void documentation() {
    const std::size_t begin = at_;
    const std::size_t end = text_.find(text_.substr(begin, 3), begin + 3);
    at_ = end == std::string_view::npos ? text_.size() : end + 3;
    diagnostics_.error(Code::E0101, span_from(begin, begin + 3), "unexpected triple quotes").help =
        "comments are written // … or /* … */";
  }

  void string(char quote) {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (text_[at_] == '\\') escape();
      if (at_ < text_.size() && text_[at_] != '\n') ++at_;
    }
    const bool closed = peek() == quote && at_ < text_.size();
    const std::size_t end = at_;
    if (closed) ++at_;
    push(TokenKind::kString, begin).text = std::string(text_.substr(begin + 1, end - begin - 1));
    if (quote != '"') {
      diagnostics_.error(Code::E0101, span_from(begin, at_), "unexpected single quotes").help =
          fmt::format("write \"{}\"", text_.substr(begin + 1, end - begin - 1));
    }
    if (!closed) diagnostics_.error(Code::E0102, span_from(begin, end), "this string has no closing '\"' on its line");
  }

  void escape() {
    const char next = peek(1);
    if (next == '"' || next == '\\' || next == 'n' || next == 't') {
      ++at_;
    } else {
      diagnostics_.error(Code::E0107, span_from(at_, at_ + 2), "unknown escape in a string").help =
          "known: \\\" \\\\ \\n \\t";
    }
  }

  void symbol() {
    const std::size_t begin = at_;
    const std::string_view two = text_.substr(at_, 2);
    for (const std::string_view known : kTwoCharacterSymbols) {
      if (two == known) {
        at_ += 2;
        push(TokenKind::kSymbol, begin);
        return;
      }
    }
    ++at_;
    if (kOneCharacterSymbols.find(text_[begin]) != std::string_view::npos) {
      push(TokenKind::kSymbol, begin);
      return;
    }
    stray(begin);
  }

  /// Reports a run of characters that mean nothing, once.
  void stray(std::size_t begin) {
    const Character first = character_at(text_, begin);
    at_ = begin + first.bytes;
    while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) >= 0x80 || text_[at_] == '\0')) ++at_;
    Diagnostic& made = diagnostics_.error(Code::E0101, span_from(begin, at_),
                                          fmt::format("unexpected {}", describe_character(text_, begin)));
    made.help = first.well_formed ? character_habit(first.code) : "";
    if (!made.help.empty()) return push_meant(begin, made.help);
    if (first.well_formed && is_invisible(first.code)) {
      made.help = "remove it; text copied from a page often has such characters";
    } else if (first.code >= 0x80) {
      made.help = "outside of strings and comments only ASCII is used";
    }
  }

  /// The operator that stands in a help such as "write '*'": reading goes on with it, so that one mistake is one
  /// message.
  void push_meant(std::size_t begin, std::string_view help) {
    constexpr std::string_view kBefore = "write '";
    if (!help.starts_with(kBefore) || !help.ends_with('\'')) return;
    help.remove_prefix(kBefore.size());
    help.remove_suffix(1);
    push(TokenKind::kSymbol, begin).text = std::string(help);
  }

  const Source& source_;
  std::string_view text_;
  std::size_t at_;
  Diagnostics& diagnostics_;
  Tokens out_;
};

}  // namespace

Tokens tokenize(const Source& source, std::uint32_t begin, std::uint32_t end, Diagnostics* diagnostics) {
  return Scanner(source, begin, end, diagnostics).run();
}

Tokens tokenize(const Source& source, Diagnostics* diagnostics) {
  if (source.text.size() > kMaxSourceBytes) {
    diagnostics->error(Code::E0106, Span{},
                       fmt::format("{}: {} bytes of program text; at most {} are read", source.name, source.text.size(),
                                   kMaxSourceBytes));
    return tokenize(source, 0, 0, diagnostics);
  }
  return tokenize(source, 0, static_cast<std::uint32_t>(source.text.size()), diagnostics);
}

std::string print(const Tokens& tokens) {
  static constexpr std::array<const char*, 6> kNames = {"name", "integer", "real", "string", "symbol", "end"};
  std::string out;
  for (const Token& token : tokens.list) {
    const LineColumn where = line_column(token.span);
    out += fmt::format("{}:{} {}{}{}\n", where.line, where.column, kNames[static_cast<std::size_t>(token.kind)],
                       token.text.empty() ? "" : " ", token.text);
  }
  return out;
}

}  // namespace gneiss::language
