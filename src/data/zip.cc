// Finds the directory from the end of the file, reads its entries with every bound checked, and follows ZIP64 fields.
#include "data/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "data/checksum.h"

namespace gneiss::data {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kDirectorySignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocator64Signature = 0x07064b50;
constexpr std::uint32_t kInZip64 = 0xFFFFFFFF;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kDirectoryBytes = 46;
// One deflate block of 258-byte matches yields at most 1032 bytes per packed byte; whatever claims more is lying.
constexpr std::uint64_t kMaxRatio = 1032;

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

/// Little-endian fields with a bounds check.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  template <class T>
  T get(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      fail(where_,
           fmt::format("zip archive is cut off: a field at byte {} lies outside its {} bytes", offset, bytes_.size()));
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string_view text(std::uint64_t offset, std::size_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) {
      fail(where_,
           fmt::format("zip archive is cut off: a name at byte {} lies outside its {} bytes", offset, bytes_.size()));
    }
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
};

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

std::uint64_t find_end(const Fields& fields, const std::string& where) {
  if (fields.size() < kEndBytes) fail(where, fmt::format("not a zip archive: only {} bytes", fields.size()));
  const std::uint64_t last = fields.size() - kEndBytes;
  const std::uint64_t first = last > 0xFFFF ? last - 0xFFFF : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (fields.get<std::uint32_t>(at) == kEndSignature &&
        fields.get<std::uint16_t>(at + 20) <= fields.size() - at - kEndBytes) {
      return at;
    }
  }
  fail(where, "not a zip archive, or cut off: there is no end-of-directory record", "copy or download the file again");
}

Directory find_directory(const Fields& fields, const std::string& where) {
  const std::uint64_t end = find_end(fields, where);
  Directory directory{fields.get<std::uint32_t>(end + 16), fields.get<std::uint32_t>(end + 12),
                      fields.get<std::uint16_t>(end + 10)};
  std::uint64_t limit = end;
  const bool has_locator = end >= 20 && fields.get<std::uint32_t>(end - 20) == kLocator64Signature;
  if (has_locator) {
    const auto record = fields.get<std::uint64_t>(end - 12);
    if (record > end - 20 || fields.get<std::uint32_t>(record) != kEnd64Signature) {
      fail(where, "zip archive: the ZIP64 locator points at no ZIP64 record");
    }
    directory = {fields.get<std::uint64_t>(record + 48), fields.get<std::uint64_t>(record + 40),
                 fields.get<std::uint64_t>(record + 32)};
    limit = record;
  }
  if (directory.offset > limit || directory.bytes > limit - directory.offset) {
    fail(where, fmt::format("zip archive: directory of {} bytes at {} lies outside the file", directory.bytes,
                            directory.offset));
  }
  if (directory.entries > directory.bytes / kDirectoryBytes) {
    fail(where, fmt::format("zip archive: {} members cannot fit in a directory of {} bytes", directory.entries,
                            directory.bytes));
  }
  return directory;
}

void check_name(const std::string& name, const std::string& where) {
  const bool absolute = name.empty() || name[0] == '/' || (name.size() > 1 && name[1] == ':');
  const bool climbs =
      name == ".." || name.starts_with("../") || name.find("/../") != std::string::npos || name.ends_with("/..");
  if (absolute || climbs || name.find('\\') != std::string::npos || name.find('\0') != std::string::npos) {
    fail(where, "zip archive: this member's name is not a plain relative path (path traversal)");
  }
}

/// Replaces fields that say 0xFFFFFFFF by those of the ZIP64 extra field, which holds just them, in this order.
void apply_zip64(const Fields& fields, std::uint64_t extra, std::size_t extra_bytes, const std::string& where,
                 std::initializer_list<std::uint64_t*> values) {
  const bool wanted = std::any_of(values.begin(), values.end(), [](const std::uint64_t* v) { return *v == kInZip64; });
  if (!wanted) return;
  for (std::size_t at = 0; at + 4 <= extra_bytes;) {
    const auto id = fields.get<std::uint16_t>(extra + at);
    const std::size_t size = fields.get<std::uint16_t>(extra + at + 2);
    if (size > extra_bytes - at - 4) break;
    if (id == 1) {
      std::size_t used = 0;
      for (std::uint64_t* value : values) {
        if (*value != kInZip64) continue;
        if (used + 8 > size) fail(where, "zip archive: the ZIP64 field is too short");
        *value = fields.get<std::uint64_t>(extra + at + 4 + used);
        used += 8;
      }
      return;
    }
    at += 4 + size;
  }
  fail(where, "zip archive: a size is marked as ZIP64, but there is no ZIP64 field");
}

