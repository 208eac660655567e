// C++ text to functions of this process: the host's compiler makes a shared library of it, which is kept in a cache.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gneiss::runtime {

/// A shared library that is loaded.
class LoadedLibrary {
 public:
  LoadedLibrary() = default;
  LoadedLibrary(LoadedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  LoadedLibrary& operator=(LoadedLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;
  ~LoadedLibrary();

  /// Errors: kInternal if the file is no library.
  explicit LoadedLibrary(const std::filesystem::path& file);
  /// Errors: kInternal if there is no such function.
  void* find(const std::string& name) const;

 private:
  void* handle_ = nullptr;
};

/// Text to compile: a file, the headers that it includes by these names, and what the compiler is told about it.
struct CppText {
  std::string name;  ///< `loops.cc`, as messages call it
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string options;
};

struct HostCompiler {
  std::string command;                 ///< empty: GNEISS_CXX, CXX, or the first of c++, g++, clang++ in PATH
  std::filesystem::path cache;         ///< empty: $XDG_CACHE_HOME/gneiss/jit
  std::chrono::seconds time_limit{0};  ///< 0: GNEISS_JIT_SECONDS, or 60
};

struct Compiled {
  LoadedLibrary library;
  bool was_cached = false;
  double seconds = 0;
};

/// Compiles, or takes from the cache what was compiled of the same text by the same compiler with the same options.
/// Several processes may do so at once: what is complete appears in the cache under its name, and nothing else does.
/// Errors: kUnsupported if there is no compiler, it fails (with its messages, the lines that they are about, and the
/// line of the model that the text names above them) or takes too long; kDisk if the cache cannot be written.
Compiled compile_text(const CppText& text, const HostCompiler& compiler = {});

}  // namespace gneiss::runtime
