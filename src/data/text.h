// Text files line by line, plain or gzip, with line numbers; fields and numbers of a line. Internal to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace gneiss::data {

/// Reads a file line by line in bounded memory. A file that begins like gzip is unpacked on the way; several gzip
/// members after each other are one text. Line ends may be \n or \r\n.
class LineReader {
 public:
  /// Errors: kBadData when the file cannot be read.
  explicit LineReader(const std::filesystem::path& path);
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader();

  /// The next line without its end, valid until the next call; false at the end of the file. Errors: kBadData for
  /// damaged gzip data, for something other than gzip after it, and for lines beyond 1 GiB.
  bool next(std::string_view* line);
  /// Number of the line last read, from 1.
  std::int64_t line() const { return line_; }
  /// True if the file is gzip.
  bool packed() const { return unpacker_ != nullptr; }
  /// "file:line".
  std::string where() const;

 private:
  struct Unpacker;
  bool refill();

  std::string path_;
  MappedFile file_;
  std::unique_ptr<Unpacker> unpacker_;  ///< null for plain files
  std::string_view rest_;
  std::int64_t line_ = 0;
};

/// True if the bytes hold control characters that no text has.
bool looks_binary(std::string_view bytes);
/// Without blanks at both ends.
std::string_view trim(std::string_view text);
/// The separator of a line's fields: comma, semicolon, tab, or ' ' for runs of blanks and tabs.
char find_separator(std::string_view line);
/// Takes the next field off `rest`; quotes around it are removed. False when nothing is left.
bool next_field(char separator, std::string_view* rest, std::string_view* field);

/// The whole of `text` as a number; false if it is none (or beyond the range).
bool parse_int(std::string_view text, std::int64_t* value);
/// Also takes inf and nan in any case. Values beyond the range of double become infinity or 0.
bool parse_real(std::string_view text, double* value);

/// At most 40 characters of a field for a message; invisible ones stand as their codes (base/visible.h).
std::string excerpt(std::string_view text);

}  // namespace gneiss::data
