// One row a node: text is built line by line, .npy from the matrix as it lies.
#include "jobs/write_output.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"

namespace gneiss::jobs {
namespace {

constexpr std::size_t kNpyAlignment = 64;

/// A .npy in memory, version 1.0.
std::string npy_bytes(const std::string& descr, const std::string& shape, const void* data, std::size_t bytes) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  const std::size_t prefix = 10;
  header.resize((prefix + header.size() + 1 + kNpyAlignment - 1) / kNpyAlignment * kNpyAlignment - prefix - 1, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(static_cast<const char*>(data), bytes);
  return text;
}

std::string npy_matrix(MatrixView<const float> matrix) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(matrix.size()));
  for (std::int64_t r = 0; r < matrix.rows; ++r)
    values.insert(values.end(), matrix.row(r), matrix.row(r) + matrix.cols);
  return npy_bytes("<f4", fmt::format("({}, {})", matrix.rows, matrix.cols), values.data(),
                   values.size() * sizeof(float));
}

/// A field of a csv: quoted where it must be (RFC 4180); in a tsv tabs and line breaks become spaces.
std::string field(std::string text, char separator) {
  if (separator == '\t') {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return text;
  }
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

struct NodeIds {
  const data::Dataset& dataset;

  bool named() const { return !dataset.node_names.empty(); }
  std::string text(std::int64_t v) const {
    const auto node = static_cast<std::size_t>(v);
    if (named()) return dataset.node_names[node];
    return std::to_string(dataset.orig_id.empty() ? v : dataset.orig_id[node]);
  }
  Json json(std::int64_t v) const {
    if (named()) return text(v);
    return dataset.orig_id.empty() ? v : dataset.orig_id[static_cast<std::size_t>(v)];
  }
};

std::string class_name(const Restored& restored, std::int32_t label) {
  const auto index = static_cast<std::size_t>(label);
  return index < restored.class_names.size() ? restored.class_names[index] : std::to_string(label);
}

std::string positive_tasks(const Restored& restored, MatrixView<const float> logits, std::int64_t row) {
  std::string text;
  for (std::int64_t task = 0; task < logits.cols; ++task) {
    if (logits.at(row, task) > 0)
      text += (text.empty() ? "" : ";") + class_name(restored, static_cast<std::int32_t>(task));
  }
  return text;
}

std::string prediction_header(const Restored& restored, const OutputOptions& options, char separator) {
  const data::LabelKind kind = restored.dataset->labels.kind;
  const std::int64_t width = restored.session->logits().cols;
  std::string header = "node";
  if (kind == data::LabelKind::kSingle) header += fmt::format("{}class", separator);
  if (kind == data::LabelKind::kSingle && !restored.class_names.empty()) header += fmt::format("{}name", separator);
  if (kind == data::LabelKind::kMulti) header += fmt::format("{}labels", separator);
  const char* stem = kind == data::LabelKind::kRegression ? "y" : "p";
  if (options.probabilities || kind == data::LabelKind::kRegression) {
    const bool named = !restored.class_names.empty();
    for (std::int64_t c = 0; c < width; ++c) {
      const std::string name = class_name(restored, static_cast<std::int32_t>(c));
      header += separator + field(fmt::format("{}{}{}", stem, named ? "_" : "", name), separator);
    }
  }
  return header + '\n';
}

std::string prediction_row(const Restored& restored, const OutputOptions& options, std::int64_t v, char separator) {
  const MatrixView<const float> logits = restored.session->logits();
  const data::LabelKind kind = restored.dataset->labels.kind;
  std::string row = field(NodeIds{*restored.dataset}.text(v), separator);
  if (kind == data::LabelKind::kSingle) {
    const std::int32_t label = epochs::predicted_class(logits, v);
    row += fmt::format("{}{}", separator, label);
    if (!restored.class_names.empty()) row += separator + field(class_name(restored, label), separator);
  } else if (kind == data::LabelKind::kMulti) {
    row += separator + field(positive_tasks(restored, logits, v), separator);
  }
  if (options.probabilities || kind == data::LabelKind::kRegression) {
    for (const double p : probabilities(restored, v)) row += fmt::format("{}{:.7g}", separator, p);
  }
  return row + '\n';
}

std::string prediction_json(const Restored& restored, const OutputOptions& options, std::int64_t v) {
  const MatrixView<const float> logits = restored.session->logits();
  const data::LabelKind kind = restored.dataset->labels.kind;
  Json row;
  row["node"] = NodeIds{*restored.dataset}.json(v);
  if (kind == data::LabelKind::kSingle) {
    const std::int32_t label = epochs::predicted_class(logits, v);
    row["class"] = label;
    if (!restored.class_names.empty()) row["name"] = class_name(restored, label);
  } else if (kind == data::LabelKind::kMulti) {
    row["labels"] = Json::list();
    for (std::int64_t task = 0; task < logits.cols; ++task) {
      if (logits.at(v, task) <= 0) continue;
      if (restored.class_names.empty()) {
        row["labels"].push_back(task);
      } else {
        row["labels"].push_back(class_name(restored, static_cast<std::int32_t>(task)));
      }
    }
  }
  if (kind == data::LabelKind::kRegression) row["values"] = probabilities(restored, v);
  if (options.probabilities && kind != data::LabelKind::kRegression) row["probabilities"] = probabilities(restored, v);
  return row.dump() + '\n';
}

std::string prediction_npy(const Restored& restored, const OutputOptions& options) {
  const MatrixView<const float> logits = restored.session->logits();
  const data::LabelKind kind = restored.dataset->labels.kind;
  if (kind == data::LabelKind::kRegression) return npy_matrix(logits);
  if (options.probabilities || kind == data::LabelKind::kMulti) {
    std::vector<float> values;
    for (std::int64_t v = 0; v < logits.rows; ++v) {
      for (const double p : probabilities(restored, v)) values.push_back(static_cast<float>(p));
    }
    return npy_matrix({values.data(), logits.rows, logits.cols});
  }
  std::vector<std::int32_t> classes;
  for (std::int64_t v = 0; v < logits.rows; ++v) classes.push_back(epochs::predicted_class(logits, v));
  return npy_bytes("<i4", fmt::format("({},)", classes.size()), classes.data(), classes.size() * sizeof(std::int32_t));
}

}  // namespace

