// The functions of NVSHMEM's host library are looked up by name. Names, numbers and the layout of structures are those
// of NVSHMEM's headers of versions 3.0.6 to 3.8.0 (github.com/NVIDIA/nvshmem, src/include: host/nvshmem_api.h,
// host/nvshmemx_api.h, device_host/nvshmem_types.h, bootstrap_device_host/nvshmem_uniqueid.h). They have not changed
// in version 3 but for a second form of the attributes, which takes the first one too; the first is used.
//
// Who loads the library takes nvshmemx_hostlib_init_attr and nvshmemx_hostlib_finalize: nvshmem_init and others are
// inline functions of the headers that call into a library for kernels, which Gneiss has no use for.
#include "runtime/nvshmem.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "comm/all_gather.h"

namespace gneiss::runtime {
namespace {

constexpr int kMajor = 3;
constexpr int kSuccess = 0;
constexpr unsigned kWithUniqueId = 1U << 3;
/// Of nvshmemx_init_status: anything from here on is joined.
constexpr int kInitialized = 2;
constexpr const char* kHeapSize = "NVSHMEM_SYMMETRIC_SIZE";
/// A heap is a multiple of this, so that blocks of other splits of a data set, which differ by some rows, fit too.
constexpr std::int64_t kHeapStep = std::int64_t{16} << 20;

/// A structure says its form and its size in its first number.
template <class T>
constexpr int first_form() {
  return (1 << 16) + static_cast<int>(sizeof(T));
}

struct UniqueId {
  int version = 0;
  std::array<char, 124> content{};
};
static_assert(sizeof(UniqueId) == 128);

struct UniqueIdArgs {
  int version = first_form<UniqueIdArgs>();
  const UniqueId* id = nullptr;
  int my_pe = -1;
  int pes = -1;
};
static_assert(sizeof(UniqueIdArgs) == 24);

struct InitArgs {
  int version = first_form<InitArgs>();
  UniqueIdArgs unique_id;
  std::array<char, 96> content{};
};
static_assert(sizeof(InitArgs) == 128);

struct InitAttributes {
  int version = first_form<InitAttributes>();
  void* mpi_communicator = nullptr;
  InitArgs args;
};
static_assert(sizeof(InitAttributes) == 144);

[[noreturn]] void throw_unsupported(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kUnsupported, what, "--peer-memory", hint);
}

constexpr const char* kInstead = "leave --peer-memory out: CUDA's own handles give the same bits";

/// Names of the library, by the loader's paths first.
std::vector<std::string> candidates() {
  if (const char* named = std::getenv("GNEISS_NVSHMEM"); named != nullptr && *named != '\0') return {named};
  const std::string name = "libnvshmem_host.so.3";
  std::vector<std::string> all = {name};
  for (const char* variable : {"NVSHMEM_HOME", "NVSHMEM_PREFIX", "NVSHMEM_DIR"}) {
    const char* const home = std::getenv(variable);
    if (home != nullptr && *home != '\0') all.push_back(fmt::format("{}/lib/{}", home, name));
  }
  for (const char* folder :
       {"/usr/local/nvshmem/lib", "/usr/lib/x86_64-linux-gnu/nvshmem/13", "/usr/lib/x86_64-linux-gnu/nvshmem/12",
        "/usr/lib/aarch64-linux-gnu/nvshmem/13", "/usr/lib/aarch64-linux-gnu/nvshmem/12"}) {
    all.push_back(fmt::format("{}/{}", folder, name));
  }
  return all;
}

/// A number of bytes as NVSHMEM reads it: "20m", "3.1M", "1g". Nothing if it is none.
std::optional<double> bytes_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(number >= 0)) return {};
  const std::string units = "kmgt";
  double bytes = number;
  const std::size_t unit = *end == '\0' ? std::string::npos : units.find(static_cast<char>(*end | 0x20));
  if (*end != '\0' && unit == std::string::npos) return {};
  for (std::size_t i = 0; *end != '\0' && i <= unit; ++i) bytes *= 1024;
  return bytes;
}

}  // namespace

