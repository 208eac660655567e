// The file of a model's parameters: safetensors under PyTorch Geometric's keys and in its shapes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/matrix_view.h"

namespace gneiss::runs {

struct Tensor;

/// Adds a parameter's tensor, and beside a batch norm's running variance the count of batches that PyTorch keeps there.
/// values: in the orientation in which they are stored.
void add_parameter(std::vector<Tensor>& tensors, const std::string& name, std::vector<std::int64_t> shape,
                   std::span<const float> values, std::int64_t batches);

/// What a program written by `gneiss synth` saves.
class ParameterFile {
 public:
  /// batches: how many a batch norm has seen.
  explicit ParameterFile(std::int64_t batches);
  ~ParameterFile();
  ParameterFile(const ParameterFile&) = delete;
  ParameterFile& operator=(const ParameterFile&) = delete;

  /// shape: as stored; transposed: stored as the transpose of `values`.
  void add(const char* name, std::initializer_list<std::int64_t> shape, MatrixView<const float> values,
           bool transposed);
  /// Writes the file, whole or not at all. Errors: kDisk.
  void write(const std::string& path) const;

 private:
  std::int64_t batches_;
  std::vector<Tensor> tensors_;
};

}  // namespace gneiss::runs