/// Reads one entry of the directory at `at` and advances it.
ZipMember directory_entry(const Fields& fields, std::uint64_t* at, const std::string& archive) {
  const std::uint64_t begin = *at;
  if (fields.get<std::uint32_t>(begin) != kDirectorySignature) {
    fail(archive, fmt::format("zip archive: no directory entry at byte {}", begin));
  }
  const std::size_t name_bytes = fields.get<std::uint16_t>(begin + 28);
  const std::size_t extra_bytes = fields.get<std::uint16_t>(begin + 30);
  ZipMember member;
  member.name = fields.text(begin + kDirectoryBytes, name_bytes);
  const std::string where = fmt::format("{}:{}", archive, member.name);
  check_name(member.name, where);
  const auto flags = fields.get<std::uint16_t>(begin + 8);
  const auto method = fields.get<std::uint16_t>(begin + 10);
  if ((flags & 0x41U) != 0) fail(where, "this member is encrypted", "save the file again without a password");
  if (method != 0 && method != 8) {
    fail(where, fmt::format("compression method {} is not read (stored and deflate are)", method),
         "save it with np.savez or np.savez_compressed");
  }
  member.deflated = method == 8;
  member.crc = fields.get<std::uint32_t>(begin + 16);
  member.packed_bytes = fields.get<std::uint32_t>(begin + 20);
  member.bytes = fields.get<std::uint32_t>(begin + 24);
  member.header_offset = fields.get<std::uint32_t>(begin + 42);
  apply_zip64(fields, begin + kDirectoryBytes + name_bytes, extra_bytes, where,
              {&member.bytes, &member.packed_bytes, &member.header_offset});
  *at = begin + kDirectoryBytes + name_bytes + extra_bytes + fields.get<std::uint16_t>(begin + 32);
  return member;
}

/// Compares a member's own header with the directory and finds its data.
void check_local_header(const Fields& fields, ZipMember* member, std::uint64_t limit, const std::string& archive) {
  const std::string where = fmt::format("{}:{}", archive, member->name);
  const std::uint64_t begin = member->header_offset;
  if (begin > limit || limit - begin < kLocalBytes || fields.get<std::uint32_t>(begin) != kLocalSignature) {
    fail(where, fmt::format("zip archive: no member header at byte {}", begin));
  }
  const std::size_t name_bytes = fields.get<std::uint16_t>(begin + 26);
  const std::size_t extra_bytes = fields.get<std::uint16_t>(begin + 28);
  if (fields.text(begin + kLocalBytes, name_bytes) != member->name) {
    fail(where, "zip archive: the member's own header gives another name than the directory");
  }
  const bool sizes_follow = (fields.get<std::uint16_t>(begin + 6) & 8U) != 0;
  std::uint64_t packed = fields.get<std::uint32_t>(begin + 18);
  std::uint64_t bytes = fields.get<std::uint32_t>(begin + 22);
  apply_zip64(fields, begin + kLocalBytes + name_bytes, extra_bytes, where, {&bytes, &packed});
  const bool same_method = fields.get<std::uint16_t>(begin + 8) == (member->deflated ? 8 : 0);
  const bool same_sizes =
      packed == member->packed_bytes && bytes == member->bytes && fields.get<std::uint32_t>(begin + 14) == member->crc;
  if (!same_method || (!sizes_follow && !same_sizes)) {
    fail(where, "zip archive: the member's own header gives other sizes, checksum or method than the directory");
  }
  member->data_offset = begin + kLocalBytes + name_bytes + extra_bytes;
  if (member->data_offset > limit || member->packed_bytes > limit - member->data_offset) {
    fail(where,
         fmt::format("zip archive: {} bytes at {} reach beyond the data", member->packed_bytes, member->data_offset));
  }
  if (!member->deflated && member->packed_bytes != member->bytes) {
    fail(where, fmt::format("zip archive: stored member of {} bytes claims {}", member->packed_bytes, member->bytes));
  }
  if (member->deflated && member->bytes / kMaxRatio > member->packed_bytes) {
    fail(where, fmt::format("zip archive: {} bytes cannot come from {} packed ones (zip bomb)", member->bytes,
                            member->packed_bytes));
  }
}