/// NVSHMEM's C interface, as far as it is used.
struct Nvshmem::Library {
  std::string file;
  std::array<int, 3> version{};
  void (*version_info)(int* major, int* minor, int* patch) = nullptr;
  int (*get_unique_id)(UniqueId* id) = nullptr;
  int (*set_unique_id)(int my_pe, int pes, const UniqueId* id, InitAttributes* attributes) = nullptr;
  int (*init)(unsigned flags, InitAttributes* attributes) = nullptr;
  int (*init_status)() = nullptr;
  void (*finalize)() = nullptr;
  int (*my_pe)() = nullptr;
  int (*pes)() = nullptr;
  void* (*allocate)(std::size_t bytes) = nullptr;
  void (*free)(void* block) = nullptr;
  void* (*pointer)(const void* block, int pe) = nullptr;

  static Library load();
  /// Loaded once, and never unloaded: it keeps threads and tables of its own.
  static const Library& loaded() {
    static const Library one = load();
    return one;
  }
};

Nvshmem::Library Nvshmem::Library::load() {
  Library made;
  void* library = nullptr;
  std::string fault;
  const std::vector<std::string> names = candidates();
  for (const std::string& name : names) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      made.file = name;
      break;
    }
    const char* const why = dlerror();
    if (why != nullptr && (names.size() == 1 || std::filesystem::exists(name))) fault = why;
  }
  if (library == nullptr) {
    throw_unsupported(
        fmt::format("there is no NVSHMEM (looked for {}{})", gneiss::join(names, ", "),
                    fault.empty() ? "" : ": " + fault),
        fmt::format("install NVSHMEM 3 and name its library in the environment variable GNEISS_NVSHMEM, or {}",
                    kInstead));
  }
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    if (*function == nullptr) {
      throw_unsupported(fmt::format("{} has no function '{}'", made.file, name),
                        fmt::format("install NVSHMEM 3, or {}", kInstead));
    }
  };
  find("nvshmemx_vendor_get_version_info", &made.version_info);
  made.version_info(&made.version[0], &made.version[1], &made.version[2]);
  if (made.version[0] != kMajor) {
    throw_unsupported(fmt::format("{} is NVSHMEM {}.{}.{}; version {} is needed", made.file, made.version[0],
                                  made.version[1], made.version[2], kMajor),
                      fmt::format("install NVSHMEM 3, or {}", kInstead));
  }
  find("nvshmemx_get_uniqueid", &made.get_unique_id);
  find("nvshmemx_set_attr_uniqueid_args", &made.set_unique_id);
  find("nvshmemx_hostlib_init_attr", &made.init);
  find("nvshmemx_init_status", &made.init_status);
  find("nvshmemx_hostlib_finalize", &made.finalize);
  find("nvshmem_my_pe", &made.my_pe);
  find("nvshmem_n_pes", &made.pes);
  find("nvshmem_malloc", &made.allocate);
  find("nvshmem_free", &made.free);
  find("nvshmem_ptr", &made.pointer);
  return made;
}

void Nvshmem::load() { Library::loaded(); }

Nvshmem::Nvshmem(comm::Communicator* communicator) : library_(Library::loaded()), communicator_(*communicator) {}

/// Freeing is a call of all, and after an error they need not have the same blocks: the heap goes as a whole.
Nvshmem::~Nvshmem() {
  if (joined_ && communicator_.all_come_at_last()) library_.finalize();
}

std::string Nvshmem::name() const {
  return fmt::format("NVSHMEM {}.{}.{}", library_.version[0], library_.version[1], library_.version[2]);
}

std::int64_t Nvshmem::bytes_for_all(std::int64_t bytes) {
  const std::vector<std::int64_t> all = comm::all_gather(communicator_, bytes);
  return *std::max_element(all.begin(), all.end());
}

