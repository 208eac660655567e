// A file is the header's length in 8 bytes, the header as JSON, and the bytes of the tensors. Reading checks that
// ranges fit their shapes and cover the data without overlap or gap, before anything is copied.
#include "runs/safetensors.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace gneiss::runs {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr std::size_t kMaxRank = 16;

/// Bytes of one element; 0 for an unknown type.
std::uint64_t dtype_bytes(const std::string& dtype) {
  static const std::map<std::string, std::uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::kBadData, message, where, "the file is damaged or is no safetensors file; write it again");
}

std::uint64_t read_u64(std::string_view bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return value;
}

Json parse_header(std::string_view text, const std::string& where) {
  Json header;
  try {
    header = Json::parse(text, where);
  } catch (const Error& error) {
    fail(where, fmt::format("the header is not a JSON object: {}", error.message()));
  }
  if (!header.is_object()) fail(where, "the header is not a JSON object");
  return header;
}

std::vector<std::int64_t> read_shape(const Json& entry, const std::string& at) {
  const Json* shape = entry.find("shape");
  if (shape == nullptr || !shape->is_list() || shape->elements().size() > kMaxRank) {
    fail(at, "shape is not a short list");
  }
  std::vector<std::int64_t> sizes;
  for (const Json& size : shape->elements()) {
    if (!size.is_size() || size.size() > std::uint64_t{1} << 62) {
      fail(at, fmt::format("shape holds {}, which is no size", size.dump().substr(0, 40)));
    }
    sizes.push_back(size.integer());
  }
  return sizes;
}

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

Range read_range(const Json& entry, std::uint64_t data_bytes, const std::string& at) {
  const Json* offsets = entry.find("data_offsets");
  if (offsets == nullptr || !offsets->is_list() || offsets->elements().size() != 2 ||
      !offsets->elements()[0].is_size() || !offsets->elements()[1].is_size()) {
    fail(at, "data_offsets is not a pair of numbers");
  }
  const Range range{offsets->elements()[0].size(), offsets->elements()[1].size()};
  if (range.begin > range.end || range.end > data_bytes) {
    fail(at, fmt::format("data_offsets {}..{} lie outside the {} bytes of data", range.begin, range.end, data_bytes));
  }
  return range;
}

void check_size(const Tensor& tensor, std::uint64_t element_bytes, const Range& range, const std::string& at) {
  std::uint64_t bytes = element_bytes;
  for (const std::int64_t size : tensor.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) fail(at, "the shape overflows");
  }
  if (bytes != range.end - range.begin) {
    fail(at, fmt::format("the shape needs {} bytes, data_offsets hold {}", bytes, range.end - range.begin));
  }
}

void check_tiling(std::vector<Range> ranges, std::uint64_t data_bytes, const std::string& where) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t next = 0;
  for (const Range& range : ranges) {
    if (range.begin != next) fail(where, fmt::format("tensors overlap or leave a gap at byte {} of the data", next));
    next = range.end;
  }
  if (next != data_bytes) fail(where, fmt::format("{} bytes after the last tensor belong to none", data_bytes - next));
}

void read_metadata(const Json& entries, const std::string& where, SafeTensors* content) {
  if (!entries.is_object()) fail(where, "__metadata__ is not a JSON object");
  for (const auto& [key, value] : entries.members()) {
    if (!value.is_text()) fail(where, fmt::format("__metadata__ '{}' is not text", key));
    content->metadata[key] = value.text();
  }
}

}  // namespace

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

const Tensor* SafeTensors::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Tensor f32_tensor(std::string name, std::vector<std::int64_t> shape, std::span<const float> values) {
  return {std::move(name), "F32", std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes())};
}

Tensor i64_scalar(std::string name, std::int64_t value) {
  return {std::move(name), "I64", {}, std::string(reinterpret_cast<const char*>(&value), sizeof value)};
}

std::vector<float> to_f32(const Tensor& tensor, const std::string& where) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  if (tensor.dtype == "F32") {
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  } else if (tensor.dtype == "F64") {
    std::vector<double> wide(values.size());
    std::memcpy(wide.data(), tensor.data.data(), tensor.data.size());
    std::copy(wide.begin(), wide.end(), values.begin());
  } else {
    throw Error(ErrorCode::kBadData,
                fmt::format("tensor '{}' has type {}, expected F32 or F64", tensor.name, tensor.dtype), where,
                "write the weights as F32");
  }
  return values;
}

std::string encode_safetensors(const SafeTensors& content) {
  Json header = Json::object();
  if (!content.metadata.empty()) header["__metadata__"] = content.metadata;
  std::uint64_t offset = 0;
  for (const Tensor& tensor : content.tensors) {
    header[tensor.name] = Json::object({{"dtype", tensor.dtype},
                                        {"shape", tensor.shape},
                                        {"data_offsets", Json::list({offset, offset + tensor.data.size()})}});
    offset += tensor.data.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  bytes.reserve(8 + text.size() + offset);
  const std::uint64_t length = text.size();
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i)));
  bytes += text;
  for (const Tensor& tensor : content.tensors) bytes += tensor.data;
  return bytes;
}

SafeTensors decode_safetensors(std::string_view bytes, const std::string& where) {
  if (bytes.size() < 8) fail(where, fmt::format("{} bytes are too few for a header", bytes.size()));
  const std::uint64_t length = read_u64(bytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - 8) {
    fail(where, fmt::format("the header says it has {} bytes, the file has {}", length, bytes.size() - 8));
  }
  const Json header = parse_header(bytes.substr(8, length), where);
  const std::string_view data = bytes.substr(8 + length);
  SafeTensors content;
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.members()) {
    if (name == "__metadata__") {
      read_metadata(entry, where, &content);
      continue;
    }
    const std::string at = fmt::format("{}: tensor '{}'", where, name);
    if (!entry.is_object()) fail(at, "its entry is not a JSON object");
    Tensor tensor;
    tensor.name = name;
    if (const Json* dtype = entry.find("dtype"); dtype != nullptr && dtype->is_text()) tensor.dtype = dtype->text();
    const std::uint64_t element_bytes = dtype_bytes(tensor.dtype);
    if (element_bytes == 0) fail(at, fmt::format("unknown dtype '{}'", tensor.dtype));
    tensor.shape = read_shape(entry, at);
    const Range range = read_range(entry, data.size(), at);
    check_size(tensor, element_bytes, range, at);
    ranges.push_back(range);
    content.tensors.push_back(std::move(tensor));
  }
  check_tiling(ranges, data.size(), where);  // before any copy: overlapping ranges could ask for more than the file
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    content.tensors[i].data = std::string(data.substr(ranges[i].begin, ranges[i].end - ranges[i].begin));
  }
  return content;
}

SafeTensors read_safetensors(const std::filesystem::path& path) {
  return decode_safetensors(read_file(path), path.string());
}

}  // namespace gneiss::runs
