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
/// members after each other are one text. A byte order mark is left out. Lines may end in \n, \r\n, \r\r\n or \r.
class LineReader {
 public:
  /// Errors: kBadData when the file cannot be read.
  explicit LineReader(const std::filesystem::path& path);
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader();

  /// The next line without its end, valid until the next call; false at the end of the file. Errors: kBadData for
  /// UTF-16, damaged gzip data, something other than gzip after them, and lines beyond 1 GiB.
  bool next(std::string_view* line);
  /// Number of the line last read, from 1.
  std::int64_t line() const { return line_; }
  /// True if the file is gzip.
  bool packed() const { return unpacker_ != nullptr; }
  /// "file:line".
  std::string where() const;
  const std::string& path() const { return path_; }

 private:
  struct Unpacker;
  void refill();
  void begin();
  const char* lone_return(const char* limit);

  std::string path_;
  MappedFile file_;
  std::unique_ptr<Unpacker> unpacker_;  ///< null for plain files
  std::string_view rest_;
  bool ended_ = true;  ///< rest_ reaches to the end of the text
  std::int64_t line_ = 0;
  const char* return_ = nullptr;   ///< the next \r that ends a line by itself, if one was found
  const char* scanned_ = nullptr;  ///< such a \r was looked for up to here
};

/// The first bytes of a file, of the unpacked text if it is gzip; fewer when the file is shorter or damaged.
std::string first_bytes(const std::filesystem::path& path, std::size_t size);

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

/// The whole of `text` as a whole number, written as one (12) or as a real (12.0, 1.2e1); false if it is none, or
/// beyond what a double holds exactly.
bool parse_whole(std::string_view text, std::int64_t* value);
/// At most 40 characters of a field for a message; invisible ones stand as their codes (base/visible.h).
std::string excerpt(std::string_view text);

}  // namespace gneiss::data
