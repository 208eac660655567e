#include "support/data_fixtures.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace gneiss::testing {
namespace {

template <class T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string compress(const std::string& content, int window) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zip64_field(std::uint64_t bytes, std::uint64_t packed) {
  std::string field;
  put<std::uint16_t>(&field, 1);
  put<std::uint16_t>(&field, 16);
  put(&field, bytes);
  put(&field, packed);
  return field;
}

}  // namespace

TempFolder::TempFolder() {
  // Thousands of small files are ten times faster in memory.
  const bool in_memory = std::getenv("TMPDIR") == nullptr && access("/dev/shm", W_OK) == 0;
  const std::filesystem::path root = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
  std::string pattern = (root / "gneiss-test-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TempFolder::write(const std::string& name, std::string_view content) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  return file;
}

Environment::Environment(std::string name, const std::string& value) : name_(std::move(name)) {
  if (const char* before = std::getenv(name_.c_str()); before != nullptr) before_ = before;
  setenv(name_.c_str(), value.c_str(), 1);
}

Environment::~Environment() {
  if (before_) {
    setenv(name_.c_str(), before_->c_str(), 1);
  } else {
    unsetenv(name_.c_str());
  }
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorCode::kInternal, "no error was thrown");
}

std::optional<std::filesystem::path> real_data(const std::string& name) {
  const char* given = std::getenv("GNEISS_DATA");
  const std::filesystem::path root = given != nullptr ? given : GNEISS_SOURCE_DIR "/../shared/data";
  if (!std::filesystem::exists(root / name)) return std::nullopt;
  return root / name;
}

std::string test_data(const std::string& name) { return GNEISS_SOURCE_DIR "/tests/data/" + name; }

