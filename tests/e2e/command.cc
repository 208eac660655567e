#include "e2e/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace gneiss::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOut = ".stdout";
constexpr const char* kErr = ".stderr";
constexpr const char* kCache = ".cache";

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void redirect(const fs::path& path, int descriptor) {
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  dup2(file, descriptor);
  close(file);
}

pid_t start(const fs::path& folder, const std::vector<std::string>& arguments,
            const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<std::string> words = {GNEISS_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  if (chdir(folder.c_str()) != 0) _exit(126);
  redirect(folder / kOut, STDOUT_FILENO);
  redirect(folder / kErr, STDERR_FILENO);
  setenv("XDG_CACHE_HOME", (folder / kCache).c_str(), 1);  // rates of this machine would change plans
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execv(argv[0], argv.data());
  _exit(127);
}

CommandResult finish(const fs::path& folder, pid_t child) {
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  CommandResult result;
  result.peak_bytes = std::int64_t{used.ru_maxrss} * 1024;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_all(folder / kOut);
  result.err = read_all(folder / kErr);
  return result;
}

/// True once some run folder in the making has lines of metrics.
bool epochs_run(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().find(".partial-") == std::string::npos) continue;
    if (fs::file_size(entry.path() / "metrics.jsonl", ignored) > 0 && !ignored) return true;
  }
  return false;
}

/// Has the child ended? It can be waited for all the same.
bool ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

/// What a process has forked and not waited for.
std::vector<pid_t> children_of(pid_t parent) {
  const std::string id = std::to_string(parent);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  return {std::istream_iterator<pid_t>(file), std::istream_iterator<pid_t>()};
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().find(".partial-") == std::string::npos) continue;
    if (fs::exists(entry.path() / "checkpoint.bin", ignored)) return true;
  }
  return false;
}

}  // namespace

Workplace::Workplace() {
  std::string name = (fs::temp_directory_path() / "gneiss-e2e-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

CommandResult Workplace::gneiss(const std::vector<std::string>& arguments,
                                const std::vector<std::pair<std::string, std::string>>& environment) const {
  return finish(folder_, start(folder_, arguments, environment));
}

CommandResult Workplace::gneiss_with_signal(const std::vector<std::string>& arguments, int signal) const {
  const pid_t child = start(folder_, arguments, {});
  for (int i = 0; i < 3000 && !epochs_run(folder_); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(child, signal);
  return finish(folder_, child);
}

CommandResult Workplace::gneiss_killed(const std::vector<std::string>& arguments, std::chrono::microseconds later,
                                       const std::function<void()>& meanwhile) const {
  const pid_t child = start(folder_, arguments, {});
  for (int i = 0; i < 60000 && !ended(child) && !has_checkpoint(folder_); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (meanwhile) meanwhile();
  std::this_thread::sleep_for(later);
  kill(child, SIGKILL);
  return finish(folder_, child);
}

CommandResult Workplace::gneiss_with_killed_child(
    const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& environment) const {
  const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  const pid_t parent = start(folder_, arguments, environment);
  std::vector<pid_t> children;
  for (int i = 0; i < 600 && !ended(parent) && children.size() < 2; ++i, nap()) children = children_of(parent);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // for a step or two
  if (children.size() >= 2) kill(children[0], SIGKILL);
  for (int i = 0; i < 2400 && !ended(parent); ++i) nap();
  kill(parent, SIGKILL);  // if it still waits
  CommandResult result = finish(folder_, parent);
  if (children.size() < 2) throw std::runtime_error("nothing was forked: " + result.err);
  for (const pid_t child : children) {
    if (fs::exists("/proc/" + std::to_string(child)))
      throw std::runtime_error("a process is left behind: " + result.err);
  }
  return result;
}

void Workplace::write(std::string_view name, std::string_view content) const {
  std::ofstream(folder_ / name, std::ios::binary) << content;
}

std::string Workplace::read(std::string_view name) const { return read_all(folder_ / name); }

std::vector<std::string> Workplace::list() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name != kOut && name != kErr && name != kCache) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gneiss::testing
