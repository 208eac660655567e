// The emulation of a device: what barriers, shuffles and shared memory do, and that it catches what a card would leave
// undefined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "base/random.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/half.h"
#include "kernels/cuda/math.h"

namespace gneiss::kernels::emulated {
namespace {

using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    return error.message();
  }
  return "nothing was thrown";
}

/// Each thread reads what its neighbour wrote to shared memory.
__global__ void rotate(float* out, bool with_barrier) {
  auto* shared = shared_memory<float>();
  shared[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (with_barrier) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
}

std::vector<float> rotated(std::uint64_t seed, bool with_barrier) {
  std::vector<float> out(256);
  set_order(seed);
  launch({}, rotate, Launch{2, 128, 128 * sizeof(float)}, out.data(), with_barrier);
  return out;
}

std::vector<float> expected_rotation() {
  std::vector<float> out(256);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>((i % 128 + 1) % 128);
  return out;
}

TEST(DeviceEmulation, ThreadsMeetAtBarriers) {
  for (const std::uint64_t seed : {1, 2, 3}) EXPECT_EQ(rotated(seed, true), expected_rotation());
}

TEST(DeviceEmulation, AMissingBarrierShows) {
  for (const std::uint64_t seed : {1, 2, 3}) EXPECT_NE(rotated(seed, false), expected_rotation());
}

TEST(DeviceEmulation, UnwrittenSharedMemoryIsNan) {
  const std::vector<float> out = rotated(1, false);
  EXPECT_TRUE(std::any_of(out.begin(), out.end(), [](float x) { return std::isnan(x); }));
}

__global__ void sum_of_warp(float* out) {
  float sum = static_cast<float>(threadIdx.x);
  for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(~0U, sum, bits);
  out[threadIdx.x] = __shfl_sync(~0U, sum, 0);
}

TEST(DeviceEmulation, LanesOfAWarpExchangeValues) {
  std::vector<float> out(64);
  launch({}, sum_of_warp, Launch{1, 64, 0}, out.data());
  for (std::size_t t = 0; t < out.size(); ++t) EXPECT_EQ(out[t], t < 32 ? 496.0F : 1520.0F);
}

__global__ void half_the_block_waits() {
  if (threadIdx.x < 16) __syncthreads();
}

TEST(DeviceEmulation, ThreadsThatWaitForEverAreNamed) {
  const std::string message = message_of([] { launch({}, half_the_block_waits, Launch{3, 64, 0}); });
  EXPECT_THAT(message, HasSubstr("of 3: threads wait for ever: 16 at a barrier of the block, 0 at one of their warp, "
                                 "48 have ended; thread 0 at "));
  EXPECT_THAT(message, HasSubstr("device_emulation_test.cc:"));
}

__global__ void different_barriers() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST(DeviceEmulation, ADivergentBarrierIsNamed) {
  EXPECT_THAT(message_of([] {
                launch({}, different_barriers, Launch{1, 64, 0});
              }),
              HasSubstr("block 0 of 1: threads wait at different barriers: thread 0 at "));
}

__global__ void lane_that_is_not_there(float* out) { out[threadIdx.x] = __shfl_sync(~0U, 1.0F, 40); }

TEST(DeviceEmulation, ALaneOutOfBoundsIsNamed) {
  std::vector<float> out(32);
  EXPECT_THAT(message_of([&] {
                launch({}, lane_that_is_not_there, Launch{1, 32, 0}, out.data());
              }),
              HasSubstr("a shuffle reads lane 40, which is not there"));
}

__global__ void part_of_a_warp(float* out) { out[threadIdx.x] = __shfl_sync(0xFFFFU, 1.0F, 0); }

TEST(DeviceEmulation, AShuffleOfPartOfAWarpIsRefused) {
  std::vector<float> out(32);
  EXPECT_THAT(message_of([&] {
                launch({}, part_of_a_warp, Launch{1, 32, 0}, out.data());
              }),
              HasSubstr("barriers and shuffles are by whole warps"));
}

__global__ void write_at(int place) {
  if (threadIdx.x == 5) shared_memory<float>()[place] = 1;
}

TEST(DeviceEmulation, AWriteBeyondSharedMemoryIsNamed) {
  EXPECT_THAT(message_of([] {
                launch({}, write_at, Launch{1, 32, 128}, 32);
              }),
              HasSubstr("a thread wrote behind its 128 bytes of shared memory"));
  EXPECT_THAT(message_of([] {
                launch({}, write_at, Launch{1, 32, 128}, -1);
              }),
              HasSubstr("a thread wrote before its 128 bytes of shared memory"));
  launch({}, write_at, Launch{1, 32, 128}, 31);
}

#ifdef __SANITIZE_ADDRESS__
// What no guard is around, builds with sanitizers see: operands, and arrays of a thread, also behind a barrier, where
// its fiber was left and gone on with.

[[gnu::noinline]] void put(float* to, unsigned place) { to[place] = 1; }

__global__ void write_behind_an_operand(float* out) {
  __syncthreads();
  put(out, blockDim.x + threadIdx.x);
}

__global__ void write_behind_an_array(float* out) {
  float own[4] = {};
  __syncthreads();
  put(own, 4);
  out[threadIdx.x] = own[0];
}

TEST(DeviceEmulationDeathTest, SanitizersSeeWritesOutOfBounds) {
  std::vector<float> out(64);
  EXPECT_DEATH(launch({}, write_behind_an_operand, Launch{1, 64, 0}, out.data()), "heap-buffer-overflow");
  EXPECT_DEATH(launch({}, write_behind_an_array, Launch{1, 64, 0}, out.data()), "stack-buffer-overflow");
}
#endif

TEST(DeviceEmulation, RunsOnAfterAnError) {
  message_of([] { launch({}, half_the_block_waits, Launch{1, 64, 0}); });
  EXPECT_EQ(rotated(1, true), expected_rotation());
}

__global__ void add_one(float* out) { out[threadIdx.x] += 1; }

TEST(DeviceEmulation, RecordedLaunchesRunWhenTheyAreReplayed) {
  std::vector<float> out(32);
  Launches launches;
  DeviceContext context;
  context.stream = &launches;
  launches.begin();
  launch(context, add_one, Launch{1, 32, 0}, out.data());
  launch(context, add_one, Launch{1, 32, 0}, out.data());
  launches.end();
  EXPECT_EQ(out[5], 0);
  launches.run();
  launches.run();
  EXPECT_EQ(out[5], 4);
}

TEST(DeviceEmulation, ALaunchOutsideTheRecordedStreamIsNamed) {
  std::vector<float> out(32);
  Launches launches;
  launches.begin();
  EXPECT_EQ(message_of([&] {
              launch({}, add_one, Launch{1, 32, 0}, out.data());
            }),
            "a kernel was launched outside the stream that is recorded");
  launches.end();
  launch({}, add_one, Launch{1, 32, 0}, out.data());
  EXPECT_EQ(out[5], 1);
}

// Copies that do not block.

enum class Copying {
  kWaits,
  kForgetsToWait,
  kWaitsForTheOldest,
  kUsesThePlaceAgain,
  kCopiesTwiceToAPlace,
  kWritesToThePlace,
  kEndsWithACopyUnderWay,
  kCopiesThreeBytesOff,
  kCopiesBeyond,
};

/// Each thread copies two elements to places of its own, and stores what it finds there.
__global__ void copy_two(const float* from, float* out, Copying how) {
  auto* const places = shared_memory<float>() + 2 * threadIdx.x;
  for (int i = 0; i < 2; ++i) {
    __pipeline_memcpy_async(places + i, from + 2 * threadIdx.x + i, sizeof(float));
    __pipeline_commit();
  }
  if (how == Copying::kWritesToThePlace) places[0] = 3;
  if (how == Copying::kCopiesTwiceToAPlace) __pipeline_memcpy_async(places, from, sizeof(float));
  if (how == Copying::kCopiesThreeBytesOff) __pipeline_memcpy_async(reinterpret_cast<char*>(places) + 3, from, 4);
  if (how == Copying::kCopiesBeyond) __pipeline_memcpy_async(shared_memory<float>() + 64, from, sizeof(float));
  if (how == Copying::kEndsWithACopyUnderWay) return;
  if (how == Copying::kWaitsForTheOldest) __pipeline_wait_prior(1);
  if (how != Copying::kForgetsToWait && how != Copying::kWaitsForTheOldest) __pipeline_wait_prior(0);
  if (how == Copying::kUsesThePlaceAgain) {
    __pipeline_memcpy_async(places, from, sizeof(float));
    __pipeline_commit();
  }
  out[2 * threadIdx.x] = places[0];
  out[2 * threadIdx.x + 1] = places[1];
  __pipeline_wait_prior(0);
}

std::vector<float> copied(Copying how) {
  std::vector<float> from(64);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  std::vector<float> out(64, -1);
  launch({}, copy_two, Launch{1, 32, 64 * sizeof(float)}, from.data(), out.data(), how);
  return out;
}

TEST(DeviceEmulation, ACopyIsThereWhenItWasWaitedFor) {
  const std::vector<float> out = copied(Copying::kWaits);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<float>(i));
}

