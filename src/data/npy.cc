// The header is a Python literal, parsed by hand; the data are attached as they lie in memory, not copied.
#include "data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/sweep.h"
#include "data/checksum.h"
#include "data/npz_write.h"

namespace gneiss::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = std::size_t{1} << 16;
constexpr std::size_t kMaxDims = 32;
constexpr std::size_t kPage = 4096;

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// Reads the header's Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  void parse(NpyArray* array) {
    std::optional<std::string> descr;
    std::optional<bool> fortran;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = descr_string();
      } else if (key == "fortran_order" && !fortran) {
        fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        fail(where_, fmt::format(".npy header: unexpected or repeated key '{}'", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) fail(where_, ".npy header: something follows the dict");
    if (!descr || !fortran || !shape) fail(where_, ".npy header: needs 'descr', 'fortran_order' and 'shape'");
    parse_descr(*descr, array);
    array->fortran = *fortran;
    array->shape = std::move(*shape);
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(where_, fmt::format(".npy header: expected '{}' at byte {}", c, at_));
  }
  std::string string() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail(where_, fmt::format(".npy header: expected a string at byte {}", at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(where_, ".npy header: a string does not end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::string descr_string() {
    skip();
    if (at_ < text_.size() && text_[at_] == '[') {
      fail(where_, "structured arrays (records with named fields) are not read", "save each field as its own array");
    }
    return string();
  }
  bool boolean() {
    skip();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail(where_, ".npy header: fortran_order must be True or False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      skip();
      std::int64_t value = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
      if (error != std::errc{}) fail(where_, fmt::format(".npy header: bad number in shape at byte {}", at_));
      if (value < 0) fail(where_, fmt::format(".npy header: shape has the negative size {}", value));
      at_ += static_cast<std::size_t>(end - begin);
      values.push_back(value);
      if (values.size() > kMaxDims) fail(where_, fmt::format(".npy header: more than {} dimensions", kMaxDims));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

}  // namespace

void parse_descr(const std::string& descr, NpyArray* array) {
  const std::string& where = array->where;
  if (descr.size() < 2) fail(where, fmt::format("unknown element type '{}'", descr));
  const char order = descr[0];
  const char kind = descr[1];
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), size);
  const bool sized = error == std::errc{} && end == descr.data() + descr.size();
  if (kind == 'O') {
    fail(where, "the array holds Python objects (a pickle), which are not read",
         "save it again as plain numbers, e.g. np.save(f, np.asarray(x, dtype=np.float32))");
  }
  if (order == '>' && size != 1) {
    fail(where, fmt::format("big-endian data ('{}') are not read", descr),
         "save it again with x.astype('<f4') or '<i8'");
  }
  if (!sized || (order != '<' && order != '|' && order != '=' && order != '>')) {
    fail(where, fmt::format("unknown element type '{}'", descr));
  }
  struct Known {
    char kind;
    std::size_t size;
    DType type;
  };
  static constexpr Known kKnown[] = {{'b', 1, DType::kBool}, {'i', 1, DType::kI8},  {'i', 2, DType::kI16},
                                     {'i', 4, DType::kI32},  {'i', 8, DType::kI64}, {'u', 1, DType::kU8},
                                     {'u', 2, DType::kU16},  {'u', 4, DType::kU32}, {'u', 8, DType::kU64},
                                     {'f', 2, DType::kF16},  {'f', 4, DType::kF32}, {'f', 8, DType::kF64}};
  array->item_bytes = size;
  for (const Known& known : kKnown) {
    if (known.kind == kind && known.size == size) {
      array->type = known.type;
      return;
    }
  }
  if (size > (std::size_t{1} << 20) || (kind != 'S' && kind != 'U')) {
    fail(where, fmt::format("element type '{}' is not read", descr), "known: b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 S U");
  }
  array->type = kind == 'S' ? DType::kBytes : DType::kUnicode;
  array->item_bytes = kind == 'S' ? size : 4 * size;
}

void attach_data(std::span<const std::byte> data, NpyArray* array) {
  bool empty = array->item_bytes == 0;
  for (const std::int64_t size : array->shape) empty = empty || size == 0;
  std::int64_t count = 1;
  std::int64_t bytes = static_cast<std::int64_t>(array->item_bytes);
  for (const std::int64_t size : array->shape) {
    if (__builtin_mul_overflow(count, size, &count) || (!empty && __builtin_mul_overflow(bytes, size, &bytes))) {
      fail(array->where, fmt::format("shape {} overflows", shape_text(*array)));
    }
  }
  const std::size_t needed = empty ? 0 : static_cast<std::size_t>(bytes);
  if (needed > data.size()) {
    fail(array->where, fmt::format("shape {} needs {} bytes, {} are there", shape_text(*array), needed, data.size()),
         "the file is truncated or its header is wrong");
  }
  if (array->item_bytes == 0 && count > static_cast<std::int64_t>(data.size()) + (1 << 20)) {
    fail(array->where, fmt::format("shape {} of empty strings is larger than the file", shape_text(*array)));
  }
  array->count = count;
  array->data = data.first(needed);
}

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& where) {
  NpyArray array;
  array.where = where;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 10 || text.substr(0, kMagic.size()) != kMagic)
    fail(where, "not a .npy array: it does not begin with \\x93NUMPY");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) fail(where, fmt::format(".npy version {} is not known (1 to 3 are)", version));
  const std::size_t preamble = version == 1 ? 10 : 12;
  if (text.size() < preamble) fail(where, ".npy header is cut off");
  const std::size_t length =
      version == 1 ? load<std::uint16_t>(bytes.data() + 8) : load<std::uint32_t>(bytes.data() + 8);
  if (length > kMaxHeader || length > text.size() - preamble) {
    fail(where, fmt::format(".npy header claims {} bytes, {} are there (at most {} are read)", length,
                            text.size() - preamble, kMaxHeader));
  }
  HeaderParser(text.substr(preamble, length), where).parse(&array);
  attach_data(bytes.subspan(preamble + length), &array);
  return array;
}

