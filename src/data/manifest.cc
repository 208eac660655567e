// The manifest is JSON. Reading checks every member's type and range and refuses unknown versions.
#include "data/manifest.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/names.h"
#include "data/info.h"

namespace gneiss::data {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;
constexpr int kMaxDepth = 8;
constexpr int kVersion = 1;

class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail("", "expected a JSON object");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    throw Error(ErrorCode::kBadData, message, key.empty() ? where_ : where_ + ": " + key);
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const Json* value = json_.find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_text()) fail(key, "expected a string");
    return value->text();
  }
  std::int64_t count(const std::string& key, std::int64_t otherwise) const {
    const Json* value = json_.find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_size() || value->size() > 0x7FFFFFFFFFFFFFFFULL) {
      fail(key, fmt::format("expected a whole number from 0 on, got {}", value->dump()));
    }
    return value->integer();
  }
  bool flag(const std::string& key) const {
    const Json* value = json_.find(key);
    if (value == nullptr) return false;
    if (!value->is_bool()) fail(key, "expected true or false");
    return value->boolean();
  }
  std::vector<std::string> texts(const std::string& key) const {
    std::vector<std::string> out;
    const Json* value = json_.find(key);
    if (value == nullptr) return out;
    if (!value->is_list()) fail(key, "expected a list of strings");
    for (const Json& item : value->elements()) {
      if (!item.is_text()) fail(key, "expected a list of strings");
      out.push_back(item.text());
    }
    return out;
  }
  Json object(const std::string& key) const {
    const Json* value = json_.find(key);
    if (value == nullptr) return Json::object();
    if (!value->is_object()) fail(key, "expected an object");
    return *value;
  }
  const std::string& where() const { return where_; }

 private:
  const Json& json_;
  std::string where_;
};

LabelKind parse_kind(const Reader& reader, const std::string& name) {
  for (const LabelKind kind : {LabelKind::kNone, LabelKind::kSingle, LabelKind::kMulti, LabelKind::kRegression}) {
    if (label_kind_name(kind) == name) return kind;
  }
  reader.fail("kind", fmt::format("unknown kind of labels '{}' (none, single, multi, regression)", name));
}

FileRecord parse_record(const Reader& reader) {
  FileRecord record;
  record.bytes = static_cast<std::uint64_t>(reader.count("bytes", 0));
  const std::string crc = reader.text("crc32", "");
  const auto [end, error] = std::from_chars(crc.data(), crc.data() + crc.size(), record.crc, 16);
  if (error != std::errc{} || end != crc.data() + crc.size())
    reader.fail("crc32", fmt::format("expected eight hexadecimal digits, got '{}'", crc));
  return record;
}

}  // namespace

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::string path = (folder / "manifest.json").string();
  const Json json = Json::parse(read_file(path, kMaxBytes), path, kMaxDepth);
  const Reader reader(json, path);
  if (reader.text("format", "") != "gneiss")
    reader.fail("format", "expected \"format\": \"gneiss\"; this manifest belongs to something else");
  if (reader.count("version", 0) != kVersion)
    reader.fail("version", fmt::format("version {} is not read, only {}", reader.count("version", 0), kVersion));
  Manifest manifest;
  manifest.name = reader.text("name", folder.filename().string());
  manifest.source = reader.text("source", "gneiss");
  manifest.num_nodes = reader.count("num_nodes", -1);
  manifest.symmetric = reader.flag("symmetric");
  manifest.class_names = reader.texts("class_names");
  manifest.notes = reader.texts("notes");
  manifest.suggested_metric = reader.text("suggested_metric", "");
  const Json features = reader.object("features");
  manifest.feature_width = Reader(features, path + ": features").count("width", 0);
  if (manifest.feature_width > std::numeric_limits<NodeId>::max())
    reader.fail("features", fmt::format("width {} is beyond 32-bit ids", manifest.feature_width));
  const std::string dtype = Reader(features, path + ": features").text("dtype", "f32");
  manifest.feature_dtype = half_type(dtype);
  if (dtype != half_name(manifest.feature_dtype))
    reader.fail("features", fmt::format("dtype '{}' is none of f32, bf16, f16", dtype));
  const Json labels = reader.object("labels");
  const Reader label_reader(labels, path + ": labels");
  manifest.label_kind = parse_kind(label_reader, label_reader.text("kind", "none"));
  manifest.num_classes = label_reader.count("num_classes", 0);
  const Json files = reader.object("files");
  for (const auto& [name, record] : files.members()) {
    if (name.empty() || name.find('/') != std::string::npos || name == "..")
      reader.fail("files", fmt::format("'{}' is not the name of a file in the folder", name));
    manifest.files[name] = parse_record(Reader(record, path + ": files: " + name));
  }
  return manifest;
}

std::string manifest_text(const Manifest& manifest, const Dataset& dataset) {
  Json json;
  json["format"] = "gneiss";
  json["version"] = kVersion;
  json["name"] = manifest.name;
  json["source"] = manifest.source;
  json["num_nodes"] = manifest.num_nodes;
  json["num_edges"] = dataset.graph.num_edges();
  json["symmetric"] = manifest.symmetric;
  json["features"] = Json::object({{"width", dataset.features.cols},
                                   {"form", dataset.features.sparse ? "sparse" : "dense"},
                                   {"dtype", half_name(dataset.features.dtype)}});
  json["labels"] =
      Json::object({{"kind", label_kind_name(manifest.label_kind)}, {"num_classes", manifest.num_classes}});
  json["class_names"] = manifest.class_names;
  json["suggested_metric"] = manifest.suggested_metric;
  json["notes"] = manifest.notes;
  Json files = Json::object();
  for (const auto& [name, record] : manifest.files) {
    files[name] = Json::object({{"bytes", record.bytes}, {"crc32", fmt::format("{:08x}", record.crc)}});
  }
  json["files"] = files;
  return json.dump(2) + "\n";
}

}  // namespace gneiss::data