void check_overlaps(const std::vector<ZipMember>& members, const std::string& archive) {
  std::vector<const ZipMember*> order;
  for (const ZipMember& member : members) order.push_back(&member);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->header_offset < b->header_offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i]->header_offset < order[i - 1]->data_offset + order[i - 1]->packed_bytes) {
      fail(archive + ":" + order[i]->name, fmt::format("zip archive: this member overlaps '{}'", order[i - 1]->name));
    }
  }
}

/// Unpacks raw deflate data into exactly `out`, or into as much as `out` holds if `partial`.
void inflate_into(std::span<const std::byte> packed, std::span<std::byte> out, bool partial, const std::string& where) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Error(ErrorCode::kOutOfMemory, "zlib cannot start", where);
  std::size_t in_at = 0;
  std::size_t out_at = 0;
  int status = Z_OK;
  std::byte spare{};
  constexpr std::size_t kStep = std::size_t{1} << 30;  // zlib counts in 32 bits
  while (status == Z_OK) {
    const bool full = out_at == out.size();
    if (full && partial) break;
    const std::size_t in_step = std::min(kStep, packed.size() - in_at);
    const std::size_t out_step = full ? 1 : std::min(kStep, out.size() - out_at);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + in_at));
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = reinterpret_cast<Bytef*>(full ? &spare : out.data() + out_at);
    stream.avail_out = static_cast<uInt>(out_step);
    status = inflate(&stream, Z_NO_FLUSH);
    in_at += in_step - stream.avail_in;
    const std::size_t produced = out_step - stream.avail_out;
    if (full && produced > 0) status = Z_DATA_ERROR;  // more content than declared
    if (!full) out_at += produced;
  }
  inflateEnd(&stream);
  const bool complete = status == Z_STREAM_END && out_at == out.size() && in_at == packed.size();
  if (!complete && !(partial && (status == Z_OK || status == Z_STREAM_END))) {
    fail(where, fmt::format("zip archive: deflate data are damaged after {} of {} bytes", out_at, out.size()));
  }
}

}  // namespace

ZipFile::ZipFile(const std::filesystem::path& path, int threads)
    : path_(path.string()), threads_(threads), file_(std::make_shared<const MappedFile>(path)) {
  const Fields fields(file_->bytes(), path_);
  const Directory directory = find_directory(fields, path_);
  std::set<std::string_view> names;
  std::uint64_t at = directory.offset;
  members_.reserve(directory.entries);
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    members_.push_back(directory_entry(fields, &at, path_));
    if (at > directory.offset + directory.bytes) fail(path_, "zip archive: the directory is longer than it claims");
    check_local_header(fields, &members_.back(), directory.offset, path_);
    if (!names.insert(members_.back().name).second) {
      fail(path_ + ":" + members_.back().name, "zip archive: two members have this name");
    }
  }
  check_overlaps(members_, path_);
}

std::span<const std::byte> ZipFile::packed(const ZipMember& member) const {
  return file_->bytes().subspan(member.data_offset, member.packed_bytes);
}

Buffer<std::byte> ZipFile::peek(const ZipMember& member, std::size_t bytes) const {
  bytes = std::min<std::size_t>(bytes, member.bytes);
  if (!member.deflated) return Buffer<std::byte>::copy_of(packed(member).first(bytes));
  auto out = Buffer<std::byte>::zeros(bytes);
  inflate_into(packed(member), out.span(), true, path_ + ":" + member.name);
  return out;
}

Buffer<std::byte> ZipFile::read(const ZipMember& member) const {
  const std::string where = path_ + ":" + member.name;
  if (member.bytes > static_cast<std::uint64_t>(memory_limit_bytes())) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("this member holds {} bytes, the machine has {}", member.bytes, memory_limit_bytes()),
                where);
  }
  if (!member.deflated) {
    check_crc(member, packed(member));
    return Buffer<std::byte>::copy_of(packed(member));
  }
  Buffer<std::byte> out(member.bytes);
  inflate_into(packed(member), out.span(), false, where);
  check_crc(member, out);
  return out;
}

void ZipFile::check_crc(const ZipMember& member, std::span<const std::byte> content) const {
  const std::uint32_t crc = checksum(content, 0, threads_);
  if (crc != member.crc) {
    fail(path_ + ":" + member.name,
         fmt::format("zip archive: checksum is {:08x}, the directory says {:08x}", crc, member.crc),
         "the file is damaged; copy or download it again");
  }
}

}  // namespace gneiss::data