TEST(DeviceEmulation, AWaitIsForAllGroupsButTheLastOnes) {
  const std::vector<float> out = copied(Copying::kWaitsForTheOldest);
  for (std::size_t i = 0; i < out.size(); i += 2) {
    EXPECT_EQ(out[i], static_cast<float>(i));
    EXPECT_TRUE(std::isnan(out[i + 1]));
  }
}

TEST(DeviceEmulation, AWaitThatIsMissingShows) {
  for (const float value : copied(Copying::kForgetsToWait)) EXPECT_TRUE(std::isnan(value));
}

TEST(DeviceEmulation, APlaceThatIsUsedAgainTooEarlyShows) {
  const std::vector<float> out = copied(Copying::kUsesThePlaceAgain);
  for (std::size_t i = 0; i < out.size(); i += 2) EXPECT_TRUE(std::isnan(out[i]));
}

TEST(DeviceEmulation, WrongCopiesAreNamed) {
  EXPECT_THAT(message_of([] { copied(Copying::kCopiesTwiceToAPlace); }), HasSubstr("copy of thread"));
  EXPECT_THAT(message_of([] { copied(Copying::kWritesToThePlace); }), HasSubstr("where a copy was under way"));
  EXPECT_THAT(message_of([] { copied(Copying::kEndsWithACopyUnderWay); }), HasSubstr("ends with 2 copies under way"));
  EXPECT_THAT(message_of([] { copied(Copying::kCopiesThreeBytesOff); }), HasSubstr("not multiples"));
  EXPECT_THAT(message_of([] { copied(Copying::kCopiesBeyond); }), HasSubstr("outside shared memory"));
}

TEST(DeviceMath, SixteenBitsAreThoseOfTheHost) {
  RandomStream random(3, 0);
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(widen(type, half)), std::bit_cast<std::uint32_t>(from_half(type, half)));
    }
    for (int i = 0; i < 200'000; ++i) {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
      ASSERT_EQ(narrow(type, value), to_half(type, value)) << value;
    }
  }
}

TEST(DeviceMath, ExponentialsReachTheSmallestNumbers) {
  for (float x = -103; x < 88; x += 0.37F) {
    const double want = std::exp(static_cast<double>(x));
    EXPECT_NEAR(exp_to_zero(x), want, 1e-6 * want + 1.5e-45) << x;
  }
  EXPECT_EQ(exp_to_zero(-200), 0);
  EXPECT_EQ(exp_to_zero(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_TRUE(std::isnan(exp_to_zero(std::nanf(""))));
}

TEST(DeviceEmulation, ALaunchThatNoCardTakesIsRefused) {
  EXPECT_THAT(message_of([] {
                launch({}, half_the_block_waits, Launch{1, 2048, 0});
              }),
              HasSubstr("no card takes 1 blocks of 2048 threads"));
}

}  // namespace
}  // namespace gneiss::kernels::emulated