NpyArray load_npy(const std::filesystem::path& path) {
  auto file = std::make_shared<const MappedFile>(path);
  NpyArray array = parse_npy(file->bytes(), path.string());
  array.file = std::move(file);
  return array;
}

std::string shape_text(const NpyArray& array) {
  return fmt::format("({}{})", fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
}

void expect_dims(const NpyArray& array, std::size_t dims, const std::string& meaning) {
  if (array.shape.size() != dims) {
    fail(array.where, fmt::format("expected {} ({} dimensions), got shape {}", meaning, dims, shape_text(array)));
  }
}

std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape, std::size_t alignment) {
  NpyArray described;
  described.shape = shape;
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape_text(described));
  constexpr std::size_t kBefore = 10;  // magic, version and the length of the dict
  const std::size_t whole = (kBefore + dict.size() + 1 + alignment - 1) / alignment * alignment;
  dict.resize(whole - kBefore - 1, ' ');
  dict.push_back('\n');
  std::string header(kMagic);
  header += std::string("\x01\x00", 2);
  header.push_back(static_cast<char>(dict.size() & 0xFF));
  header.push_back(static_cast<char>(dict.size() >> 8));
  return header + dict;
}

NpyStream::NpyStream(const std::filesystem::path& path, const std::string& descr,
                     const std::vector<std::int64_t>& shape, int threads)
    : file_(path), threads_(threads) {
  const std::string header = npy_header(descr, shape, kPage);
  file_.write(header);
  crc_ = checksum(std::as_bytes(std::span(header)));
}

void NpyStream::append(std::span<const std::byte> piece) {
  file_.write(piece.data(), piece.size());
  crc_ = checksum(piece, crc_, threads_);
}

std::uint32_t NpyStream::finish() {
  file_.commit();
  return crc_;
}

std::uint32_t write_npy(const std::filesystem::path& path, const std::string& descr,
                        const std::vector<std::int64_t>& shape, std::span<const std::byte> data, int threads) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  NpyStream file(path, descr, shape, threads);
  Sweep<std::byte> walk(data);
  for (std::size_t begin = 0; begin < data.size(); begin += kPiece) {
    const std::size_t end = std::min(begin + kPiece, data.size());
    file.append(walk.at(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)));
  }
  return file.finish();
}

}  // namespace gneiss::data
