// Devices on several cards (support/test_card, which notes what touches a card while another one is current): whatever
// a device does, it does on its own card, from whichever thread.
#include "runtime/cards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <thread>

#include "base/error.h"

namespace gneiss::runtime {
namespace {

/// Three cards, from before the first of CUDA's calls on.
const bool described = setenv("TEST_CARD_COUNT", "3", 1) == 0;

constexpr std::int64_t kBytes = 256;

/// Runs `work` on a thread that was at work on card 0.
void elsewhere(Device* there, const std::function<void()>& work) {
  std::thread([&] {
    there->wait();
    work();
  }).join();
}

TEST(Cards, WhateverADeviceDoesItDoesOnItsCard) {
  ASSERT_TRUE(described);
  const std::unique_ptr<Device> first = open_device("cuda:0");
  std::unique_ptr<Device> device = open_device("cuda:2");
  std::array<char, kBytes> host{};
  void* data = nullptr;
  std::unique_ptr<Recording> recording;
  MemoryHandle handle;
  void* opened = nullptr;
  const auto fill = [&] {
    kernels::OnDevice<kernels::FillArgs> args;
    args.y = {static_cast<float*>(data), 2, 2, 2};
    args.value = 3;
    std::get<kernels::DeviceKernel<kernels::OnDevice<kernels::FillArgs>>>(device->kernels())
        .run(device->context(), args);
  };
  const std::function<void()> steps[] = {
      [&] { EXPECT_EQ(device->room().free_bytes, std::int64_t{1} << 30); },
      [&] { data = device->allocate(kBytes); },
      [&] { EXPECT_EQ(device->room().free_bytes, (std::int64_t{1} << 30) - kBytes); },
      [&] { device->upload(data, host.data(), kBytes); },
      [&] { device->fill(data, 1, kBytes); },
      [&] { device->download(host.data(), data, kBytes); },
      [&] { device->wait(); },
      [&] { fill(); },
      [&] {
        device->begin_recording();
        fill();
        first->wait();
        recording = device->end_recording();
      },
      [&] { recording->replay(); },
      [&] { recording.reset(); },
      [&] { handle = device->share(data); },
      [&] { opened = device->open_shared(handle, kBytes); },
      [&] { device->close_shared(opened, kBytes); },
      [&] { device->release(data); },
      [&] { device.reset(); },
  };
  for (std::size_t i = 0; i < std::size(steps); ++i) {
    SCOPED_TRACE(i);
    elsewhere(first.get(), [&] { EXPECT_NO_THROW(steps[i]()); });
  }
  EXPECT_EQ(host[0], 1);
}

TEST(Cards, AreLetReadEachOtherOnceADirection) {
  EXPECT_TRUE(card_reads(0, 1));
  EXPECT_FALSE(card_reads(1, 1));
  let_card_read(0, 1);
  let_card_read(0, 1);
  let_card_read(1, 0);
  EXPECT_EQ(card_name(1), "test card (cuda:1)");
  EXPECT_THAT(usable_cards(Asker::kCommand), ::testing::ElementsAre(0, 1, 2));
  EXPECT_THROW(check_card(3, Asker::kCommand), Error);
}

TEST(Cards, AreNamed) {
  EXPECT_THAT(named_cards("cuda"), ::testing::IsEmpty());
  EXPECT_THAT(named_cards("emulated"), ::testing::IsEmpty());
  EXPECT_THAT(named_cards("cuda:7"), ::testing::ElementsAre(7));
  EXPECT_THAT(named_cards("cuda:3,0,12"), ::testing::ElementsAre(3, 0, 12));
  for (const char* wrong : {"", "gpu", "cuda:", "cuda:x", "cuda:1,", "cuda:,1", "cuda:1;2", "cuda:-1", "cuda:1,1",
                            "cuda:99999999999", "cuda:1, 2", "cuda0"})
    EXPECT_THROW(named_cards(wrong), Error) << wrong;
  EXPECT_THROW(card_number("cuda:0,1"), Error);
  EXPECT_EQ(card_number("cuda"), 0);
  EXPECT_EQ(card_number("emulated"), -1);
}

}  // namespace
}  // namespace gneiss::runtime
