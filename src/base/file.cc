// Writing goes to a temporary name beside the target, is synced, and is renamed. Mapping asks for huge pages where the
// file system can keep them.
#include "base/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mapped_pages.h"
#include "base/pages.h"
#include "base/remove.h"

namespace gneiss {
namespace {

[[noreturn]] void fail_read(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ErrorCode::kBadData, fmt::format("cannot read '{}': {}", path.string(), reason), path.string(),
              "check the path and its permissions");
}

[[noreturn]] void fail_write(const std::filesystem::path& path, int error) {
  throw Error(ErrorCode::kDisk, fmt::format("cannot write '{}': {}", path.string(), std::strerror(error)),
              path.string(), "check free space and permissions; what was there before is untouched");
}

/// Opens a regular file for reading and returns {descriptor, size}.
std::pair<int, std::uint64_t> open_regular(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail_read(path, std::strerror(errno));
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    const bool folder = S_ISDIR(status.st_mode);
    close(descriptor);
    fail_read(path, folder ? "it is a folder" : "it is not a regular file");
  }
  return {descriptor, static_cast<std::uint64_t>(status.st_size)};
}

void write_all(int descriptor, const void* data, std::size_t bytes, const std::filesystem::path& path) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::write(descriptor, from, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail_write(path, put < 0 ? errno : ENOSPC);
    from += put;
    bytes -= static_cast<std::size_t>(put);
  }
}

/// Has the system read a mapped file a huge page at a time, which the file system may be able to keep as one, instead
/// of some KiB in pages of 4: what is mapped and given back again and again then costs a fifth.
void ask_for_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  madvise(data, bytes, MADV_HUGEPAGE);
#endif
}

/// Addresses from a multiple of kHugePage on, for files to be mapped at.
std::byte* reserve_addresses(std::size_t bytes, const std::filesystem::path& folder) {
  void* room = mmap(nullptr, bytes + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) fail_read(folder, std::strerror(errno));
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(room) % kHugePage) % kHugePage;
  std::byte* begin = static_cast<std::byte*>(room) + before;
  if (before > 0) munmap(room, before);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t pages = (bytes + page - 1) / page * page;
  munmap(begin + pages, kHugePage - before);
  return begin;
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // some file systems refuse; the rename itself has succeeded
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const auto [descriptor, size] = open_regular(path);
  if (size > max_bytes) {
    close(descriptor);
    fail_read(path, fmt::format("it has {} bytes, at most {} are expected", size, max_bytes));
  }
  std::string content(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = read(descriptor, content.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  close(descriptor);
  if (done != size) fail_read(path, fmt::format("it ended after {} of {} bytes", done, size));
  return content;
}

MappedFile::MappedFile(int descriptor, std::uint64_t size, const std::filesystem::path& path) {
  if (size == 0) return;
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) fail_read(path, std::strerror(errno));
  ask_for_huge_pages(data, size);
  data_ = static_cast<const std::byte*>(data);
  size_ = size;
  note_mapping(data_, size_, path.string());
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto [descriptor, size] = open_regular(path);
  try {
    *this = MappedFile(descriptor, size, path);
  } catch (...) {
    close(descriptor);
    throw;
  }
  close(descriptor);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_mapping(data_);
  munmap(const_cast<std::byte*>(data_), size_);
}

OpenFile::~OpenFile() { close(descriptor_); }

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  temporary_ = path_;
  temporary_ += fmt::format("{}{}", kBeingWritten, getpid());
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail_write(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) { write_all(descriptor_, data, bytes, path_); }

void AtomicFile::commit() {
  const int descriptor = std::exchange(descriptor_, -1);
  const bool synced = fsync(descriptor) == 0;
  const int sync_error = errno;
  const bool closed = close(descriptor) == 0;
  if (!synced || !closed || rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = synced ? errno : sync_error;
    unlink(temporary_.c_str());
    fail_write(path_, error);
  }
  sync_folder(path_.parent_path());
}

std::filesystem::path scratch_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
}

