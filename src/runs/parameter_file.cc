// Tensors are collected in memory, transposed where the file wants it, and written at once.
#include "runs/parameter_file.h"

#include <string_view>
#include <utility>

#include "base/file.h"
#include "runs/safetensors.h"
#include "runtime/initialize.h"

namespace gneiss::runs {

void add_parameter(std::vector<Tensor>& tensors, const std::string& name, std::vector<std::int64_t> shape,
                   std::span<const float> values, std::int64_t batches) {
  tensors.push_back(f32_tensor(name, std::move(shape), values));
  constexpr std::string_view kVariance = "running_var";
  if (!name.ends_with(kVariance)) return;
  tensors.push_back(i64_scalar(name.substr(0, name.size() - kVariance.size()) + "num_batches_tracked", batches));
}

ParameterFile::ParameterFile(std::int64_t batches) : batches_(batches) {}
ParameterFile::~ParameterFile() = default;

void ParameterFile::add(const char* name, std::initializer_list<std::int64_t> shape, MatrixView<const float> values,
                        bool transposed) {
  add_parameter(tensors_, name, shape, runtime::stored_values<float>(values, transposed), batches_);
}

void ParameterFile::write(const std::string& path) const {
  write_file(path, encode_safetensors({.tensors = tensors_, .metadata = {{"format", "pt"}}}));
}

}  // namespace gneiss::runs
