// Lines come from a window over the file, unpacked piece by piece if it is gzip; fields are views of the window.
#include "data/text.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/visible.h"

namespace gneiss::data {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;
constexpr std::size_t kMaxLine = std::size_t{1} << 30;
constexpr std::ptrdiff_t kScan = std::ptrdiff_t{1} << 20;

}  // namespace

/// Unpacks gzip members into a window that always holds whole lines, but for the last.
struct LineReader::Unpacker {
  explicit Unpacker(std::string_view packed_in) : packed(packed_in) { inflateInit2(&stream, MAX_WBITS + 16); }
  ~Unpacker() { inflateEnd(&stream); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  z_stream stream{};
  std::string_view packed;
  std::string window;
  bool member_open = true;
};

LineReader::LineReader(const std::filesystem::path& path) : path_(path.string()), file_(path), rest_(file_.text()) {
  if (!rest_.starts_with("\x1f\x8b")) return;
  unpacker_ = std::make_unique<Unpacker>(rest_);
  rest_ = {};
  ended_ = false;
}

LineReader::~LineReader() = default;

std::string LineReader::where() const { return fmt::format("{}:{}", path_, line_); }

void LineReader::refill() {
  Unpacker& u = *unpacker_;
  std::string carried(rest_);
  if (carried.size() > kMaxLine) throw Error(ErrorCode::kBadData, "a line is longer than 1 GiB", where());
  u.window = std::move(carried);
  const std::size_t kept = u.window.size();
  u.window.resize(kept + kChunk);
  std::size_t filled = 0;
  while (filled < kChunk) {
    if (!u.member_open) {
      if (u.packed.find_first_not_of('\0') == std::string_view::npos) break;  // zero padding is customary
      if (!u.packed.starts_with("\x1f\x8b")) {
        throw Error(ErrorCode::kBadData, "something that is not gzip follows the gzip data", where(),
                    "copy or download the file again");
      }
      inflateReset(&u.stream);
      u.member_open = true;
    }
    const std::size_t step = std::min<std::size_t>(u.packed.size(), std::size_t{1} << 30);
    u.stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(u.packed.data()));
    u.stream.avail_in = static_cast<uInt>(step);
    u.stream.next_out = reinterpret_cast<Bytef*>(u.window.data() + kept + filled);
    u.stream.avail_out = static_cast<uInt>(kChunk - filled);
    const int status = inflate(&u.stream, Z_NO_FLUSH);
    u.packed.remove_prefix(step - u.stream.avail_in);
    filled = kChunk - u.stream.avail_out;
    if (status == Z_STREAM_END) {
      u.member_open = false;
    } else if (status != Z_OK) {
      throw Error(ErrorCode::kBadData,
                  status == Z_BUF_ERROR ? "the gzip data are cut off" : "the gzip data are damaged",
                  fmt::format("{}: after line {}", path_, line_), "copy or download the file again");
    }
  }
  u.window.resize(kept + filled);
  rest_ = u.window;
  return_ = nullptr;
  scanned_ = nullptr;
  ended_ = filled == 0;
}

/// Leaves out the mark that says how the text is encoded.
void LineReader::begin() {
  while (!ended_ && rest_.size() < 4) refill();
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  if (rest_.starts_with("\xff\xfe") || rest_.starts_with("\xfe\xff"))
    throw Error(ErrorCode::kBadData, "the text is in UTF-16; only UTF-8 and ASCII are read", path_,
                "save it as UTF-8, or run: iconv -f UTF-16 -t UTF-8 FILE");
}

/// The next \r before `limit` that neither \n nor \r\n follows: the line end of old Macs. Looked for far ahead at once,
/// so that files without any pay next to nothing.
const char* LineReader::lone_return(const char* limit) {
  const char* const stop = rest_.data() + rest_.size();
  if (return_ != nullptr && return_ >= rest_.data()) return return_ < limit ? return_ : nullptr;
  return_ = nullptr;
  const char* at = std::max(scanned_, rest_.data());
  if (at >= limit) return nullptr;
  const char* const until = std::max(limit, at + std::min(kScan, stop - at));
  while (at < until) {
    const auto* const found = static_cast<const char*>(std::memchr(at, '\r', static_cast<std::size_t>(until - at)));
    at = found == nullptr ? until : found;
    if (found == nullptr) break;
    if (stop - at < 3 && !ended_) break;  // what follows is still packed
    if (stop - at >= 2 && at[1] == '\n') {
      at += 2;
    } else if (stop - at >= 3 && at[1] == '\r' && at[2] == '\n') {
      at += 3;
    } else if (stop - at < 2) {
      at = stop;  // the last byte of the file
    } else {
      return_ = at;
      break;
    }
  }
  scanned_ = at;
  return return_ != nullptr && return_ < limit ? return_ : nullptr;
}