std::vector<std::string> named_edges(const data::Dataset& dataset) {
  const auto name = [&](NodeId v) {
    const auto at = static_cast<std::size_t>(v);
    if (!dataset.node_names.empty()) return dataset.node_names[at];
    return std::to_string(dataset.orig_id.empty() ? v : dataset.orig_id[at]);
  };
  std::vector<std::string> edges;
  const auto offsets = dataset.graph.offsets();
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    for (auto k = static_cast<std::size_t>(offsets[v]); k < static_cast<std::size_t>(offsets[v + 1]); ++k) {
      std::string edge = name(dataset.graph.sources()[k]) + ">" + name(static_cast<NodeId>(v));
      if (dataset.graph.weighted()) edge += fmt::format(" {:g}", dataset.graph.weights()[k]);
      edges.push_back(std::move(edge));
    }
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

std::string npy_with_header(const std::string& dict, const std::string& data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  put<std::uint16_t>(&out, static_cast<std::uint16_t>(dict.size()));
  return out + dict + data;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data, bool fortran) {
  return npy_with_header(
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n",
      data);
}

std::string npy_f4(const std::string& shape, const std::vector<float>& values) {
  return npy("<f4", shape, raw(values));
}
std::string npy_i4(const std::string& shape, const std::vector<std::int32_t>& values) {
  return npy("<i4", shape, raw(values));
}
std::string npy_i8(const std::string& shape, const std::vector<std::int64_t>& values) {
  return npy("<i8", shape, raw(values));
}
std::string npy_bool(const std::string& shape, const std::vector<std::uint8_t>& values) {
  return npy("|b1", shape, raw(values));
}

std::string deflate_raw(const std::string& content) { return compress(content, -MAX_WBITS); }
std::string gzip(const std::string& content) { return compress(content, MAX_WBITS + 16); }

std::string zip(const std::vector<ZipPart>& parts, std::optional<std::uint16_t> entries) {
  std::string out;
  std::string directory;
  for (const ZipPart& part : parts) {
    const std::string packed = part.deflate ? deflate_raw(part.content) : part.content;
    const auto crc = part.crc.value_or(static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(part.content.data()), static_cast<uInt>(part.content.size()))));
    const auto method = part.method.value_or(part.deflate ? 8 : 0);
    const std::uint64_t bytes = part.bytes.value_or(part.content.size());
    const std::uint64_t packed_bytes = part.packed_bytes.value_or(packed.size());
    const std::string extra = part.zip64 ? zip64_field(bytes, packed_bytes) : "";
    const std::string local_extra = part.zip64 ? zip64_field(part.local_bytes.value_or(bytes), packed_bytes) : "";
    const auto size_field = [&](std::uint64_t size) {
      return part.zip64 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(size);
    };
    const auto offset = static_cast<std::uint32_t>(out.size());
    const std::string local_name = part.local_name.value_or(part.name);

    put<std::uint32_t>(&out, 0x04034b50);
    for (const std::uint16_t field :
         {std::uint16_t{45}, part.flags, static_cast<std::uint16_t>(method), std::uint16_t{0}, std::uint16_t{0x21}})
      put(&out, field);
    put(&out, crc);
    put<std::uint32_t>(&out, size_field(packed_bytes));
    put<std::uint32_t>(&out, size_field(part.local_bytes.value_or(bytes)));
    put(&out, static_cast<std::uint16_t>(local_name.size()));
    put(&out, static_cast<std::uint16_t>(local_extra.size()));
    out += local_name + local_extra + packed;

    put<std::uint32_t>(&directory, 0x02014b50);
    for (const std::uint16_t field : {std::uint16_t{45}, std::uint16_t{45}, part.flags,
                                      static_cast<std::uint16_t>(method), std::uint16_t{0}, std::uint16_t{0x21}})
      put(&directory, field);
    put(&directory, crc);
    put<std::uint32_t>(&directory, size_field(packed_bytes));
    put<std::uint32_t>(&directory, size_field(bytes));
    put(&directory, static_cast<std::uint16_t>(part.name.size()));
    put(&directory, static_cast<std::uint16_t>(extra.size()));
    directory += std::string(6, '\0');
    put<std::uint32_t>(&directory, 0);
    put<std::uint32_t>(&directory, part.offset.value_or(offset));
    directory += part.name + extra;
  }
  const auto start = static_cast<std::uint32_t>(out.size());
  out += directory;
  put<std::uint32_t>(&out, 0x06054b50);
  put<std::uint32_t>(&out, 0);
  const std::uint16_t count = entries.value_or(static_cast<std::uint16_t>(parts.size()));
  put(&out, count);
  put(&out, count);
  put(&out, static_cast<std::uint32_t>(directory.size()));
  put(&out, start);
  put<std::uint16_t>(&out, 0);
  return out;
}

std::string npz(const std::vector<std::pair<std::string, std::string>>& members, bool deflate) {
  std::vector<ZipPart> parts;
  for (const auto& [name, content] : members) {
    ZipPart part;
    part.name = name + ".npy";
    part.content = content;
    part.deflate = deflate;
    parts.push_back(part);
  }
  return zip(parts);
}

PickleWriter& PickleWriter::op(std::string_view bytes) {
  text_ += bytes;
  return *this;
}

PickleWriter& PickleWriter::integer(std::int32_t value) {
  text_ += 'J';
  put(&text_, value);
  return *this;
}

PickleWriter& PickleWriter::string(std::string_view value) {
  text_ += 'T';
  put(&text_, static_cast<std::int32_t>(value.size()));
  text_ += value;
  return *this;
}

PickleWriter& PickleWriter::array(const std::string& type, const std::vector<std::int32_t>& shape,
                                  const std::string& data) {
  op("cnumpy.core.multiarray\n_reconstruct\n").op("cnumpy\nndarray\n").integer(0).op("\x85").string("b").op("\x87R");
  op("(").integer(1).op("(");
  for (const std::int32_t size : shape) integer(size);
  op("t").op("cnumpy\ndtype\n").string(type).integer(0).integer(1).op("\x87R");
  op("(").integer(3).string("<").op("NNN").integer(-1).integer(-1).integer(0).op("tb");
  return op("\x89").string(data).op("tb");
}

