// A library with the functions of NVSHMEM's that Gneiss calls, for processes of one machine and memory of the host.
//
// Each PE's heap is a file without a name, of NVSHMEM_SYMMETRIC_SIZE bytes, which the others map read only, at other
// addresses. What NVSHMEM leaves undefined ends the process here, with a line that says what: calls that not all PEs
// make alike, blocks that are not theirs, a heap that is left with blocks in it. Fresh memory is NaN. Who waits for
// another does so for half a minute at most.
//
// The environment makes it worse:
//   STAND_IN_VERSION    "2.11.0": another version than 3.4.5
//   STAND_IN_STATUS     what joining returns
//   STAND_IN_STATE      what nvshmemx_init_status returns after it
//   STAND_IN_HIDES      "0,1": neither of these PEs reaches the other's memory
//   STAND_IN_LOG        a folder: a line for each call goes into a file of the PE's number, and for each fault
//   STAND_IN_LEAVES     set: finalize takes blocks with it, as NVSHMEM's does
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kMostPes = 64;
constexpr std::size_t kAlignment = 512;
constexpr auto kPatience = std::chrono::seconds(30);
constexpr int kFormOfIds = (1 << 16) + 128;

struct UniqueId {
  int version;
  char path[124];  ///< of the control block
};

/// nvshmemx_init_attr_t of version 1, number by number.
struct Attributes {
  int version;
  void* mpi_communicator;
  int args_version;
  alignas(8) int id_version;  ///< of a structure within
  UniqueId* id;
  int my_pe;
  int pes;
  char content[96];
};
static_assert(offsetof(Attributes, mpi_communicator) == 8 && offsetof(Attributes, args_version) == 16);
static_assert(offsetof(Attributes, id_version) == 24 && offsetof(Attributes, id) == 32);
static_assert(offsetof(Attributes, my_pe) == 40 && offsetof(Attributes, pes) == 44);
static_assert(offsetof(Attributes, content) == 48 && sizeof(Attributes) == 144);

struct Pe {
  char heap[64];  ///< its file
  std::size_t heap_bytes;
  std::size_t value;  ///< of the call under way, the same on all
};

/// What all PEs see.
struct Control {
  std::atomic<int> here{0};
  std::atomic<int> round{0};
  Pe pes[kMostPes];
};

struct State {
  bool joined = false;
  int my_pe = -1;
  int pes = 0;
  int control_file = -1;  ///< of PE 0
  Control* control = nullptr;
  std::size_t bytes = 0;
  std::byte* heap = nullptr;
  std::vector<std::byte*> peers;
  std::map<std::size_t, std::size_t> blocks;  ///< offset -> bytes
};
State state;

const char* setting(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

void note(const std::string& line) {
  const char* const folder = setting("STAND_IN_LOG");
  if (folder == nullptr) return;
  const int file =
      open((std::string(folder) + "/" + std::to_string(state.my_pe)).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  const std::string text = line + "\n";
  if (file >= 0 && write(file, text.data(), text.size()) < 0) std::perror("stand-in for NVSHMEM");
  close(file);
}

[[noreturn]] void fail(const std::string& what) {
  note("fault: " + what);
  std::fprintf(stderr, "stand-in for NVSHMEM: PE %d: %s\n", state.my_pe, what.c_str());
  std::_Exit(86);
}

void* map(int file, std::size_t bytes, int rights) {
  void* const got = mmap(nullptr, bytes, rights, MAP_SHARED, file, 0);
  if (got == MAP_FAILED) fail("cannot map memory");
  return got;
}

int new_file(const char* name, std::size_t bytes) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) fail("cannot make memory");
  return file;
}

void name_of(int file, char* name, std::size_t room) {
  std::snprintf(name, room, "/proc/%d/fd/%d", static_cast<int>(getpid()), file);
}

