// Arrays in and out of a data set. In: each array of the caller becomes one as files hold them, seen where it lies if
// its elements are dense, else packed once. Out: views, kept by the data set.
#include <cstring>
#include <limits>

#include "api/impl.h"
#include "base/error.h"
#include "base/half.h"
#include "base/parallel.h"
#include "data/from_arrays.h"
#include "runs/safetensors.h"

namespace gneiss {
namespace {

struct TypeInfo {
  DType dtype;
  data::DType type;
  std::size_t bytes;
};
constexpr TypeInfo kTypes[] = {
    {DType::kBool, data::DType::kBool, 1}, {DType::kI8, data::DType::kI8, 1},   {DType::kI16, data::DType::kI16, 2},
    {DType::kI32, data::DType::kI32, 4},   {DType::kI64, data::DType::kI64, 8}, {DType::kU8, data::DType::kU8, 1},
    {DType::kU16, data::DType::kU16, 2},   {DType::kU32, data::DType::kU32, 4}, {DType::kU64, data::DType::kU64, 8},
    {DType::kF16, data::DType::kF16, 2},   {DType::kF32, data::DType::kF32, 4}, {DType::kF64, data::DType::kF64, 8}};

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

std::int64_t count_of(const Array& array, const std::string& name) {
  std::int64_t count = 1;
  for (const std::int64_t size : array.shape) {
    if (size < 0) fail(name, fmt::format("a shape has the negative size {}", size), "give the sizes of the axes");
    if (size > 0 && count > std::numeric_limits<std::int64_t>::max() / 16 / size)
      fail(name, "the shape has more elements than memory could hold", "give the sizes of the axes");
    count *= size;
  }
  if (array.data == nullptr && count > 0)
    fail(name, fmt::format("there is no memory behind {} elements", count), "give the address of the first element");
  return count;
}

/// Do the elements lie one after the other, the last axis fastest, or the first (`columns`)? Axes of one index may have
/// any stride.
bool dense(const Array& array, std::int64_t bytes, bool columns) {
  const std::size_t axes = array.shape.size();
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = columns ? i : axes - 1 - i;
    if (array.shape[axis] != 1 && array.strides_bytes[axis] != bytes) return false;
    bytes *= array.shape[axis];
  }
  return true;
}

/// The elements one after the other, row by row.
Buffer<std::byte> packed(const Array& array, std::int64_t count, std::size_t bytes) {
  Buffer<std::byte> out(static_cast<std::size_t>(count) * bytes);
  std::vector<std::int64_t> at(array.shape.size(), 0);
  const auto* from = static_cast<const std::byte*>(array.data);
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out.data() + static_cast<std::size_t>(i) * bytes, from, bytes);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      from += array.strides_bytes[axis];
      if (++at[axis] < array.shape[axis]) break;
      from -= at[axis] * array.strides_bytes[axis];
      at[axis] = 0;
    }
  }
  return out;
}

std::optional<data::GivenArray> given(const Array& array, const std::string& name) {
  if (!array.given()) return {};
  data::GivenArray result;
  result.keeper = array.keeper;
  data::NpyArray& values = result.values;
  values.where = name;
  for (const TypeInfo& info : kTypes) {
    if (info.dtype != array.dtype) continue;
    values.type = info.type;
    values.item_bytes = info.bytes;
  }
  values.shape = array.shape;
  values.count = count_of(array, name);
  const auto bytes = static_cast<std::size_t>(values.count) * values.item_bytes;
  values.data = {static_cast<const std::byte*>(array.data), bytes};
  if (array.strides_bytes.empty() || values.count == 0) return result;
  if (array.strides_bytes.size() != array.shape.size())
    fail(name, fmt::format("{} strides for {} axes", array.strides_bytes.size(), array.shape.size()),
         "give one stride for each axis, in bytes");
  const auto item = static_cast<std::int64_t>(values.item_bytes);
  if (dense(array, item, false)) return result;
  values.fortran = dense(array, item, true);
  if (values.fortran) return result;
  values.owned = packed(array, values.count, values.item_bytes);
  values.data = values.owned.span();
  result.packed = true;
  return result;
}

data::GivenRows given_rows(const CompressedRows& rows, const std::string& name) {
  return {given(rows.indptr, name + ".indptr"), given(rows.indices, name + ".indices"),
          given(rows.values, name + ".data")};
}

/// A view of elements that `keeper` holds.
template <class T>
Array lend(const std::shared_ptr<const void>& keeper, std::span<const T> values, std::vector<std::int64_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  Array array = array_of(values.data(), std::move(shape));
  array.keeper = keeper;
  return array;
}

