// Decodes UTF-8 character by character and writes the code of what cannot be seen.
#include "base/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gneiss {
namespace {

struct NamedCode {
  std::uint32_t code;
  std::string_view name;
};

/// Those that copying from web pages, word processors and spreadsheets leaves behind.
constexpr NamedCode kNamed[] = {
    {0x00, "a zero byte"},
    {0x09, "a tab"},
    {0x0A, "a line feed"},
    {0x0B, "a vertical tab"},
    {0x0C, "a form feed"},
    {0x0D, "a carriage return"},
    {0x1B, "an escape"},
    {0x7F, "a delete"},
    {0xA0, "a no-break space"},
    {0xAD, "a soft hyphen"},
    {0x2002, "an en space"},
    {0x2003, "an em space"},
    {0x2009, "a thin space"},
    {0x200B, "a zero-width space"},
    {0x200C, "a zero-width non-joiner"},
    {0x200D, "a zero-width joiner"},
    {0x200E, "a left-to-right mark"},
    {0x200F, "a right-to-left mark"},
    {0x2028, "a line separator"},
    {0x2029, "a paragraph separator"},
    {0x202F, "a narrow no-break space"},
    {0x2060, "a word joiner"},
    {0x3000, "an ideographic space"},
    {0xFEFF, "a byte order mark"},
};

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr CodeRange kInvisible[] = {
    {0x00, 0x1F},     {0x7F, 0xA0},     {0xAD, 0xAD},     {0x034F, 0x034F}, {0x061C, 0x061C},
    {0x115F, 0x1160}, {0x1680, 0x1680}, {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x2000, 0x200F},
    {0x2028, 0x202F}, {0x205F, 0x206F}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xD800, 0xF8FF},
    {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0xE0000, 0x10FFFF},
};

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string code_text(std::uint32_t code) { return fmt::format("U+{:04X}", code); }

}  // namespace

Character character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1, true};
  std::size_t bytes = 0;
  if (lead >= 0xC2 && lead <= 0xDF) bytes = 2;
  if (lead >= 0xE0 && lead <= 0xEF) bytes = 3;
  if (lead >= 0xF0 && lead <= 0xF4) bytes = 4;
  if (bytes == 0 || at + bytes > text.size()) return {lead, 1, false};
  std::uint32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[at + i])) return {lead, 1, false};
    code = code << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  const std::uint32_t least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {lead, 1, false};
  return {code, bytes, true};
}

bool is_invisible(std::uint32_t code) {
  return std::any_of(std::begin(kInvisible), std::end(kInvisible),
                     [&](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

std::string describe_character(std::string_view text, std::size_t at) {
  const Character found = character_at(text, at);
  if (!found.well_formed) return fmt::format("the byte 0x{:02X}, which is no UTF-8", found.code);
  if (!is_invisible(found.code)) {
    const std::string shown = fmt::format("'{}'", text.substr(at, found.bytes));
    return found.code < 0x80 ? shown : fmt::format("{} ({})", shown, code_text(found.code));
  }
  const auto* named =
      std::find_if(std::begin(kNamed), std::end(kNamed), [&](const NamedCode& n) { return n.code == found.code; });
  return fmt::format("{} ({})", code_text(found.code),
                     named == std::end(kNamed) ? "an invisible character" : named->name);
}

std::string visible_lines(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\t", at), text.size());
    out += visible(text.substr(at, end - at));
    if (end < text.size()) out += text[end];
    at = end + 1;
  }
  return out;
}

std::string visible(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    if (count == most) return out + "…";
    const Character found = character_at(text, at);
    if (!found.well_formed) {
      out += fmt::format("<0x{:02X}>", found.code);
    } else if (is_invisible(found.code)) {
      out += fmt::format("<{}>", code_text(found.code));
    } else {
      out += text.substr(at, found.bytes);
    }
    at += found.bytes;
  }
  return out;
}

}  // namespace gneiss
