// A block runs until none of its fibers can go on; then barriers that all have reached let them pass. A fiber serves
// one thread of each block after the other, so that only its first start costs a context.
#include "kernels/cuda/emulation.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace gneiss::kernels::emulated {

constinit thread_local Index threadIdx;
constinit thread_local Index blockIdx;
constinit thread_local Index blockDim;
constinit thread_local Index gridDim;

namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10;
constexpr std::size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xA5;
constexpr unsigned char kPoison = 0xFF;  // NaN in every float format
constexpr unsigned kWarp = 32;
constexpr std::size_t kSlotBytes = 16;

enum class State : std::uint8_t { kReady, kAtWarp, kAtBlock, kDone };

/// A copy that was begun and not waited for.
struct Copy {
  unsigned char* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  std::uint64_t group = 0;  ///< that it belongs to
};

struct Fiber {
  ucontext_t context{};  ///< of its first turn
  jmp_buf at{};          ///< where it goes on
  bool started = false;
  std::unique_ptr<char[]> stack;
  State state = State::kDone;
  Where where;
  std::vector<Copy> copies;  ///< under way, in order
  std::uint64_t groups = 0;  ///< that were closed
};

struct Machine {
  std::vector<std::unique_ptr<Fiber>> fibers;
  ucontext_t back{};
  jmp_buf scheduler{};
  unsigned now = 0;  ///< whose turn it is
  unsigned threads = 0;
  const std::function<void()>* body = nullptr;
  std::vector<unsigned char> shared;  ///< a guard, the block's memory, a guard
  std::size_t shared_size = 0;
  std::vector<unsigned char> slots;  ///< what lanes give to a shuffle
  std::vector<unsigned> turn;
  std::vector<unsigned> blocks;
  std::string fault;
  Launches* recording = nullptr;
  RandomStream order{1, 0};
  std::size_t wait_short_by = 0;
};

Machine& machine() {
  static thread_local Machine one;
  return one;
}

// A context costs system calls to switch to, a jump does not: contexts give fibers their stacks, jumps their turns.

void pause_thread() {
  Machine& m = machine();
  if (_setjmp(m.fibers[m.now]->at) == 0) _longjmp(m.scheduler, 1);
}

void go_on(Machine* m, Fiber* fiber) {
  if (_setjmp(m->scheduler) != 0) return;
  if (fiber->started) _longjmp(fiber->at, 1);
  fiber->started = true;
  swapcontext(&m->back, &fiber->context);
}

void serve_threads() {
  Machine& m = machine();
  for (;;) {
    (*m.body)();
    const std::size_t left = m.fibers[m.now]->copies.size();
    if (left > 0) m.fault = fmt::format("thread {} ends with {} copies under way", m.now, left);
    m.fibers[m.now]->state = State::kDone;
    pause_thread();
  }
}

void make_context(Fiber* fiber) {
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = kStackBytes;
  fiber->context.uc_link = nullptr;
  makecontext(&fiber->context, serve_threads, 0);
}

void make_fibers(Machine* m, unsigned threads) {
  while (m->fibers.size() < threads) {
    m->fibers.push_back(std::make_unique<Fiber>());
    Fiber* fiber = m->fibers.back().get();
    fiber->stack = std::unique_ptr<char[]>(new char[kStackBytes]);  // pages are taken when they are used
    make_context(fiber);
  }
}

/// Ends the launch: fibers that stand in the middle of a kernel go with it.
[[noreturn]] void fail(Machine* m, const std::string& what) {
  const std::string text = what;
  m->fibers.clear();
  m->fault.clear();
  throw Error(ErrorCode::kInternal, fmt::format("device kernel, block {} of {}: {}", blockIdx.x, gridDim.x, text));
}

void stop_with(std::string what) {
  machine().fault = std::move(what);
  pause_thread();
}

std::string text_of(const Where& where) { return fmt::format("{}:{}", where.file_name(), where.line()); }

void shuffle(Machine* m, std::vector<unsigned>* list) {
  for (std::size_t i = list->size(); i > 1; --i) std::swap((*list)[i - 1], (*list)[m->order.below(i)]);
}