Array lend_dense(const std::shared_ptr<const data::Dataset>& dataset) {
  const data::Features& features = dataset->features;
  if (features.dtype == HalfType::kNone) return lend<float>(dataset, features.dense, {features.rows, features.cols});
  std::vector<float> wide(features.halves.size());
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = from_half(features.dtype, features.halves[i]);
  return array_from(std::move(wide), {features.rows, features.cols});
}

}  // namespace

DatasetArrays Dataset::arrays() const {
  const std::shared_ptr<const data::Dataset>& dataset = impl_->dataset;
  DatasetArrays arrays;
  arrays.name = dataset->name;
  arrays.num_nodes = dataset->num_nodes();
  const graph::Graph& graph = dataset->graph;
  arrays.csc.indptr = lend(dataset, graph.offsets());
  arrays.csc.indices = lend(dataset, graph.sources());
  if (graph.weighted()) arrays.csc.values = lend(dataset, graph.weights());
  const data::Features& features = dataset->features;
  if (features.sparse) {
    arrays.sparse_x = {lend<EdgeId>(dataset, features.offsets), lend<NodeId>(dataset, features.indices),
                       lend<float>(dataset, features.values)};
    arrays.sparse_x_columns = features.cols;
  } else if (!features.empty()) {
    arrays.x = lend_dense(dataset);
  }
  const data::Labels& labels = dataset->labels;
  if (labels.kind == data::LabelKind::kSingle) {
    arrays.y = lend<std::int32_t>(dataset, labels.classes);
  } else if (labels.kind != data::LabelKind::kNone) {
    arrays.y = lend<float>(dataset, labels.targets, {arrays.num_nodes, labels.num_classes});
    arrays.label_kind = labels.kind == data::LabelKind::kMulti ? LabelKind::kMulti : LabelKind::kRegression;
  }
  arrays.class_names = dataset->class_names;
  arrays.train_mask = lend<NodeId>(dataset, dataset->split.train);
  arrays.val_mask = lend<NodeId>(dataset, dataset->split.val);
  arrays.test_mask = lend<NodeId>(dataset, dataset->split.test);
  return arrays;
}

Dataset Dataset::from_arrays(const DatasetArrays& arrays) {
  data::GivenArrays parts;
  parts.name = arrays.name;
  parts.num_nodes = arrays.num_nodes;
  parts.edge_index = given(arrays.edge_index, "edge_index");
  parts.edge_weight = given(arrays.edge_weight, "edge_weight");
  parts.out_edges = given_rows(arrays.csr, "csr");
  parts.in_edges = given_rows(arrays.csc, "csc");
  parts.features = given(arrays.x, "x");
  parts.sparse_features = given_rows(arrays.sparse_x, "x");
  parts.feature_columns = arrays.sparse_x_columns;
  parts.labels = given(arrays.y, "y");
  parts.label_kind = std::string(choice_name(arrays.label_kind));
  parts.train = given(arrays.train_mask, "train_mask");
  parts.val = given(arrays.val_mask, "val_mask");
  parts.test = given(arrays.test_mask, "test_mask");
  parts.class_names = arrays.class_names;
  auto impl = std::make_unique<Dataset::Impl>();
  parts.threads = available_threads();
  impl->dataset = std::make_shared<const data::Dataset>(data::from_arrays(std::move(parts)));
  impl->of_arrays = true;
  return Dataset(std::move(impl));
}

std::vector<NamedArray> named_arrays(const std::vector<runs::Tensor>& tensors, const std::string& where) {
  std::vector<NamedArray> arrays;
  for (const runs::Tensor& tensor : tensors) {
    NamedArray array{tensor.name, {}};
    if (tensor.dtype == "I64") {
      auto kept = std::make_shared<const std::string>(tensor.data);
      array.values = {kept->data(), DType::kI64, tensor.shape, {}, kept};
    } else {
      array.values = array_from(runs::to_f32(tensor, where));
      array.values.shape = tensor.shape;
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

std::vector<runs::Tensor> tensors_of(const std::vector<NamedArray>& arrays) {
  std::vector<runs::Tensor> tensors;
  for (const auto& [name, array] : arrays) {
    const bool f64 = array.dtype == DType::kF64;
    const bool i64 = array.dtype == DType::kI64;
    if (array.dtype != DType::kF32 && !f64 && !i64)
      fail(name, "the array is of no type that weights have", "give float32 or float64");
    const std::size_t bytes = f64 || i64 ? 8 : 4;
    const std::int64_t count = count_of(array, name);
    runs::Tensor tensor{name, i64 ? "I64" : f64 ? "F64" : "F32", array.shape, {}};
    if (array.strides_bytes.empty()) {
      tensor.data.assign(static_cast<const char*>(array.data), static_cast<std::size_t>(count) * bytes);
    } else {
      const Buffer<std::byte> values = packed(array, count, bytes);
      tensor.data.assign(reinterpret_cast<const char*>(values.data()), values.size());
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace gneiss
