// Text to tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "language/diagnostics.h"
#include "language/source.h"

namespace gneiss::language {

enum class TokenKind : std::uint8_t { kName, kInteger, kReal, kString, kSymbol, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Span span;
  std::string text;  ///< name, symbol, or the content of a string between its quotes, as written
  std::int64_t integer = 0;
  double real = 0;
};

/// A comment from its marker to the end of the line (or to `*/`): parameters take theirs as documentation.
struct Comment {
  Span span;
  std::string text;
};

struct Tokens {
  std::vector<Token> list;  ///< ends with one kEnd
  std::vector<Comment> comments;
};

/// Largest text that is read at all.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;

/// Tokens of the bytes [begin, end) of `source`. Never fails: what is no token is reported and left out.
Tokens tokenize(const Source& source, std::uint32_t begin, std::uint32_t end, Diagnostics* diagnostics);
Tokens tokenize(const Source& source, Diagnostics* diagnostics);

/// One token a line, for tests: `3:5 name x`.
std::string print(const Tokens& tokens);

}  // namespace gneiss::language
