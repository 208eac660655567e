// Text as a message can show it: what a reader cannot see, or cannot tell from something else, stands as its code.
//
// A byte order mark, a no-break space or a zero-width space from a web page looks like nothing at all, so a message
// that quotes it says nothing. Here it becomes <U+FEFF>, <U+00A0>, <U+200B>; a byte that is no UTF-8 becomes <0xFF>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gneiss {

/// One character of UTF-8.
struct Character {
  std::uint32_t code = 0;  ///< code point, or the byte itself if it is not well-formed
  std::size_t bytes = 1;
  bool well_formed = true;
};

/// The character that begins at `at`, which lies within the text.
Character character_at(std::string_view text, std::size_t at);

/// True for what is shown by nothing or like a plain blank: controls, other spaces, zero-width and direction marks,
/// the byte order mark, soft hyphens, what is unassigned for text. A plain blank is visible.
bool is_invisible(std::uint32_t code);

/// "'é' (U+00E9)", "U+200B (a zero-width space)", "the byte 0xFF, which is no UTF-8": the character that begins at
/// `at`.
std::string describe_character(std::string_view text, std::size_t at);

/// `text` with what is invisible or not UTF-8 replaced by its code; at most `most` characters, then "…".
std::string visible(std::string_view text, std::size_t most = std::string_view::npos);

/// The same for a text of several lines: line feeds and tabs stay.
std::string visible_lines(std::string_view text);

}  // namespace gneiss
