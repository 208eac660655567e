// A line is made in a buffer of its own, so that the hash of the file grows with it. Lines are written some at a time,
// and one that the system does not take is kept: a disk that was full once leaves no gap. Whoever writes holds a lock,
// which the system takes back when the process ends, however it ends.
#include "runs/metrics_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash_bytes.h"
#include "base/json.h"

namespace gneiss::runs {
namespace {

namespace fs = std::filesystem;

/// Lines are written once there are so many bytes of them.
constexpr std::size_t kBlock = 4096;

[[noreturn]] void fail_disk(const fs::path& path, const std::string& reason) {
  throw Error(ErrorCode::kDisk, fmt::format("cannot write metrics.jsonl: {}", reason), path.string(),
              "choose another --out, or free space");
}

/// A line in the making; nine numbers of at most 24 characters and their names always fit.
struct Line {
  static constexpr std::size_t kMost = 640;
  std::array<char, kMost> text{};
  std::size_t size = 0;

  template <class... Values>
  void add(const char* format, Values... values) {
    const int put = std::snprintf(text.data() + size, text.size() - size, format, values...);
    if (put > 0) size += static_cast<std::size_t>(put);
  }
  /// `,"name":value`, null for what is not finite.
  void add_number(const char* name, double value) {
    if (std::isfinite(value)) {
      add(",\"%s\":%.17g", name, value);
    } else {
      add(",\"%s\":null", name);
    }
  }
};

Line line_of(std::int64_t run, const epochs::EpochRecord& epoch) {
  Line line;
  line.add("{\"run\":%lld,\"epoch\":%lld", static_cast<long long>(run), static_cast<long long>(epoch.epoch));
  line.add_number("loss", epoch.loss);
  line.add_number("lr", epoch.lr);
  line.add_number("seconds", epoch.seconds);
  if (epoch.evaluated) {
    line.add_number("eval_seconds", epoch.eval_seconds);
    line.add_number("val_loss", epoch.val_loss);
    line.add_number("train", epoch.scores.train);
    line.add_number("val", epoch.scores.val);
    line.add_number("test", epoch.scores.test);
  }
  line.add("}\n");
  return line;
}

void extend(MetricsEnd* end, std::string_view line) {
  end->bytes += line.size();
  end->hash = hash_bytes(line.data(), line.size(), end->hash);
}

/// The first `bytes` bytes, or as many as there are: what lies behind them, another rank may be cutting off.
std::string read_beginning(const fs::path& path, std::size_t bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text(bytes, '\0');
  std::size_t done = 0;
  ssize_t got = file < 0 ? -1 : 1;
  while (got > 0 && done < bytes) {
    got = read(file, text.data() + done, bytes - done);
    if (got > 0) done += static_cast<std::size_t>(got);
    if (got < 0 && errno == EINTR) got = 1;
  }
  const int error = errno;
  if (file >= 0) ::close(file);
  if (got < 0) {
    throw Error(ErrorCode::kBadData, fmt::format("cannot read '{}': {}", path.string(), std::strerror(error)),
                path.string(), "check the path and its permissions");
  }
  text.resize(done);
  return text;
}

/// The text up to `end`, once it is known to be that.
std::string text_until(const fs::path& path, const MetricsEnd& end) {
  std::string text = read_beginning(path, end.bytes);
  MetricsEnd found;
  for (std::size_t from = 0; from < text.size() && found.bytes < end.bytes;) {
    const std::size_t newline = text.find('\n', from);
    const std::size_t next = newline == std::string::npos ? text.size() : newline + 1;
    extend(&found, std::string_view(text).substr(from, next - from));
    from = next;
  }
  if (found.bytes != end.bytes || found.hash != end.hash) {
    throw Error(ErrorCode::kBadData,
                fmt::format("the first {} bytes are not the lines that the checkpoint knows", end.bytes), path.string(),
                "it was changed after it was written: copy the folder again, or train anew");
  }
  text.resize(end.bytes);
  return text;
}

double number(const Json& line, std::string_view key) {
  const Json* found = line.find(key);
  return found == nullptr || found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->real();
}

epochs::EpochRecord record_of(const Json& line) {
  epochs::EpochRecord epoch;
  epoch.epoch = line.at("epoch").integer();
  epoch.loss = number(line, "loss");
  epoch.lr = number(line, "lr");
  epoch.seconds = number(line, "seconds");
  epoch.evaluated = line.find("eval_seconds") != nullptr;
  epoch.eval_seconds = epoch.evaluated ? number(line, "eval_seconds") : 0;
  epoch.val_loss = number(line, "val_loss");
  epoch.scores = {number(line, "train"), number(line, "val"), number(line, "test")};
  return epoch;
}

}  // namespace

MetricsFile::MetricsFile(const fs::path& path)
    : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail_disk(path_, std::strerror(errno));
  flock(file_, LOCK_EX | LOCK_NB);
  waiting_.reserve(kBlock + Line::kMost);
}

MetricsFile::MetricsFile(const fs::path& path, const MetricsEnd& end)
    : path_(path), file_(open(path.c_str(), O_WRONLY | O_CLOEXEC)), end_(end) {
  if (file_ < 0) fail_disk(path_, std::strerror(errno));
  try {
    if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw Error(ErrorCode::kUsage, "this training is still running in another process", path_.string(),
                  "wait for its end, or end it");
    }
    text_until(path_, end);
    const auto bytes = static_cast<off_t>(end.bytes);
    if (ftruncate(file_, bytes) != 0 || lseek(file_, bytes, SEEK_SET) != bytes) fail_disk(path_, std::strerror(errno));
    waiting_.reserve(kBlock + Line::kMost);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

MetricsFile::~MetricsFile() {
  if (file_ < 0) return;
  write_waiting();
  ::close(file_);
}

void MetricsFile::add(std::int64_t run, const epochs::EpochRecord& epoch) noexcept {
  const Line line = line_of(run, epoch);
  waiting_.append(line.text.data(), line.size);
  extend(&end_, {line.text.data(), line.size});
  if (waiting_.size() >= kBlock) write_waiting();
}

/// False, with errno set, if some lines still wait.
bool MetricsFile::write_waiting() {
  std::size_t done = 0;
  while (done < waiting_.size()) {
    const ssize_t put = ::write(file_, waiting_.data() + done, waiting_.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    done += static_cast<std::size_t>(put);
  }
  waiting_.erase(0, done);
  return waiting_.empty();
}

MetricsEnd MetricsFile::sync() {
  if (!write_waiting() || fsync(file_) != 0) fail_disk(path_, std::strerror(errno));
  return end_;
}

void MetricsFile::close() {
  sync();
  ::close(std::exchange(file_, -1));
}

std::vector<RunEpochs> read_metrics(const fs::path& path, const MetricsEnd& end) {
  const std::string text = text_until(path, end);
  std::vector<RunEpochs> runs;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t next = text.find('\n', from) + 1;
    const Json line = Json::parse(std::string_view(text).substr(from, next - from), path.string());
    const std::int64_t run = line.at("run").integer();
    if (runs.empty() || runs.back().run != run) runs.push_back({run, {}});
    runs.back().epochs.push_back(record_of(line));
    from = next;
  }
  return runs;
}

bool is_being_written(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool held = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return held;
}

}  // namespace gneiss::runs