/// From here to the next call of NVSHMEM nothing may fail on one process alone.
void Nvshmem::agree_that_all_can() const {
  double all[] = {0};
  communicator_.sum(all);
}

void Nvshmem::check_heap(std::int64_t bytes) const {
  const char* const given = std::getenv(kHeapSize);
  if (given == nullptr) return;
  const std::optional<double> heap = bytes_of(given);
  if (heap && *heap >= static_cast<double>(bytes)) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("each device takes {} bytes of NVSHMEM's symmetric heap, and {}={}", bytes, kHeapSize, given),
              "--peer-memory", fmt::format("set it to {} or more, or leave it unset", bytes));
}

void Nvshmem::join(std::int64_t bytes) {
  // A heap that does not grow, as NVSHMEM has where a driver maps no memory by pieces, is made of this size.
  const std::int64_t heap = (bytes + kHeapStep - 1) / kHeapStep * kHeapStep;
  setenv(kHeapSize, std::to_string(heap).c_str(), 0);
  UniqueId id;
  id.version = first_form<UniqueId>();
  const int rank = communicator_.rank();
  int status = rank == 0 ? library_.get_unique_id(&id) : kSuccess;
  if (status != kSuccess) {
    throw_unsupported(fmt::format("{} makes no unique id: status {}", name(), status),
                      fmt::format("see what NVSHMEM_DEBUG=INFO says, or {}", kInstead));
  }
  id = comm::all_gather(communicator_, id)[0];
  InitAttributes attributes;
  status = library_.set_unique_id(rank, communicator_.ranks(), &id, &attributes);
  if (status == kSuccess) status = library_.init(kWithUniqueId, &attributes);
  if (status != kSuccess) {
    throw_unsupported(fmt::format("{} cannot be joined by device {}: status {}", name(), rank, status),
                      fmt::format("see what NVSHMEM_DEBUG=INFO says, or {}", kInstead));
  }
  joined_ = true;  // all have: each waits for the others in it
  if (library_.init_status() < kInitialized || library_.my_pe() != rank || library_.pes() != communicator_.ranks()) {
    // It reports no failure of what follows on joining.
    joined_ = false;
    throw_unsupported(fmt::format("{} is not ready on device {}: state {}, PE {} of {}", name(), rank,
                                  library_.init_status(), library_.my_pe(), library_.pes()),
                      fmt::format("see what NVSHMEM_DEBUG=INFO says, or {}", kInstead));
  }
}

std::byte* Nvshmem::allocate(std::int64_t bytes) {
  if (!joined_) check_heap(bytes);
  agree_that_all_can();
  if (!joined_) {
    join(bytes);
    agree_that_all_can();
  }
  auto* const block = static_cast<std::byte*>(library_.allocate(static_cast<std::size_t>(bytes)));
  if (block == nullptr) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("NVSHMEM's symmetric heap has no {} bytes left on device {}", bytes, communicator_.rank()),
                "--peer-memory",
                fmt::format("set {} to {} or more, end what else runs on the card, or {}", kHeapSize, bytes, kInstead));
  }
  // As memory of a device is; NVSHMEM's heap gives out multiples of 512.
  GNEISS_ASSERT(reinterpret_cast<std::uintptr_t>(block) % 256 == 0, "NVSHMEM's block begins at no multiple of 256");
  agree_that_all_can();
  return block;
}

void Nvshmem::release(std::byte* block) noexcept { library_.free(block); }

const std::byte* Nvshmem::address(const std::byte* block, int owner) const {
  const auto* const there = static_cast<const std::byte*>(library_.pointer(block, owner));
  if (there == nullptr) {
    throw_unsupported(
        fmt::format("device {} does not reach the memory of device {}: NVSHMEM joins them by a network alone",
                    communicator_.rank(), owner),
        "kernels read rows where they lie: use cards that NVLink or PCIe joins");
  }
  return there;
}

}  // namespace gneiss::runtime
