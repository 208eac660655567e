// Rows of a text table as fields. Internal to this folder.
//
// Fields stand between separators; blanks around them are left out. Quotes are those of RFC 4180: a field that begins
// with " ends at the next lone ", may hold separators and line ends, and writes a quote as "". Lines that begin with #
// or % are comments, empty lines are no rows.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text.h"

namespace gneiss::data {

/// Cuts a line into fields.
class FieldSplitter {
 public:
  enum class Result : std::uint8_t {
    kDone,
    kOpen,   ///< a quote is open: the next line belongs to this row, see extend
    kBroken  ///< something stands between a closing quote and the next separator
  };

  /// ' ' stands for runs of blanks and tabs.
  explicit FieldSplitter(char separator) : separator_(separator) {}

  /// Fields of `line`; they point into it, or into this object where quotes had to be taken out.
  Result split(std::string_view line);
  /// Goes on with the next line of the text after kOpen.
  Result extend(std::string_view line);
  std::span<const std::string_view> fields() const { return fields_; }

 private:
  Result split_blanks(std::string_view line);
  Result split_separated(std::string_view line);
  Result quoted_field(std::string_view* rest);

  char separator_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;
  std::string joined_;
};

/// True if the line is a comment; false for blank lines.
bool is_comment_line(std::string_view line);

class RowReader {
 public:
  RowReader(const std::filesystem::path& path, char separator) : lines_(path), splitter_(separator) {}

  /// Leaves out what begins with the first {: the attributes in NetworkX's edge lists. tail() gives it.
  void cut_attributes() { cuts_attributes_ = true; }
  /// Takes the next line that is no comment as read and leaves it out: the header.
  void skip_row();

  /// Rows of another length are errors; with `trailing`, one more field may follow if it is empty.
  void expect(std::size_t columns, bool trailing) {
    columns_ = columns;
    trailing_ = trailing;
  }

  /// The next row; false at the end. Errors: kBadData naming the line for damaged quotes and for rows of another length
  /// than expected, and as LineReader.
  bool next();
  std::span<const std::string_view> fields() const { return splitter_.fields(); }
  std::string_view tail() const { return tail_; }
  /// The row's first line as it stands in the file.
  std::string_view line() const { return line_; }
  std::int64_t line_number() const { return first_line_; }
  std::string where() const;
  /// Empty lines between the last row and this one, or the end of the file.
  std::int64_t blank_lines() const { return blank_lines_; }
  /// The first comment behind the first row, with its line; 0 if there is none.
  std::int64_t late_comment_line() const { return late_comment_line_; }
  const std::string& late_comment() const { return late_comment_; }

 private:
  bool content_line();
  void comment();
  bool has_length() const {
    const std::size_t size = fields().size();
    return size == columns_ || columns_ == 0 || (trailing_ && size == columns_ + 1 && fields().back().empty());
  }
  [[noreturn]] void fail_length() const;

  LineReader lines_;
  FieldSplitter splitter_;
  std::string_view line_;
  std::string_view tail_;
  std::string kept_;
  std::int64_t first_line_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t blank_lines_ = 0;
  std::int64_t late_comment_line_ = 0;
  std::string late_comment_;
  bool cuts_attributes_ = false;
  std::size_t columns_ = 0;  ///< of a row; 0: any number
  bool trailing_ = false;
};

}  // namespace gneiss::data
