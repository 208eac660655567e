// Rows of text, one after the other: line ends, quotes and comments are dealt with here, so that readers see fields.
#include "data/row_reader.h"

#include <algorithm>

#include "base/error.h"

namespace gneiss::data {
namespace {

constexpr int kMostLines = 1000;  // of a row, so that a stray quote does not swallow a file

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// `trim` for what is mostly trimmed already.
std::string_view trimmed(const char* begin, const char* end) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; };
  while (begin < end && blank(*begin)) ++begin;
  while (begin < end && blank(end[-1])) --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

FieldSplitter::Result FieldSplitter::split(std::string_view line) {
  fields_.clear();
  if (!unquoted_.empty()) unquoted_.clear();
  joined_.clear();
  const Result result = separator_ == ' ' ? split_blanks(line) : split_separated(line);
  if (result == Result::kOpen) joined_ = line;
  return result;
}

FieldSplitter::Result FieldSplitter::extend(std::string_view line) {
  std::string all = std::move(joined_);
  all += '\n';
  all += line;
  fields_.clear();
  unquoted_.clear();
  joined_ = std::move(all);
  return separator_ == ' ' ? split_blanks(joined_) : split_separated(joined_);
}

/// Takes a field that begins with a quote off `rest`, up to its separator.
FieldSplitter::Result FieldSplitter::quoted_field(std::string_view* rest) {
  std::string text;
  std::size_t at = 1;
  for (;;) {
    const std::size_t quote = rest->find('"', at);
    if (quote == std::string_view::npos) return Result::kOpen;
    text += rest->substr(at, quote - at);
    at = quote + 1;
    if (at >= rest->size() || (*rest)[at] != '"') break;
    text += '"';
    ++at;
  }
  rest->remove_prefix(at);
  if (separator_ != ' ') {
    while (!rest->empty() && rest->front() != separator_ && is_blank(rest->front())) rest->remove_prefix(1);
  }
  const bool ended = rest->empty() || (separator_ == ' ' ? is_blank(rest->front()) : rest->front() == separator_);
  if (!ended) return Result::kBroken;
  unquoted_.push_back(std::move(text));
  const std::string& kept = unquoted_.back();
  fields_.push_back(trimmed(kept.data(), kept.data() + kept.size()));
  return Result::kDone;
}

FieldSplitter::Result FieldSplitter::split_blanks(std::string_view line) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    while (at < end && is_blank(*at)) ++at;
    if (at == end) return Result::kDone;
    if (*at == '"') {
      std::string_view rest(at, static_cast<std::size_t>(end - at));
      const Result result = quoted_field(&rest);
      if (result != Result::kDone) return result;
      at = rest.data();
      continue;
    }
    const char* const begin = at;
    while (at < end && !is_blank(*at)) ++at;
    fields_.emplace_back(begin, static_cast<std::size_t>(at - begin));
  }
}

FieldSplitter::Result FieldSplitter::split_separated(std::string_view line) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    const char* begin = at;
    while (begin < end && is_blank(*begin) && *begin != separator_) ++begin;
    if (begin < end && *begin == '"') {
      std::string_view rest(begin, static_cast<std::size_t>(end - begin));
      const Result result = quoted_field(&rest);
      if (result != Result::kDone) return result;
      at = rest.data();
    } else {
      while (at < end && *at != separator_) ++at;
      fields_.push_back(trimmed(begin, std::max(begin, at)));
    }
    if (at == end) return Result::kDone;
    ++at;  // a line that ends in a separator has one more, empty, field
  }
}

bool is_comment_line(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\f\v");
  return first != std::string_view::npos && (line[first] == '#' || line[first] == '%');
}

std::string RowReader::where() const { return fmt::format("{}:{}", lines_.path(), first_line_); }

void RowReader::comment() {
  if (rows_ == 0 || late_comment_line_ > 0) return;
  late_comment_line_ = lines_.line();
  late_comment_ = trim(line_);
}

/// The next line that is neither blank nor a comment.
bool RowReader::content_line() {
  blank_lines_ = 0;
  while (lines_.next(&line_)) {
    if (!line_.empty() && line_[0] > '%') return true;
    if (is_comment_line(line_)) {
      comment();
    } else if (trim(line_).empty()) {
      ++blank_lines_;
    } else {
      return true;
    }
  }
  return false;
}

void RowReader::skip_row() {
  const std::size_t columns = columns_;
  columns_ = 0;
  if (next()) rows_ = 0;
  columns_ = columns;
}

void RowReader::fail_length() const {
  throw Error(
      ErrorCode::kBadData,
      fmt::format("expected {} fields as in the first row, got {}: '{}'", columns_, fields().size(), excerpt(line_)),
      where(), "every row needs as many fields; a field that holds the separator goes in quotes");
}

bool RowReader::next() {
  if (!content_line()) return false;
  ++rows_;
  first_line_ = lines_.line();
  std::string_view text = line_;
  if (cuts_attributes_) {
    const std::size_t brace = std::min(text.find('{'), text.size());
    tail_ = text.substr(brace);
    text = text.substr(0, brace);
    while (!text.empty() && (is_blank(text.back()) || text.back() == ',')) text.remove_suffix(1);
  }
  auto result = splitter_.split(text);
  if (result == FieldSplitter::Result::kOpen) {
    kept_ = line_;
    std::string_view more;
    for (int lines = 0; lines < kMostLines && result == FieldSplitter::Result::kOpen && lines_.next(&more); ++lines)
      result = splitter_.extend(more);
    line_ = kept_;
  }
  if (result == FieldSplitter::Result::kDone) {
    if (!has_length()) fail_length();
    return true;
  }
  const bool open = result == FieldSplitter::Result::kOpen;
  throw Error(ErrorCode::kBadData,
              open ? "a quote is opened here and never closed"
                   : "something stands between a closing quote and the next separator",
              where(), "a quote inside a quoted field is written twice: \"\"");
}

}  // namespace gneiss::data