bool LineReader::next(std::string_view* line) {
  if (line_ == 0) begin();
  for (;;) {
    const char* const begin = rest_.data();
    const auto* end = static_cast<const char*>(rest_.empty() ? nullptr : std::memchr(begin, '\n', rest_.size()));
    const char* const alone = lone_return(end != nullptr ? end : begin + rest_.size());
    if (alone != nullptr) end = alone;
    if (end == nullptr && !ended_) {
      refill();
      continue;
    }
    if (rest_.empty()) return false;
    const std::size_t size = end == nullptr ? rest_.size() : static_cast<std::size_t>(end - begin);
    *line = rest_.substr(0, size);
    rest_.remove_prefix(std::min(size + 1, rest_.size()));
    if (alone == nullptr) {
      for (int ends = 0; ends < 2 && line->ends_with('\r'); ++ends) line->remove_suffix(1);
    }
    ++line_;
    return true;
  }
}

std::string first_bytes(const std::filesystem::path& path, std::size_t size) {
  const MappedFile file(path);
  const std::string_view text = file.text();
  if (!text.starts_with("\x1f\x8b")) return std::string(text.substr(0, size));
  std::string out(size, '\0');
  z_stream stream{};
  inflateInit2(&stream, MAX_WBITS + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(text.size(), std::size_t{1} << 30));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(size);
  inflate(&stream, Z_SYNC_FLUSH);
  out.resize(size - stream.avail_out);
  inflateEnd(&stream);
  return out;
}

bool looks_binary(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u < 32 && u != '\t' && u != '\n' && u != '\r' && u != '\f' && u != '\v';
  });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\f\v";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

char find_separator(std::string_view line) {
  for (const char c : {',', ';', '\t'}) {
    if (trim(line).find(c) != std::string_view::npos) return c;
  }
  return ' ';
}

bool next_field(char separator, std::string_view* rest, std::string_view* field) {
  if (separator == ' ') {
    const std::size_t first = rest->find_first_not_of(" \t");
    if (first == std::string_view::npos) return false;
    const std::size_t end = std::min(rest->find_first_of(" \t", first), rest->size());
    *field = rest->substr(first, end - first);
    rest->remove_prefix(end);
    return true;
  }
  if (rest->data() == nullptr) return false;
  std::size_t end = 0;
  const std::size_t first = rest->find_first_not_of(" \t");
  if (first != std::string_view::npos && (*rest)[first] == '"') {
    const std::size_t quote = rest->find('"', first + 1);
    end = quote == std::string_view::npos ? rest->size() : std::min(rest->find(separator, quote), rest->size());
    *field = trim(rest->substr(first + 1, std::min(quote, rest->size()) - first - 1));
  } else {
    end = std::min(rest->find(separator), rest->size());
    *field = trim(rest->substr(0, end));
  }
  // A null view marks the end, so that a line ending in a separator has one more, empty, field.
  *rest = end == rest->size() ? std::string_view() : rest->substr(end + 1);
  return true;
}

bool parse_int(std::string_view text, std::int64_t* value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

bool parse_real(std::string_view text, double* value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) {
    const bool tiny = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
    *value = tiny ? 0.0 : std::copysign(std::numeric_limits<double>::infinity(), text[0] == '-' ? -1.0 : 1.0);
  }
  return true;
}

bool parse_whole(std::string_view text, std::int64_t* value) {
  if (parse_int(text, value)) return true;
  double real = 0;
  const bool digits = !text.empty() && text.find_first_of("0123456789") != std::string_view::npos;
  if (!digits || !parse_real(text, &real) || real != std::floor(real) || std::abs(real) >= 0x1.0p53) return false;
  *value = static_cast<std::int64_t>(real);
  return true;
}

std::string excerpt(std::string_view text) { return visible(text, 40); }

}  // namespace gneiss::data
