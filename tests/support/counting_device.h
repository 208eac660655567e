// The emulated device, which counts what is taken of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runtime/device.h"

namespace gneiss::testing {

class CountingDevice : public runtime::Device {
 public:
  std::string name() const override { return inner_->name(); }
  const kernels::DeviceKernels& kernels() const override { return inner_->kernels(); }
  void* allocate(std::int64_t bytes) override {
    void* const data = inner_->allocate(bytes);
    ++allocations_;
    taken_[data] = bytes;
    return data;
  }
  void release(void* data) noexcept override {
    taken_.erase(data);
    inner_->release(data);
  }
  void upload(void* to, const void* from, std::int64_t bytes) override { inner_->upload(to, from, bytes); }
  void download(void* to, const void* from, std::int64_t bytes) override { inner_->download(to, from, bytes); }
  void fill(void* to, unsigned char byte, std::int64_t bytes) override { inner_->fill(to, byte, bytes); }
  kernels::DeviceContext context() override { return inner_->context(); }
  void wait() override { inner_->wait(); }
  void begin_recording() override { inner_->begin_recording(); }
  std::unique_ptr<runtime::Recording> end_recording() override { return inner_->end_recording(); }
  std::unique_ptr<runtime::DeviceModule> compile(const runtime::CppText& text, const std::string& options) override {
    return inner_->compile(text, options);
  }
  void poison(void* data, std::int64_t bytes) override { inner_->poison(data, bytes); }

  /// That were not given back.
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [data, bytes] : taken_) sum += bytes;
    return sum;
  }
  /// Since it was made.
  int allocations() const { return allocations_; }

 protected:
  runtime::DeviceRoom whole_room() override { return inner_->room(); }

 private:
  std::unique_ptr<runtime::Device> inner_ = runtime::make_emulated_device();
  std::map<void*, std::int64_t> taken_;
  int allocations_ = 0;
};

}  // namespace gneiss::testing