PickleWriter& PickleWriter::matrix(std::int32_t rows, std::int32_t cols, const std::vector<std::int32_t>& offsets,
                                   const std::vector<std::int32_t>& indices, const std::vector<float>& values) {
  op("cscipy.sparse.csr\ncsr_matrix\n)\x81}(");
  string("_shape").integer(rows).integer(cols).op("\x86");
  string("indptr").array("i4", {static_cast<std::int32_t>(offsets.size())}, raw(offsets));
  string("indices").array("i4", {static_cast<std::int32_t>(indices.size())}, raw(indices));
  string("data").array("f4", {static_cast<std::int32_t>(values.size())}, raw(values));
  return op("ub");
}

PickleWriter& PickleWriter::adjacency(const std::vector<std::vector<std::int32_t>>& lists) {
  op("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(");
  for (std::size_t v = 0; v < lists.size(); ++v) {
    integer(static_cast<std::int32_t>(v)).op("](");
    for (const std::int32_t u : lists[v]) integer(u);
    op("e");
  }
  return op("u");
}

std::filesystem::path write_planetoid(const TempFolder& folder, const std::string& name) {
  const std::string prefix = "set/ind." + name + ".";
  folder.write(prefix + "x", PickleWriter().matrix(2, 4, {0, 1, 2}, {0, 1}, {1, 1}).finish());
  folder.write(prefix + "allx",
               PickleWriter().matrix(5, 4, {0, 1, 2, 3, 4, 6}, {0, 1, 2, 3, 3, 0}, {1, 1, 1, 1, 1, 1}).finish());
  folder.write(prefix + "tx", PickleWriter().matrix(2, 4, {0, 1, 2}, {1, 2}, {7, 8}).finish());
  folder.write(prefix + "y", PickleWriter().array("i4", {2, 3}, raw<std::int32_t>({1, 0, 0, 0, 1, 0})).finish());
  folder.write(
      prefix + "ally",
      PickleWriter().array("i4", {5, 3}, raw<std::int32_t>({1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0})).finish());
  folder.write(prefix + "ty", PickleWriter().array("i4", {2, 3}, raw<std::int32_t>({0, 0, 1, 0, 1, 0})).finish());
  folder.write(prefix + "graph", PickleWriter().adjacency({{1, 1}, {0, 2}, {1, 2}, {4}, {3}, {7}, {}, {5}}).finish());
  folder.write(prefix + "test.index", "7\n5\n");
  return folder.path() / "set";
}

std::vector<std::pair<std::string, std::string>> gnn_benchmark_members() {
  return {{"adj_data", npy_f4("(3,)", {1, 2, 1})},       {"adj_indices", npy_i4("(3,)", {1, 2, 2})},
          {"adj_indptr", npy_i4("(4,)", {0, 1, 2, 3})},  {"adj_shape", npy_i8("(2,)", {3, 3})},
          {"attr_data", npy_f4("(2,)", {1, 3})},         {"attr_indices", npy_i4("(2,)", {0, 1})},
          {"attr_indptr", npy_i4("(4,)", {0, 1, 2, 2})}, {"attr_shape", npy_i8("(2,)", {3, 2})},
          {"labels", npy_i4("(3,)", {0, 1, 1})}};
}

std::vector<std::pair<std::string, std::string>> heterophilous_members() {
  return {{"node_features", npy_f4("(4, 2)", {1, 2, 3, 4, 5, 6, 7, 8})},
          {"node_labels", npy_i8("(4,)", {0, 1, 0, 1})},
          {"edges", npy_i8("(3, 2)", {0, 1, 1, 2, 2, 3})},
          {"train_masks", npy_bool("(2, 4)", {1, 0, 0, 0, 0, 1, 0, 0})},
          {"val_masks", npy_bool("(2, 4)", {0, 1, 0, 0, 0, 0, 1, 0})},
          {"test_masks", npy_bool("(2, 4)", {0, 0, 1, 1, 1, 0, 0, 1})}};
}

}  // namespace gneiss::testing
