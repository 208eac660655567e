// A program text and places in it.
//
// Everything the front end makes (tokens, tree, ops) keeps a Span: a byte range of one Source. A Source must outlive
// the spans that point into it; diagnostics copy what they need, so they outlive the Source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gneiss::language {

/// A named text. The name is what diagnostics print before the line.
struct Source {
  std::string name;
  std::string text;
};

/// The bytes [begin, end) of a source.
struct Span {
  const Source* source = nullptr;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool operator==(const Span& other) const = default;
};

/// From the beginning of one span to the end of another of the same source.
Span join(const Span& first, const Span& last);

/// A span worked out for people: lines and columns count from 1; a column is one character, not one byte.
struct Place {
  std::string file;
  std::int32_t line = 0;  ///< 0: no place in any text
  std::int32_t column = 0;
  std::int32_t width = 1;  ///< characters to underline, within the line
  std::string line_text;   ///< the line, tabs as two spaces, invalid bytes as '?', cut around the column when very long
  std::int32_t indent = 0;  ///< characters of line_text before the column
};

Place locate(const Span& span);

/// Line and column only.
struct LineColumn {
  std::int32_t line = 0;
  std::int32_t column = 0;
};
LineColumn line_column(const Span& span);

}  // namespace gneiss::language