/// Lets the threads [begin, end) pass if all of them wait in `state`. Returns whether they did.
bool release(Machine* m, unsigned begin, unsigned end, State state) {
  const Fiber& first = *m->fibers[begin];
  for (unsigned t = begin; t < end; ++t) {
    if (m->fibers[t]->state != state) return false;
  }
  for (unsigned t = begin; t < end; ++t) {
    const Where& where = m->fibers[t]->where;
    const bool same =
        where.line() == first.where.line() && std::strcmp(where.file_name(), first.where.file_name()) == 0;
    if (!same) {
      fail(m, fmt::format("threads wait at different barriers: thread {} at {}, thread {} at {}", begin,
                          text_of(first.where), t, text_of(where)));
    }
    m->fibers[t]->state = State::kReady;
  }
  return true;
}

[[noreturn]] void fail_waiting(Machine* m) {
  unsigned at_block = 0;
  unsigned at_warp = 0;
  unsigned done = 0;
  std::string where;
  for (unsigned t = 0; t < m->threads; ++t) {
    const Fiber& fiber = *m->fibers[t];
    at_block += fiber.state == State::kAtBlock ? 1 : 0;
    at_warp += fiber.state == State::kAtWarp ? 1 : 0;
    done += fiber.state == State::kDone ? 1 : 0;
    if (where.empty() && fiber.state != State::kDone) where = fmt::format("thread {} at {}", t, text_of(fiber.where));
  }
  fail(m, fmt::format("threads wait for ever: {} at a barrier of the block, {} at one of their warp, {} have ended; {}",
                      at_block, at_warp, done, where));
}

void check_guards(Machine* m) {
  const auto is_guard = [](unsigned char byte) { return byte == kGuard; };
  const auto end = m->shared.begin() + static_cast<std::ptrdiff_t>(kGuardBytes + m->shared_size);
  const bool before = std::all_of(m->shared.begin(), m->shared.begin() + kGuardBytes, is_guard);
  const bool behind = std::all_of(end, end + kGuardBytes, is_guard);
  if (before && behind) return;
  fail(m, fmt::format("a thread wrote {} its {} bytes of shared memory", before ? "behind" : "before", m->shared_size));
}

void run_block(Machine* m) {
  for (unsigned t = 0; t < m->threads; ++t) {
    m->fibers[t]->state = State::kReady;
    m->fibers[t]->groups = 0;
  }
  for (;;) {
    shuffle(m, &m->turn);
    for (const unsigned t : m->turn) {
      if (m->fibers[t]->state != State::kReady) continue;
      m->now = t;
      threadIdx.x = t;
      go_on(m, m->fibers[t].get());
      if (!m->fault.empty()) fail(m, m->fault);
    }
    const bool all_done = std::all_of(m->fibers.begin(), m->fibers.begin() + m->threads,
                                      [](const auto& fiber) { return fiber->state == State::kDone; });
    if (all_done) break;
    bool passed = release(m, 0, m->threads, State::kAtBlock);
    for (unsigned w = 0; w < m->threads; w += kWarp) {
      passed = release(m, w, std::min(w + kWarp, m->threads), State::kAtWarp) || passed;
    }
    if (!passed) fail_waiting(m);
  }
  check_guards(m);
}

}  // namespace

void set_order(std::uint64_t seed) { machine().order = RandomStream(seed, 0); }

void wait_short_by(std::size_t groups) { machine().wait_short_by = groups; }

void run_grid(std::int64_t blocks, unsigned threads, std::size_t shared, const std::function<void()>& body) {
  GNEISS_ASSERT(threads >= 1 && threads <= 1024 && blocks >= 0 && shared <= (std::size_t{227} << 10),
                "no card takes {} blocks of {} threads with {} bytes of shared memory", blocks, threads, shared);
  Machine& m = machine();
  make_fibers(&m, threads);
  m.threads = threads;
  m.body = &body;
  m.shared_size = shared;
  m.slots.resize(threads * kSlotBytes);
  m.turn.resize(threads);
  std::iota(m.turn.begin(), m.turn.end(), 0U);
  blockDim.x = threads;
  gridDim.x = static_cast<unsigned>(blocks);
  m.blocks.resize(static_cast<std::size_t>(blocks));
  std::iota(m.blocks.begin(), m.blocks.end(), 0U);
  shuffle(&m, &m.blocks);
  for (const unsigned b : m.blocks) {
    blockIdx.x = b;
    m.shared.assign(shared + 2 * kGuardBytes, kGuard);
    std::fill_n(m.shared.begin() + kGuardBytes, shared, kPoison);
    run_block(&m);
  }
}

