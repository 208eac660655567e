// Byte offsets to lines and columns. Columns count UTF-8 characters; a byte that is not UTF-8 counts as one.
#include "language/source.h"

#include <algorithm>

#include "base/visible.h"

namespace gneiss::language {
namespace {

constexpr std::size_t kLongLine = 160;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::int32_t count_characters(std::string_view text) {
  std::int32_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).bytes) ++count;
  return count;
}

/// Text that a terminal shows one cell per character: tabs become two spaces, what is not visible becomes '?'.
std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Character found = character_at(text, at);
    if (found.code == '\t') {
      out += "  ";
    } else if (!found.well_formed || is_invisible(found.code)) {
      out += '?';
    } else {
      out += text.substr(at, found.bytes);
    }
    at += found.bytes;
  }
  return out;
}

struct Line {
  std::size_t begin;
  std::size_t end;
  std::int32_t number;
};

Line line_of(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  std::size_t end = text.find('\n', at);
  if (end == std::string_view::npos) end = text.size();
  if (end > begin && text[end - 1] == '\r') --end;
  const auto number =
      static_cast<std::int32_t>(std::count(text.begin(), text.begin() + static_cast<long>(begin), '\n'));
  return {begin, std::max(end, begin), number + 1};
}

}  // namespace

Span join(const Span& first, const Span& last) { return {first.source, first.begin, std::max(first.end, last.end)}; }

LineColumn line_column(const Span& span) {
  if (span.source == nullptr) return {};
  const std::string_view text = span.source->text;
  const Line line = line_of(text, span.begin);
  const std::size_t at = std::clamp<std::size_t>(span.begin, line.begin, line.end);
  return {line.number, count_characters(text.substr(line.begin, at - line.begin)) + 1};
}

Place locate(const Span& span) {
  Place place;
  if (span.source == nullptr) return place;
  const std::string_view text = span.source->text;
  const Line line = line_of(text, span.begin);
  const std::size_t at = std::clamp<std::size_t>(span.begin, line.begin, line.end);
  const std::size_t stop = std::clamp<std::size_t>(span.end, at, line.end);
  place.file = span.source->name;
  place.line = line.number;
  place.column = count_characters(text.substr(line.begin, at - line.begin)) + 1;
  std::size_t from = line.begin;
  std::size_t to = line.end;
  if (to - from > kLongLine) {
    from = at - line.begin > kLongLine / 2 ? at - kLongLine / 2 : line.begin;
    while (from > line.begin && is_continuation(text[from])) --from;
    to = std::min(line.end, from + kLongLine);
  }
  place.line_text = printable(text.substr(from, to - from));
  place.indent = count_characters(printable(text.substr(from, at - from)));
  place.width = std::max(1, count_characters(printable(text.substr(at, std::min(stop, std::max(to, at)) - at))));
  return place;
}

}  // namespace gneiss::language
