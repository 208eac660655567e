// Elements of a .npy array in the type that is wanted, each checked to fit.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "data/npy.h"

namespace gneiss::data {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::kBadData, message, where);
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// "[3, 17]" for the row-major index.
std::string index_text(const NpyArray& array, std::int64_t index) {
  std::vector<std::int64_t> at(array.shape.size());
  for (std::size_t axis = array.shape.size(); axis-- > 0;) {
    at[axis] = index % array.shape[axis];
    index /= array.shape[axis];
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

/// Calls body(i, at) for each element in row-major order, `at` being its bytes.
template <class Body>
void walk(const NpyArray& array, const Body& body) {
  if (!array.fortran || array.shape.size() < 2) {
    for (std::int64_t i = 0; i < array.count; ++i) {
      body(i, array.data.data() + static_cast<std::size_t>(i) * array.item_bytes);
    }
    return;
  }
  std::vector<std::int64_t> stride(array.shape.size(), 1);
  for (std::size_t axis = 1; axis < stride.size(); ++axis) stride[axis] = stride[axis - 1] * array.shape[axis - 1];
  std::vector<std::int64_t> at(array.shape.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < array.count; ++i) {
    body(i, array.data.data() + static_cast<std::size_t>(offset) * array.item_bytes);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      offset += stride[axis];
      if (++at[axis] < array.shape[axis]) break;
      offset -= at[axis] * stride[axis];
      at[axis] = 0;
    }
  }
}

/// Calls body(i, value) with each element in its own type.
template <class Body>
void visit(const NpyArray& array, const Body& body) {
  const auto as = [&]<class T>(std::type_identity<T>) {
    walk(array, [&](std::int64_t i, const std::byte* at) { body(i, load<T>(at)); });
  };
  switch (array.type) {
    case DType::kBool:
    case DType::kU8:
      return as(std::type_identity<std::uint8_t>{});
    case DType::kI8:
      return as(std::type_identity<std::int8_t>{});
    case DType::kI16:
      return as(std::type_identity<std::int16_t>{});
    case DType::kI32:
      return as(std::type_identity<std::int32_t>{});
    case DType::kI64:
      return as(std::type_identity<std::int64_t>{});
    case DType::kU16:
      return as(std::type_identity<std::uint16_t>{});
    case DType::kU32:
      return as(std::type_identity<std::uint32_t>{});
    case DType::kU64:
      return as(std::type_identity<std::uint64_t>{});
    case DType::kF32:
      return as(std::type_identity<float>{});
    case DType::kF64:
      return as(std::type_identity<double>{});
    case DType::kF16:
      return walk(array, [&](std::int64_t i, const std::byte* at) { body(i, half_to_float(load<std::uint16_t>(at))); });
    case DType::kBytes:
    case DType::kUnicode:
      break;
  }
  fail(array.where, "expected numbers, got text");
}

/// The value as an i64 in [low, high]; anything else is an error naming the element.
template <class T>
std::int64_t checked_integer(const NpyArray& array, std::int64_t i, T value, std::int64_t low, std::int64_t high) {
  bool fits;
  if constexpr (std::is_floating_point_v<T>) {
    fits = value >= -0x1.0p63 && value < 0x1.0p63 && value == std::floor(value);
  } else {
    fits = std::in_range<std::int64_t>(value);
  }
  if (!fits)
    fail(array.where, fmt::format("element {} is {}, not a whole number of 64 bits", index_text(array, i), value));
  const auto whole = static_cast<std::int64_t>(value);
  if (whole < low || whole > high) {
    fail(array.where, fmt::format("element {} is {}, outside {}..{}", index_text(array, i), whole, low, high));
  }
  return whole;
}

/// Node numbers of a row-major array, converted by all threads. False if one is outside [0, bound), which the caller
/// then looks for.
bool narrow_ids(const NpyArray& array, std::int64_t bound, int threads, Buffer<NodeId>* out) {
  return all_chunks(threads, array.count, std::int64_t{1} << 18, [&](std::int64_t begin, std::int64_t end) {
    bool all = true;  // of a chunk, without a branch for each
    for (std::int64_t i = begin; i < end; ++i) {
      const auto id = load<std::int64_t>(array.data.data() + static_cast<std::size_t>(i) * sizeof(std::int64_t));
      all &= id >= 0 && id < bound;
      (*out)[static_cast<std::size_t>(i)] = static_cast<NodeId>(id);
    }
    return all;
  });
}

/// Elements where they lie in a mapped file, if they are stored as T in row-major order: a large array then is not
/// copied. Nothing if they are not, or lie so that kernels could not read them well.
template <class T>
Buffer<T> in_file(const NpyArray& array, DType stored_as) {
  constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
  constexpr std::uintptr_t kAlignment = 64;
  const auto* data = array.data.data();
  const bool fits = array.file != nullptr && array.type == stored_as && (!array.fortran || array.shape.size() < 2) &&
                    array.data.size() >= kLeastBytes && reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0;
  if (!fits) return {};
  return Buffer<T>::within(array.file, reinterpret_cast<T*>(const_cast<std::byte*>(data)),
                           static_cast<std::size_t>(array.count));
}

void append_utf8(char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | c >> 6));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | c >> 12));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | c >> 18));
    out->push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

}  // namespace

