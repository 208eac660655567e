// The safetensors format: named tensors in one file that PyTorch, JAX and others read without running code.
//
// Layout: u64 little-endian header length; JSON {name: {dtype, shape, data_offsets: [begin, end]}, "__metadata__":
// {…}}, padded with spaces to 8 bytes; then the data, which the offsets tile without gaps. The reader checks all of it
// before it touches the data. Own code because no C++ library of it is packaged. Source:
// github.com/huggingface/safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gneiss::runs {

struct Tensor {
  std::string name;
  std::string dtype;  ///< "F32", "F64", "I64", …
  std::vector<std::int64_t> shape;
  std::string data;  ///< row-major, little-endian

  std::int64_t elements() const;
};

struct SafeTensors {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor called `name`, or null.
  const Tensor* find(std::string_view name) const;
};

Tensor f32_tensor(std::string name, std::vector<std::int64_t> shape, std::span<const float> values);
Tensor i64_scalar(std::string name, std::int64_t value);
/// Values of an F32 or F64 tensor. `where`: the file it is from, for messages. Errors: kBadData for another type.
std::vector<float> to_f32(const Tensor& tensor, const std::string& where = {});

/// The whole file as bytes; a function of its content alone.
std::string encode_safetensors(const SafeTensors& content);
/// Errors: kBadData naming `where` and the tensor: truncated, header too long or no JSON, unknown dtype, negative or
/// overflowing shape, offsets that do not fit the shape or do not tile the data, a name twice.
SafeTensors decode_safetensors(std::string_view bytes, const std::string& where);

/// Reads a file. Errors: as decode_safetensors, and kBadData when there is no such file.
SafeTensors read_safetensors(const std::filesystem::path& path);

}  // namespace gneiss::runs