std::string output_format(const std::string& asked, const std::filesystem::path& path) {
  const std::vector<std::string> known = {"csv", "tsv", "npy", "jsonl"};
  std::string name = asked;
  if (name.empty()) {
    name = path.extension().string();
    if (!name.empty()) name.erase(0, 1);
    if (std::find(known.begin(), known.end(), name) == known.end()) name = "csv";
  }
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw Error(ErrorCode::kUsage, fmt::format("unknown output format '{}'", name), "--as",
                unknown_name_hint(name, known));
  }
  return name;
}

std::vector<double> probabilities(const Restored& restored, std::int64_t row) {
  const MatrixView<const float> logits = restored.session->logits();
  std::vector<double> values(logits.row(row), logits.row(row) + logits.cols);
  switch (restored.dataset->labels.kind) {
    case data::LabelKind::kRegression:
      break;
    case data::LabelKind::kMulti:
      for (double& value : values) value = 1 / (1 + std::exp(-value));
      break;
    default: {
      const double largest = *std::max_element(values.begin(), values.end());
      double sum = 0;
      for (double& value : values) sum += value = std::exp(value - largest);
      for (double& value : values) value /= sum;
    }
  }
  return values;
}

std::string format_predictions(const Restored& restored, const OutputOptions& options) {
  const std::int64_t nodes = restored.session->logits().rows;
  if (options.format == "npy") return prediction_npy(restored, options);
  std::string text;
  if (options.format == "jsonl") {
    for (std::int64_t v = 0; v < nodes; ++v) text += prediction_json(restored, options, v);
    return text;
  }
  const char separator = options.format == "tsv" ? '\t' : ',';
  text = prediction_header(restored, options, separator);
  for (std::int64_t v = 0; v < nodes; ++v) text += prediction_row(restored, options, v, separator);
  return text;
}

std::string format_embedding(const Restored& restored, const OutputOptions& options) {
  const MatrixView<const float> values = restored.session->embedding();
  const NodeIds ids{*restored.dataset};
  if (options.format == "npy") return npy_matrix(values);
  std::string text;
  if (options.format == "jsonl") {
    for (std::int64_t v = 0; v < values.rows; ++v) {
      Json row;
      row["node"] = ids.json(v);
      row["embedding"] = std::vector<float>(values.row(v), values.row(v) + values.cols);
      text += row.dump() + '\n';
    }
    return text;
  }
  const char separator = options.format == "tsv" ? '\t' : ',';
  text = "node";
  for (std::int64_t c = 0; c < values.cols; ++c) text += fmt::format("{}e{}", separator, c);
  text += '\n';
  for (std::int64_t v = 0; v < values.rows; ++v) {
    text += field(ids.text(v), separator);
    for (std::int64_t c = 0; c < values.cols; ++c) text += fmt::format("{}{:.9g}", separator, values.at(v, c));
    text += '\n';
  }
  return text;
}

}  // namespace gneiss::jobs
