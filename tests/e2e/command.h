// Runs the gneiss command as a user would, in a folder of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gneiss::testing {

struct CommandResult {
  int code = 0;  ///< exit status, or 128 + signal
  std::string out;
  std::string err;
  std::int64_t peak_bytes = 0;  ///< of resident memory; no less than this process had when it started the command
};

/// A folder that is removed at the end, and the command in it.
class Workplace {
 public:
  Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace();

  /// gneiss with these arguments and additions to the environment; its working folder is this one.
  CommandResult gneiss(const std::vector<std::string>& arguments,
                       const std::vector<std::pair<std::string, std::string>>& environment = {}) const;
  /// Starts it, sends `signal` once stderr or metrics show that epochs run, and waits for the end.
  CommandResult gneiss_with_signal(const std::vector<std::string>& arguments, int signal) const;

  /// Starts it, does `meanwhile` once a checkpoint lies in a folder in the making, kills it so much later without any
  /// warning, and waits for the end.
  CommandResult gneiss_killed(const std::vector<std::string>& arguments, std::chrono::microseconds later,
                              const std::function<void()>& meanwhile = {}) const;

  /// Starts a training on three devices or more that are processes, kills one of those that it has forked, and waits
  /// for the end, two minutes at most. Errors: std::runtime_error where nothing is forked, or a process is left behind.
  CommandResult gneiss_with_killed_child(
      const std::vector<std::string>& arguments,
      const std::vector<std::pair<std::string, std::string>>& environment = {}) const;

  std::filesystem::path path(std::string_view name) const { return folder_ / name; }
  void write(std::string_view name, std::string_view content) const;
  std::string read(std::string_view name) const;
  /// Names of what lies in the folder, sorted; the captured output is not counted.
  std::vector<std::string> list() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace gneiss::testing
