#include "golden_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace gneiss::golden {
namespace {

template <class T>
Buffer<T> buffer_of(const std::vector<double>& values) {
  Buffer<T> buffer(values.size());
  std::transform(values.begin(), values.end(), buffer.data(), [](double v) { return static_cast<T>(v); });
  return buffer;
}

double read_element(const data::NpyArray& array, std::int64_t index) {
  const auto at = [&](auto type) {
    decltype(type) value;
    std::memcpy(&value, array.data.data() + static_cast<std::size_t>(index) * sizeof(value), sizeof(value));
    return static_cast<double>(value);
  };
  switch (array.type) {
    case data::DType::kF64:
      return at(double{});
    case data::DType::kF32:
      return at(float{});
    case data::DType::kI64:
      return at(std::int64_t{});
    case data::DType::kI32:
      return at(std::int32_t{});
    case data::DType::kI16:
      return at(std::int16_t{});
    case data::DType::kU8:
    case data::DType::kBool:
      return at(std::uint8_t{});
    default:
      throw std::runtime_error("golden member of an unexpected type: " + array.where);
  }
}

language::ArgValue argument(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return value.get<std::string>();
}

data::Features load_features(const data::NpzFile& file, std::int64_t rows, bool dense) {
  data::Features features;
  features.rows = rows;
  if (file.has("x")) {
    features.dense = buffer_of<float>(values(file, "x"));
    features.cols = static_cast<std::int64_t>(features.dense.size()) / rows;
    return features;
  }
  features.cols = static_cast<std::int64_t>(values(file, "x_cols").at(0));
  features.sparse = !dense;
  Buffer<EdgeId> offsets = buffer_of<EdgeId>(values(file, "x_indptr"));
  Buffer<NodeId> indices = buffer_of<NodeId>(values(file, "x_indices"));
  if (dense) {
    features.dense = Buffer<float>::zeros(static_cast<std::size_t>(rows * features.cols));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (EdgeId e = offsets.data()[row]; e < offsets.data()[row + 1]; ++e) {
        features.dense.data()[row * features.cols + indices.data()[e]] = 1.0F;
      }
    }
    return features;
  }
  features.values = buffer_of<float>(std::vector<double>(indices.size(), 1.0));
  features.offsets = std::move(offsets);
  features.indices = std::move(indices);
  return features;
}

}  // namespace

std::string golden_path(const std::string& name) { return GNEISS_SOURCE_DIR "/tests/golden/data/" + name; }

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path(""))) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".npz" && !stem.starts_with("graph_")) names.push_back(stem);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<double> values(const data::NpzFile& file, const std::string& member) {
  const data::NpyArray array = file.array(member);
  if (array.fortran && array.shape.size() > 1)
    throw std::runtime_error("golden member in Fortran order: " + array.where);
  std::vector<double> out(static_cast<std::size_t>(array.count));
  for (std::int64_t i = 0; i < array.count; ++i) out[static_cast<std::size_t>(i)] = read_element(array, i);
  return out;
}

ModelGolden::ModelGolden(const std::string& name) : file(golden_path(name + ".npz")) {
  const data::NpyArray bytes = file.array("spec");
  const auto* text = reinterpret_cast<const char*>(bytes.data.data());
  const nlohmann::json spec = nlohmann::json::parse(text, text + bytes.count);
  model = spec.at("model");
  graph = spec.at("graph");
  weighted = spec.at("weighted");
  lr = spec.at("optimizer").at("lr");
  weight_decay = spec.at("optimizer").at("weight_decay");
  for (const auto& [key, value] : spec.at("args").items()) args.emplace_back(key, argument(value));
}

std::vector<std::string> ModelGolden::keys(const std::string& prefix) const {
  std::vector<std::string> out;
  for (const std::string& name : file.names()) {
    if (name.starts_with(prefix + ".")) out.push_back(name.substr(prefix.size() + 1));
  }
  std::sort(out.begin(), out.end());
  return out;
}

data::Dataset load_graph(const std::string& name, bool weighted, bool dense) {
  const data::NpzFile file(golden_path("graph_" + name + ".npz"));
  data::Dataset dataset;
  dataset.name = name;
  dataset.format = "golden";
  const std::vector<double> labels = values(file, "labels");
  const auto n = static_cast<std::int64_t>(labels.size());
  graph::EdgeList edges{buffer_of<NodeId>(values(file, "edge_src")), buffer_of<NodeId>(values(file, "edge_dst")), {}};
  if (weighted && file.has("edge_weight")) edges.weight = buffer_of<float>(values(file, "edge_weight"));
  dataset.graph = graph::build_graph(edges, n);
  dataset.features = load_features(file, n, dense);
  dataset.labels.kind = data::LabelKind::kSingle;
  dataset.labels.num_classes = static_cast<std::int64_t>(values(file, "num_classes").at(0));
  dataset.labels.classes = buffer_of<std::int32_t>(labels);
  const std::vector<double> train = values(file, "train_mask");
  for (std::int64_t v = 0; v < n; ++v) {
    auto& part = train[static_cast<std::size_t>(v)] != 0 ? dataset.split.train : dataset.split.val;
    part.push_back(static_cast<NodeId>(v));
  }
  return dataset;
}

}  // namespace gneiss::golden
