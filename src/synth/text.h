// Pieces of C++ text, laid out so that clang-format (the .clang-format of this project) has nothing to change.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gneiss::synth {

inline constexpr std::size_t kLineWidth = 120;

/// One member of a braced list: `.name = value`.
struct Field {
  std::string name;
  std::string value;
};

/// A double as a literal that reads back to the same bits.
std::string real(double value);
/// The same of a float.
std::string real(float value);
/// A quoted string.
std::string quote(std::string_view text);
/// Letters, digits and underscores of `text`, everything else as one underscore; never a keyword.
std::string identifier(std::string_view text);
/// `node_set` -> `NodeSet`.
std::string camel(std::string_view name);
/// `//` lines, broken at spaces within the width of a line.
std::string comment(std::string_view indent, std::string_view text);
/// One `//` line, cut if it is too long.
std::string comment_line(std::string_view indent, std::string_view text);
/// `{.a = x, .b = y}`.
std::string braced(const std::vector<Field>& fields);
/// `TYPE NAME = {` with a line for each member.
std::string definition(std::string_view indent, std::string_view type, std::string_view name,
                       const std::vector<Field>& fields);
/// `HEAD(ARG, ARG, ...);`, broken after the last argument that fits, the next line below the first argument.
std::string call(std::string_view indent, std::string_view head, const std::vector<std::string>& arguments);
bool fits(std::string_view line);

/// `#include` lines; names come with their brackets or quotation marks, "" leaves a line free.
std::string includes(const std::vector<std::string>& headers);

/// A declaration and what it is, for a column of comments.
struct Declaration {
  std::string code;
  std::string note;  ///< may be empty
};
/// One line each, comments below each other.
std::string declarations(std::string_view indent, const std::vector<Declaration>& list);

}  // namespace gneiss::synth