void meet(const char* call) {
  Control& all = *state.control;
  const int round = all.round.load();
  if (all.here.fetch_add(1) + 1 == state.pes) {
    all.here.store(0);
    all.round.fetch_add(1);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (all.round.load() == round) {
    if (std::chrono::steady_clock::now() > end) fail(std::string(call) + ": not all PEs have come");
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// All make the call, and with the same number.
void meet_with(std::size_t value, const char* call) {
  state.control->pes[state.my_pe].value = value;
  meet(call);
  for (int p = 0; p < state.pes; ++p) {
    const std::size_t other = state.control->pes[p].value;
    if (other != value) {
      fail(std::string(call) + " of " + std::to_string(value) + ", PE " + std::to_string(p) + " has " +
           std::to_string(other));
    }
  }
  meet(call);
}

std::size_t heap_bytes() {
  const char* const given = setting("NVSHMEM_SYMMETRIC_SIZE");
  if (given == nullptr) return std::size_t{1} << 30;
  char* end = nullptr;
  const double number = std::strtod(given, &end);
  double unit = 1;
  for (const char* u = "kmgt"; *end != '\0' && *u != '\0'; ++u) {
    unit *= 1024;
    if ((*end | 0x20) == *u) return static_cast<std::size_t>(number * unit);
  }
  return static_cast<std::size_t>(number);
}

/// The first gap that is large enough: the same on all, as all have taken and given back the same.
std::size_t free_place(std::size_t bytes) {
  std::size_t at = 0;
  for (const auto& [offset, size] : state.blocks) {
    if (offset - at >= bytes) break;
    at = (offset + size + kAlignment - 1) / kAlignment * kAlignment;
  }
  return at;
}

}  // namespace

extern "C" {

void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  *major = 3;
  *minor = 4;
  *patch = 5;
  if (const char* const other = setting("STAND_IN_VERSION")) std::sscanf(other, "%d.%d.%d", major, minor, patch);
}

int nvshmemx_get_uniqueid(UniqueId* id) {
  if (id->version != kFormOfIds) fail("nvshmemx_get_uniqueid: the id has no version");
  state.control_file = new_file("stand-in for NVSHMEM", sizeof(Control));
  new (map(state.control_file, sizeof(Control), PROT_READ | PROT_WRITE)) Control();
  name_of(state.control_file, id->path, sizeof(id->path));
  return 0;
}

int nvshmemx_set_attr_uniqueid_args(const int my_pe, const int pes, const UniqueId* id, Attributes* attributes) {
  attributes->id = const_cast<UniqueId*>(id);
  attributes->my_pe = my_pe;
  attributes->pes = pes;
  return 0;
}

int nvshmemx_hostlib_init_attr(unsigned flags, Attributes* with) {
  state.my_pe = with->my_pe;
  state.pes = with->pes;
  if (state.joined) fail("nvshmemx_hostlib_init_attr: called twice");
  if (flags != 8 || with->version != (1 << 16) + 144 || with->args_version != (1 << 16) + 128 ||
      with->id_version != (1 << 16) + 24 || with->id->version != kFormOfIds || with->my_pe < 0 ||
      with->my_pe >= with->pes || with->pes > kMostPes) {
    fail("nvshmemx_hostlib_init_attr: attributes of another form");
  }
  if (const char* const status = setting("STAND_IN_STATUS")) return std::atoi(status);
  const int file = open(with->id->path, O_RDWR | O_CLOEXEC);
  if (file < 0) fail("nvshmemx_hostlib_init_attr: there is no such id");
  state.control = static_cast<Control*>(map(file, sizeof(Control), PROT_READ | PROT_WRITE));
  close(file);
  state.bytes = heap_bytes();
  const int heap = new_file("heap of a stand-in for NVSHMEM", state.bytes);
  // Addresses that differ from PE to PE: no reader gets by without asking.
  if (mmap(nullptr, (static_cast<std::size_t>(state.my_pe) + 1) << 21, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
      MAP_FAILED)
    fail("cannot reserve addresses");
  state.heap = static_cast<std::byte*>(map(heap, state.bytes, PROT_READ | PROT_WRITE));
  Pe& mine = state.control->pes[state.my_pe];
  name_of(heap, mine.heap, sizeof(mine.heap));
  mine.heap_bytes = state.bytes;
  meet_with(state.bytes, "NVSHMEM_SYMMETRIC_SIZE");
  for (int p = 0; p < state.pes; ++p) {
    state.peers.push_back(state.heap);
    if (p == state.my_pe) continue;
    const int theirs = open(state.control->pes[p].heap, O_RDONLY | O_CLOEXEC);
    if (theirs < 0) fail("cannot open the heap of another PE");
    state.peers.back() = static_cast<std::byte*>(map(theirs, state.bytes, PROT_READ));
    close(theirs);
  }
  meet("nvshmemx_hostlib_init_attr");
  state.joined = true;
  note("joined " + std::to_string(state.my_pe) + " of " + std::to_string(state.pes));
  return 0;
}

int nvshmemx_init_status() {
  if (const char* const given = setting("STAND_IN_STATE")) return std::atoi(given);
  return state.joined ? 2 : 0;
}
int nvshmem_my_pe() { return state.my_pe; }
int nvshmem_n_pes() { return state.pes; }

void* nvshmem_malloc(std::size_t bytes) {
  if (!state.joined) fail("nvshmem_malloc: not joined");
  meet_with(bytes, "nvshmem_malloc");
  const std::size_t at = free_place(bytes);
  if (at + bytes > state.bytes) {
    note("no room for " + std::to_string(bytes));
    return nullptr;
  }
  state.blocks.emplace(at, bytes);
  std::memset(state.heap + at, 0xFF, bytes);
  note("took " + std::to_string(bytes));
  meet("nvshmem_malloc");
  return state.heap + at;
}

void nvshmem_free(void* block) {
  const auto at = static_cast<std::size_t>(static_cast<std::byte*>(block) - state.heap);
  const auto found = state.blocks.find(at);
  if (!state.joined || found == state.blocks.end()) fail("nvshmem_free: that is no block");
  meet_with(at, "nvshmem_free");
  std::memset(state.heap + at, 0xFF, found->second);
  note("gave back " + std::to_string(found->second));
  state.blocks.erase(found);
}

#ifndef STAND_IN_WITHOUT_POINTERS
static bool is_hidden(int pe) {
  const char* const pair = setting("STAND_IN_HIDES");
  if (pair == nullptr || pe == state.my_pe) return false;
  int a = -1;
  int b = -1;
  std::sscanf(pair, "%d,%d", &a, &b);
  return (a == pe && b == state.my_pe) || (b == pe && a == state.my_pe);
}

void* nvshmem_ptr(const void* address, int pe) {
  const std::ptrdiff_t at = static_cast<const std::byte*>(address) - state.heap;
  if (!state.joined || pe < 0 || pe >= state.pes || at < 0 || static_cast<std::size_t>(at) >= state.bytes)
    return nullptr;
  return is_hidden(pe) ? nullptr : state.peers[static_cast<std::size_t>(pe)] + at;
}
#endif

void nvshmemx_hostlib_finalize() {
  if (!state.joined) fail("nvshmemx_hostlib_finalize: not joined");
  if (!state.blocks.empty() && setting("STAND_IN_LEAVES") == nullptr)
    fail("nvshmemx_hostlib_finalize: " + std::to_string(state.blocks.size()) + " blocks are left");
  meet("nvshmemx_hostlib_finalize");
  note("left");
  state.joined = false;
}

}  // extern "C"
