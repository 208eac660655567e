// Literals, comments and lists that wrap at the column limit as clang-format would.
#include "synth/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace gneiss::synth {
namespace {

constexpr std::string_view kKeywords[] = {
    "alignas",   "alignof",   "and",      "and_eq",   "asm",       "auto",     "bitand",   "bitor",   "bool",
    "break",     "case",      "catch",    "char",     "class",     "compl",    "concept",  "const",   "consteval",
    "constexpr", "constinit", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete",
    "do",        "double",    "else",     "enum",     "explicit",  "export",   "extern",   "false",   "float",
    "for",       "friend",    "goto",     "if",       "inline",    "int",      "long",     "mutable", "namespace",
    "new",       "noexcept",  "not",      "not_eq",   "nullptr",   "operator", "or",       "or_eq",   "private",
    "protected", "public",    "register", "requires", "return",    "short",    "signed",   "sizeof",  "static",
    "struct",    "switch",    "template", "this",     "throw",     "true",     "try",      "typedef", "typeid",
    "typename",  "union",     "unsigned", "using",    "virtual",   "void",     "volatile", "wchar_t", "while",
    "xor",       "xor_eq"};

std::string literal(std::string text) {
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// Text that may stand behind `//`: no control characters, and no backslash at the end, which would join the next line
/// to it.
std::string for_comment(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.ends_with('\\') ? out + " ." : out;
}

/// Characters, not bytes.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string real(double value) { return literal(fmt::format("{}", value)); }

std::string real(float value) { return literal(fmt::format("{}", value)) + "F"; }

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string identifier(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (kept) name += c;
    if (!kept && !name.empty() && name.back() != '_') name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name.insert(0, "v");
  if (std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords)) name += '_';
  return name;
}

std::string camel(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string comment(std::string_view indent, std::string_view raw) {
  const std::string cleaned = for_comment(raw);
  std::string_view text = cleaned;
  std::string out;
  std::string line = fmt::format("{}//", indent);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (width(line) + 1 + width(word) > kLineWidth) {
      out += line + "\n";
      line = fmt::format("{}//", indent);
    }
    line += fmt::format(" {}", word);
  }
  return out + line + "\n";
}

std::string comment_line(std::string_view indent, std::string_view text) {
  std::string line = fmt::format("{}// {}", indent, for_comment(text));
  if (!fits(line)) {
    while (width(line) > kLineWidth - 4 || (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80) line.pop_back();
    line += " ...";
  }
  return line + "\n";
}

std::string braced(const std::vector<Field>& fields) {
  std::string text = "{";
  for (const Field& field : fields)
    text += fmt::format("{}.{} = {}", text.size() > 1 ? ", " : "", field.name, field.value);
  return text + "}";
}

std::string definition(std::string_view indent, std::string_view type, std::string_view name,
                       const std::vector<Field>& fields) {
  const std::string line = fmt::format("{}const {} {} = {};\n", indent, type, name, braced(fields));
  if (line.size() <= kLineWidth + 1) return line;
  std::string text = fmt::format("{}const {} {} = {{\n", indent, type, name);
  for (const Field& field : fields) text += fmt::format("{}    .{} = {},\n", indent, field.name, field.value);
  return text + fmt::format("{}}};\n", indent);
}

std::string includes(const std::vector<std::string>& headers) {
  std::string text;
  for (const std::string& header : headers) text += header.empty() ? "\n" : fmt::format("#include {}\n", header);
  return text;
}

std::string call(std::string_view indent, std::string_view head, const std::vector<std::string>& arguments) {
  std::string text;
  std::string line = fmt::format("{}{}(", indent, head);
  const std::string margin(line.size(), ' ');
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i] + (i + 1 < arguments.size() ? "," : ");");
    const bool first = line.back() == '(' || line.size() == margin.size();
    if (!first && !fits(line + " " + argument)) {
      text += line + "\n";
      line = margin + argument;
    } else {
      line += (first ? "" : " ") + argument;
    }
  }
  return text + line + "\n";
}

bool fits(std::string_view line) { return width(line) <= kLineWidth; }

std::string declarations(std::string_view indent, const std::vector<Declaration>& list) {
  // Comments are aligned over runs of lines that have one.
  std::string text;
  for (std::size_t begin = 0; begin < list.size();) {
    std::size_t end = begin;
    std::size_t column = 0;
    while (end < list.size() && !list[end].note.empty()) column = std::max(column, list[end++].code.size());
    for (std::size_t i = begin; i < end; ++i)
      text += fmt::format("{}{:{}}  // {}\n", indent, list[i].code, column, list[i].note);
    if (end == begin) text += fmt::format("{}{}\n", indent, list[end++].code);
    begin = end;
  }
  return text;
}

}  // namespace gneiss::synth