std::uint64_t scratch_room() {
  struct statfs status {};
  if (statfs(scratch_folder().c_str(), &status) != 0) return 0;
  const auto kind = static_cast<unsigned long>(status.f_type);
  if (kind == TMPFS_MAGIC || kind == RAMFS_MAGIC || access(scratch_folder().c_str(), W_OK) != 0) return 0;
  return static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_bsize);
}

ScratchFile::ScratchFile(std::uint64_t bytes, std::uint64_t before)
    : folder_(scratch_folder()), start_(before % kHugePage), size_(bytes) {
  std::string name = (folder_ / "gneiss-XXXXXX").string();
  descriptor_ = mkostemp(name.data(), O_CLOEXEC);
  int error = descriptor_ < 0 ? errno : 0;
  if (error == 0) unlink(name.c_str());
  if (error == 0 && bytes > 0)
    error = posix_fallocate(descriptor_, static_cast<off_t>(start_), static_cast<off_t>(bytes));
  if (error == 0 && lseek(descriptor_, static_cast<off_t>(start_), SEEK_SET) < 0) error = errno;
  if (error == 0) return;
  if (descriptor_ >= 0) close(descriptor_);
  throw Error(ErrorCode::kDisk,
              fmt::format("cannot write a temporary file of {} bytes in '{}': {}", bytes, folder_.string(),
                          std::strerror(error)),
              folder_.string(), "set TMPDIR to a folder with room for it");
}

ScratchFile::~ScratchFile() { close(descriptor_); }

void ScratchFile::write(const void* data, std::size_t bytes) {
  GNEISS_ASSERT(given_ + bytes <= size_, "{} bytes more than the {} of a file", given_ + bytes - size_, size_);
  for (const auto* from = static_cast<const std::byte*>(data); bytes > 0;) {
    const std::size_t part = std::min<std::size_t>(bytes, kHugePage - (start_ + given_) % kHugePage);
    held_.insert(held_.end(), from, from + part);
    from += part;
    bytes -= part;
    given_ += part;
    if (given_ < size_ && (start_ + given_) % kHugePage != 0) continue;
    write_all(descriptor_, held_.data(), held_.size(), folder_);
    held_.clear();
  }
}

std::shared_ptr<const OpenFile> ScratchFile::open_again() const {
  const int copy = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) fail_read(folder_, std::strerror(errno));
  return std::make_shared<const OpenFile>(copy);
}

MappedFile ScratchFile::map_in_a_row(const std::deque<ScratchFile>& files) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t bytes = 0;
  for (const ScratchFile& file : files) {
    GNEISS_ASSERT(bytes % page == 0, "a file of {} bytes before another has no whole pages", bytes);
    GNEISS_ASSERT(file.start_ == bytes % kHugePage && file.given_ == file.size_,
                  "not what {} bytes before a file of {} were to be followed by", bytes, file.size_);
    bytes += file.size_;
  }
  if (bytes == 0) return {nullptr, 0};
  const std::filesystem::path& folder = files.front().folder_;
  std::byte* at = reserve_addresses(bytes, folder);
  MappedFile mapped(at, bytes);
  for (const ScratchFile& file : files) {
    if (file.size_ == 0) continue;
    void* part = mmap(at, file.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file.descriptor_,
                      static_cast<off_t>(file.start_));
    if (part == MAP_FAILED) fail_read(folder, std::strerror(errno));
    ask_for_huge_pages(at, file.size_);
    at += file.size_;
  }
  return mapped;
}

FileMemory::FileMemory(std::uint64_t bytes) {
  if (bytes == 0) return;
  const ScratchFile file(bytes);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor_, 0);
  if (data == MAP_FAILED) fail_write(file.folder_, errno);
  ask_for_huge_pages(data, bytes);
  data_ = static_cast<std::byte*>(data);
  size_ = bytes;
}

FileMemory& FileMemory::operator=(FileMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

FileMemory::~FileMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

std::filesystem::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && std::filesystem::path(cache).is_absolute()) return std::filesystem::path(cache) / "gneiss";
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? std::filesystem::path() : std::filesystem::path(home) / ".cache" / "gneiss";
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_write(path, error.value());
}

}  // namespace gneiss
