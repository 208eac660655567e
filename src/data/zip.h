// A reader for ZIP archives that trusts nothing it reads.
//
// Method: the central directory is the list of members; every member's local header must agree with it; members may
// neither overlap each other nor the directory; sizes are checked against the file and against what deflate can produce
// before anything is allocated; contents are checked against their CRC-32. Stored and deflated members, ZIP64.
// Why not a library: the known npz readers read past buffers and fail beyond 4 GB.
// Source: PKWARE APPNOTE 6.3.10, sections 4.3 and 4.5.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/file.h"

namespace gneiss::data {

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;
};

class ZipFile {
 public:
  /// Opens an archive and checks its directory. Errors: kBadData naming the file, and the member where there is one.
  /// `threads` check the sums of members.
  explicit ZipFile(const std::filesystem::path& path, int threads = 1);

  const std::vector<ZipMember>& members() const { return members_; }
  const std::string& path() const { return path_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

  /// Bytes of a member as they lie in the file. Stored members are their own content, after check_crc.
  std::span<const std::byte> packed(const ZipMember& member) const;
  /// Up to `bytes` bytes from the start of a member's content, CRC not checked; for a look at its header.
  Buffer<std::byte> peek(const ZipMember& member, std::size_t bytes) const;
  /// The whole content of a member, CRC checked. Errors: kBadData, and kOutOfMemory when it is larger than the memory.
  Buffer<std::byte> read(const ZipMember& member) const;
  /// Checks a stored member in place. Errors: kBadData.
  void check_crc(const ZipMember& member, std::span<const std::byte> content) const;

 private:
  std::string path_;
  int threads_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<ZipMember> members_;
};

}  // namespace gneiss::data
