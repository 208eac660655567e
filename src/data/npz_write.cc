// Stored members of a plain ZIP archive: local header, name, .npy; the directory behind all of them. No times are
// written, so that the same arrays give the same bytes.
// Source: PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
#include "data/npz_write.h"

#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "data/checksum.h"

namespace gneiss::data {
namespace {

constexpr std::size_t kAlignment = 128;
constexpr std::uint16_t kVersion = 20;
constexpr std::uint16_t kFirstDay = 1 << 5 | 1;  ///< 1 January 1980, the least date that is one

void put(std::string* text, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) text->push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

/// What local header and directory have in common, from the version to the length of the extra field.
std::string common_part(std::uint32_t crc, std::uint64_t bytes, std::size_t name_bytes) {
  std::string text;
  put(&text, kVersion, 2);
  put(&text, 0, 2);  // flags
  put(&text, 0, 2);  // stored
  put(&text, 0, 2);  // time
  put(&text, kFirstDay, 2);
  put(&text, crc, 4);
  put(&text, bytes, 4);
  put(&text, bytes, 4);
  put(&text, name_bytes, 2);
  put(&text, 0, 2);  // extra field
  return text;
}

}  // namespace

void NpzWriter::add_bytes(const std::string& name, const std::string& descr, std::int64_t size,
                          std::span<const std::byte> data) {
  Member member{name + ".npy", npy_header(descr, {size}, kAlignment), data};
  member.crc = checksum(data, checksum(std::as_bytes(std::span(member.header))));
  members_.push_back(std::move(member));
}

void NpzWriter::commit() {
  constexpr std::size_t kLocalBytes = 30;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t offset = 0;
  std::string directory;
  for (Member& member : members_) {
    member.offset = offset;
    offset += kLocalBytes + member.name.size() + member.bytes();
    directory += "PK\x01\x02";
    put(&directory, kVersion, 2);
    directory += common_part(member.crc, member.bytes(), member.name.size());
    put(&directory, 0, 2 + 2 + 2);  // comment, disk, attributes of text
    put(&directory, 0, 4);          // attributes of the file
    put(&directory, member.offset, 4);
    directory += member.name;
  }
  GNEISS_CHECK(offset + directory.size() < kMost && members_.size() < std::numeric_limits<std::uint16_t>::max(),
               ErrorCode::kUnsupported,
               "{}: an archive holds at most 4 GiB in {} arrays, and this one has {} bytes in {}", path_.string(),
               std::numeric_limits<std::uint16_t>::max() - 1, offset, members_.size());
  AtomicFile file(path_);
  for (const Member& member : members_) {
    file.write("PK\x03\x04" + common_part(member.crc, member.bytes(), member.name.size()) + member.name);
    file.write(member.header);
    file.write(member.data.data(), member.data.size());
  }
  file.write(directory);
  std::string end = "PK\x05\x06";
  put(&end, 0, 4);  // disks
  put(&end, members_.size(), 2);
  put(&end, members_.size(), 2);
  put(&end, directory.size(), 4);
  put(&end, offset, 4);
  put(&end, 0, 2);  // comment
  file.write(end);
  file.commit();
}

}  // namespace gneiss::data