void Launches::begin() { machine().recording = this; }

void Launches::end() { machine().recording = nullptr; }

void Launches::run() const {
  for (const std::function<void()>& launch : kept_) launch();
}

Launches* recording_of(void* stream) {
  Launches* const recording = machine().recording;
  if (recording != nullptr && recording != stream) {
    throw Error(ErrorCode::kInternal, "a kernel was launched outside the stream that is recorded");
  }
  return recording;
}

unsigned char* shared_bytes() { return machine().shared.data() + kGuardBytes; }

void wait_for_block(const Where& where) {
  Fiber& fiber = *machine().fibers[machine().now];
  fiber.state = State::kAtBlock;
  fiber.where = where;
  pause_thread();
}

void wait_for_warp(unsigned mask, const Where& where) {
  if (mask != ~0U) stop_with(fmt::format("{}: barriers and shuffles are by whole warps", text_of(where)));
  Fiber& fiber = *machine().fibers[machine().now];
  fiber.state = State::kAtWarp;
  fiber.where = where;
  pause_thread();
}

void exchange(void* value, std::size_t bytes, unsigned from_lane, unsigned mask, const Where& where) {
  Machine& m = machine();
  const unsigned self = m.now;
  const unsigned from = self / kWarp * kWarp + from_lane;
  if (bytes > kSlotBytes) stop_with(fmt::format("{}: a shuffle of {} bytes", text_of(where), bytes));
  if (from_lane >= kWarp || from >= m.threads) {
    stop_with(fmt::format("{}: a shuffle reads lane {}, which is not there", text_of(where), from_lane));
  }
  std::memcpy(m.slots.data() + self * kSlotBytes, value, bytes);
  wait_for_warp(mask, where);
  std::memcpy(value, m.slots.data() + from * kSlotBytes, bytes);
  wait_for_warp(mask, where);
}

void begin_copy(void* to, const void* from, std::size_t bytes, const Where& where) {
  Machine& m = machine();
  auto* const target = static_cast<unsigned char*>(to);
  const unsigned char* const shared = shared_bytes();
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    stop_with(fmt::format("{}: a copy of {} bytes; 4, 8 and 16 are copied", text_of(where), bytes));
  }
  if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0 || reinterpret_cast<std::uintptr_t>(from) % bytes != 0) {
    stop_with(fmt::format("{}: a copy of {} bytes whose ends are not multiples of that", text_of(where), bytes));
  }
  if (target < shared || target + bytes > shared + m.shared_size) {
    stop_with(fmt::format("{}: a copy goes outside shared memory", text_of(where)));
  }
  for (unsigned t = 0; t < m.threads; ++t) {
    for (const Copy& other : m.fibers[t]->copies) {
      if (target < other.to + other.bytes && other.to < target + bytes)
        stop_with(
            fmt::format("{}: thread {} copies to where a copy of thread {} is under way", text_of(where), m.now, t));
    }
  }
  std::memset(to, kPoison, bytes);
  Fiber& fiber = *m.fibers[m.now];
  fiber.copies.push_back({target, from, bytes, fiber.groups});
}

void close_group() { ++machine().fibers[machine().now]->groups; }

void wait_for_groups(std::size_t prior, const Where& where) {
  Fiber& fiber = *machine().fibers[machine().now];
  prior += machine().wait_short_by;
  auto done = fiber.copies.begin();
  for (; done != fiber.copies.end() && done->group + prior < fiber.groups; ++done) {
    const bool written = std::any_of(done->to, done->to + done->bytes, [](unsigned char b) { return b != kPoison; });
    if (written) stop_with(fmt::format("{}: something was written to where a copy was under way", text_of(where)));
    std::memcpy(done->to, done->from, done->bytes);
  }
  fiber.copies.erase(fiber.copies.begin(), done);
}

}  // namespace gneiss::kernels::emulated
