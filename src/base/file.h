// Files: read whole with a limit, map, write all or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gneiss {

/// Whole content of a regular file. Errors: kBadData naming the file when it is absent, unreadable, a folder, or
/// larger than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = std::uint64_t{1} << 40);

/// A file mapped for reading; bytes() stays valid while the object lives, and while nobody cuts the file short. The
/// pages are a private copy: who writes to them (see base/buffer.h) changes no file. Errors as read_file.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  friend class ScratchFile;
  MappedFile(int descriptor, std::uint64_t size, const std::filesystem::path& path);
  MappedFile(const std::byte* mapped, std::size_t size) : data_(mapped), size_(size) {}

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A descriptor that is closed with its owner.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Appends to a file under a temporary name in the same folder; commit() makes it durable and renames it to `path`.
/// Destroyed before commit(), it leaves nothing behind. Errors: kDisk with the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// A file without a name for what memory should not hold: it is written front to back, then mapped, and its room is
/// free again once nobody maps it. It lies in scratch_folder(). Errors: kDisk with the path and the system's reason.
///
/// Several files can be mapped in a row, for threads that write at the same time: a file system lets one write to a
/// file. They are written a huge page at a time, from where that lies in memory then, so that the system can keep and
/// map huge pages.
class ScratchFile {
 public:
  /// Reserves the room for `bytes` bytes, behind `before` bytes of files before it in a row.
  explicit ScratchFile(std::uint64_t bytes, std::uint64_t before = 0);
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();

  void write(const void* data, std::size_t bytes);
  /// The same file, for reads by position after all was written, and where its bytes begin there.
  std::shared_ptr<const OpenFile> open_again() const;
  std::uint64_t start() const { return start_; }
  /// Maps files one after the other; all of their bytes are written, and all but the last have whole pages.
  static MappedFile map_in_a_row(const std::deque<ScratchFile>& files);

 private:
  friend class FileMemory;
  std::filesystem::path folder_;
  std::uint64_t start_;  ///< of its bytes in the file, less than a huge page
  std::uint64_t size_;
  std::uint64_t given_ = 0;      ///< bytes of write()
  std::vector<std::byte> held_;  ///< of them, those that do not fill a huge page yet
  int descriptor_ = -1;
};

/// Memory, zeros at first, whose pages are those of a file without a name in scratch_folder(): the system may write
/// them out, and pages that are given back (base/buffer.h) keep what they hold. Errors: kDisk with the path and the
/// system's reason.
class FileMemory {
 public:
  FileMemory() = default;
  explicit FileMemory(std::uint64_t bytes);
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(FileMemory&& other) noexcept;
  ~FileMemory();

  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// $TMPDIR, else /var/tmp.
std::filesystem::path scratch_folder();
/// Bytes that a user may still write there; 0 if there is no such folder, or its files lie in memory.
std::uint64_t scratch_room();

/// Writes a whole file through AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Where Gneiss keeps what it can make again: $XDG_CACHE_HOME/gneiss, or ~/.cache/gneiss; empty if there is no home.
std::filesystem::path cache_folder();

/// Creates a folder and its parents. Errors: kDisk.
void make_folder(const std::filesystem::path& path);

}  // namespace gneiss
