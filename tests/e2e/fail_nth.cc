// A library to be preloaded into the command: the n-th allocation, or the n-th step towards a file, fails as it would
// for lack of memory or disk.
//
//   FAIL_ALLOCATION=n   the n-th call of aligned_alloc, by which every Buffer is made, finds no memory
//   FAIL_DISK=n         the n-th call that makes, grows, flushes or renames a file or folder ends in ENOSPC
//   FAIL_READ=n         the n-th read by position ends in EIO; none is served from memory at once, nor by io_uring
//   KILL_WRITE=n        the process is killed in the n-th write to a file whose name contains KILL_FILE, half through
//   FULL_WRITE=n        that write ends in ENOSPC instead
//   FAIL_RING=1         the system refuses io_uring, as those of containers do
//   FAIL_REPORT=path    at the end, how many such calls there were: "ALLOCATIONS DISK"
//
// Calls are counted while main runs. Calls of malloc and operator new are left alone: OpenMP and oneDNN give up by
// themselves, and the destructor of a JSON document allocates, which ends the program where it cannot. So is output to
// stdout and stderr, and flushing a folder, which some file systems refuse.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::atomic<long> allocations{0};
std::atomic<long> disk_calls{0};
std::atomic<long> reads{0};
std::atomic<long> writes{0};  // to files of KILL_FILE
long failing_allocation = 0;
long failing_disk_call = 0;
long failing_read = 0;
long killing_write = 0;
long full_write = 0;

bool counting = false;

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

long number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

void report() {
  const char* path = std::getenv("FAIL_REPORT");
  if (path == nullptr) return;
  if (std::FILE* file = real<std::FILE*(const char*, const char*)>("fopen")(path, "w")) {
    std::fprintf(file, "%ld %ld\n", allocations.load(), disk_calls.load());
    std::fclose(file);
  }
}

/// From now on io_uring_setup ends in EPERM. The filter looks at the number of the call alone.
void refuse_rings() {
  std::array<sock_filter, 4> filter = {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program = {filter.size(), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    std::perror("io_uring cannot be refused");
}

using Main = int(int, char**, char**);
Main* real_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  failing_allocation = number("FAIL_ALLOCATION");
  failing_disk_call = number("FAIL_DISK");
  failing_read = number("FAIL_READ");
  killing_write = number("KILL_WRITE");
  full_write = number("FULL_WRITE");
  if (failing_read > 0 || number("FAIL_RING") > 0) refuse_rings();
  counting = true;
  const int code = real_main(argc, argv, environment);
  counting = false;
  report();
  return code;
}

bool allocation_fails() { return counting && ++allocations == failing_allocation; }

/// Counts a call; true, with errno set, if it is to fail.
bool disk_fails() {
  if (!counting || ++disk_calls != failing_disk_call) return false;
  errno = ENOSPC;
  return true;
}

/// Counts a write to a file that is looked at: which one it is, or 0.
long looked_at(int file) {
  if (!counting || (killing_write <= 0 && full_write <= 0)) return 0;
  std::array<char, 4096> name{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  if (readlink(link.c_str(), name.data(), name.size() - 1) <= 0) return 0;
  const char* wanted = std::getenv("KILL_FILE");
  return wanted != nullptr && std::strstr(name.data(), wanted) != nullptr ? ++writes : 0;
}

using Open = int(const char*, int, ...);

int open_or_fail(const char* name, const char* path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && disk_fails()) return -1;
  return real<Open>(name)(path, flags, mode);
}

std::FILE* fopen_or_fail(const char* name, const char* path, const char* mode) {
  if (mode[0] != 'r' && disk_fails()) return nullptr;
  return real<std::FILE*(const char*, const char*)>(name)(path, mode);
}

}  // namespace

extern "C" {

int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(), void (*end)(), void* stack) {
  real_main = main;
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return real<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, end, stack);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (allocation_fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  static auto* const next = real<void*(std::size_t, std::size_t)>("aligned_alloc");
  return next(alignment, bytes);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_or_fail("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_or_fail("open64", path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) { return fopen_or_fail("fopen", path, mode); }
std::FILE* fopen64(const char* path, const char* mode) { return fopen_or_fail("fopen64", path, mode); }

int mkostemp(char* name, int flags) { return disk_fails() ? -1 : real<int(char*, int)>("mkostemp")(name, flags); }

ssize_t write(int file, const void* data, std::size_t bytes) {
  static auto* const next = real<ssize_t(int, const void*, std::size_t)>("write");
  if (const long number = file > STDERR_FILENO ? looked_at(file) : 0; number > 0) {
    if (number == killing_write) {
      next(file, data, bytes / 2);
      raise(SIGKILL);
    }
    if (number == full_write) {
      errno = ENOSPC;
      return -1;
    }
  }
  return file > STDERR_FILENO && disk_fails() ? -1 : next(file, data, bytes);
}

ssize_t preadv2(int file, const iovec* parts, int count, off_t at, int flags) {
  if (failing_read > 0 && counting) {
    errno = EAGAIN;
    return -1;
  }
  return real<ssize_t(int, const iovec*, int, off_t, int)>("preadv2")(file, parts, count, at, flags);
}

ssize_t pread(int file, void* data, std::size_t bytes, off_t at) {
  if (failing_read > 0 && counting && ++reads == failing_read) {
    errno = EIO;
    return -1;
  }
  return real<ssize_t(int, void*, std::size_t, off_t)>("pread")(file, data, bytes, at);
}

int fflush(std::FILE* file) {
  static auto* const next = real<int(std::FILE*)>("fflush");
  const bool counts = file != nullptr && file != stdout && file != stderr;
  return counts && disk_fails() ? EOF : next(file);
}

int fsync(int file) {
  struct stat status {};
  const bool counts = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  return counts && disk_fails() ? -1 : real<int(int)>("fsync")(file);
}
int posix_fallocate(int file, off_t begin, off_t bytes) {
  return disk_fails() ? ENOSPC : real<int(int, off_t, off_t)>("posix_fallocate")(file, begin, bytes);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return disk_fails() ? -1 : real<int(const char*, mode_t)>("mkdir")(path, mode);
}
int rename(const char* from, const char* to) noexcept {
  return disk_fails() ? -1 : real<int(const char*, const char*)>("rename")(from, to);
}

}  // extern "C"