Buffer<float> to_floats(const NpyArray& array) {
  if (Buffer<float> mapped = in_file<float>(array, DType::kF32); !mapped.empty()) return mapped;
  Buffer<float> out(static_cast<std::size_t>(array.count));
  visit(array, [&](std::int64_t i, auto value) {
    const auto narrow = static_cast<float>(value);
    if constexpr (std::is_same_v<decltype(value), double>) {
      if (std::isinf(narrow) && !std::isinf(value)) {
        fail(array.where,
             fmt::format("element {} is {}, beyond the range of 32-bit floats", index_text(array, i), value));
      }
    }
    out[static_cast<std::size_t>(i)] = narrow;
  });
  return out;
}

Buffer<std::uint16_t> to_halves(const NpyArray& array) {
  GNEISS_ASSERT(array.item_bytes == sizeof(std::uint16_t) && !array.fortran, "{}: no row-major array of 16 bits",
                array.where);
  if (Buffer<std::uint16_t> mapped = in_file<std::uint16_t>(array, array.type); !mapped.empty()) return mapped;
  Buffer<std::uint16_t> out(static_cast<std::size_t>(array.count));
  if (array.count > 0) std::memcpy(out.data(), array.data.data(), out.size_bytes());
  return out;
}

std::vector<double> to_doubles(const NpyArray& array) {
  std::vector<double> out(static_cast<std::size_t>(array.count));
  visit(array, [&](std::int64_t i, auto value) { out[static_cast<std::size_t>(i)] = static_cast<double>(value); });
  return out;
}

Buffer<std::int64_t> to_int64(const NpyArray& array) {
  if (Buffer<std::int64_t> mapped = in_file<std::int64_t>(array, DType::kI64); !mapped.empty()) return mapped;
  Buffer<std::int64_t> out(static_cast<std::size_t>(array.count));
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
  visit(array, [&](std::int64_t i, auto value) {
    out[static_cast<std::size_t>(i)] = checked_integer(array, i, value, kLow, kHigh);
  });
  return out;
}

Buffer<NodeId> ids_in_file(const NpyArray& array) { return in_file<NodeId>(array, DType::kI32); }

Buffer<NodeId> to_ids(const NpyArray& array, std::int64_t bound, int threads) {
  Buffer<NodeId> mapped = ids_in_file(array);
  if (!mapped.empty()) {
    const bool inside =
        all_chunks(threads, static_cast<std::int64_t>(mapped.size()), std::int64_t{1} << 20,
                   [&](std::int64_t begin, std::int64_t end) {
                     bool all = true;  // of a chunk, without a branch for each
                     for (std::int64_t i = begin; i < end; ++i)
                       all &= mapped[static_cast<std::size_t>(i)] >= 0 && mapped[static_cast<std::size_t>(i)] < bound;
                     return all;
                   });
    // Which is not? The first is named.
    for (std::size_t i = 0; !inside && i < mapped.size(); ++i)
      checked_integer(array, static_cast<std::int64_t>(i), mapped[i], 0, bound - 1);
    return mapped;
  }
  Buffer<NodeId> out(static_cast<std::size_t>(array.count));
  const bool row_major = !array.fortran || array.shape.size() < 2;
  if (array.type == DType::kI64 && row_major && narrow_ids(array, bound, threads, &out)) return out;
  visit(array, [&](std::int64_t i, auto value) {
    out[static_cast<std::size_t>(i)] = static_cast<NodeId>(checked_integer(array, i, value, 0, bound - 1));
  });
  return out;
}

std::vector<bool> to_bools(const NpyArray& array) {
  std::vector<bool> out(static_cast<std::size_t>(array.count));
  visit(array, [&](std::int64_t i, auto value) {
    out[static_cast<std::size_t>(i)] = checked_integer(array, i, value, 0, 1) != 0;
  });
  return out;
}

std::vector<std::string> to_strings(const NpyArray& array) {
  if (!array.is_text()) fail(array.where, "expected text, got numbers");
  std::vector<std::string> out(static_cast<std::size_t>(array.count));
  const std::size_t width = array.type == DType::kUnicode ? 4 : 1;
  walk(array, [&](std::int64_t i, const std::byte* at) {
    std::string& text = out[static_cast<std::size_t>(i)];
    for (std::size_t k = 0; k < array.item_bytes; k += width) {
      const char32_t c = width == 4 ? load<std::uint32_t>(at + k) : load<std::uint8_t>(at + k);
      if (c > 0x10FFFF) fail(array.where, fmt::format("element {} is not text", index_text(array, i)));
      append_utf8(c, &text);
    }
    while (!text.empty() && text.back() == '\0') text.pop_back();
  });
  return out;
}

}  // namespace gneiss::data
