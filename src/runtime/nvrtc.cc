// The functions of NVRTC are looked up by name, so that no header of CUDA is needed. It finds no header of the host:
// the few of the standard library that texts include have stand-ins here.
#include "runtime/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "runtime/compile_cache.h"

namespace gneiss::runtime {
namespace {

namespace fs = std::filesystem;

/// Of the standard library what loops over edges and their headers name.
const std::pair<const char*, const char*> kStandIns[] = {
    {"array", R"(#pragma once
namespace std {
template <class T, unsigned long kSize>
struct array {
  T elements[kSize];
  constexpr T& operator[](unsigned long i) { return elements[i]; }
  constexpr const T& operator[](unsigned long i) const { return elements[i]; }
};
}  // namespace std
)"},
    {"bit", R"(#pragma once
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
}  // namespace std
)"},
    {"cmath", R"(#pragma once
namespace std {
inline float sqrt(float x) { return ::sqrtf(x); }
inline double sqrt(double x) { return ::sqrt(x); }
inline float log(float x) { return ::logf(x); }
inline double log(double x) { return ::log(x); }
inline double cos(double x) { return ::cos(x); }
}  // namespace std
)"},
    {"cstdint", R"(#pragma once
namespace std {
using int32_t = int;
using int64_t = long;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using size_t = unsigned long;
}  // namespace std
)"},
    {"limits", R"(#pragma once
namespace std {
template <class T>
struct numeric_limits;
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000); }
};
template <>
struct numeric_limits<double> {
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000L); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000L); }
  static constexpr double min() { return 0x1p-1022; }
  static constexpr double max() { return 0x1.fffffffffffffp1023; }
};
}  // namespace std
)"},
    {"numbers", R"(#pragma once
namespace std::numbers {
inline constexpr double pi = 3.14159265358979323846;
}  // namespace std::numbers
)"},
};

/// `-default-device`: functions without a word before them are the card's. Division and roots are IEEE's unless asked
/// otherwise.
constexpr const char* kOptions[] = {"--std=c++20", "-fmad=false", "-default-device", "--device-int128"};

constexpr int kSuccess = 0;
using Program = struct OpaqueProgram*;

/// NVRTC's C interface, as far as it is used.
struct Nvrtc {
  std::string file;
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_text)(int code) = nullptr;
  int (*create)(Program* program, const char* text, const char* name, int headers, const char* const* contents,
                const char* const* names) = nullptr;
  int (*compile)(Program program, int options, const char* const* list) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  int (*log_size)(Program program, std::size_t* size) = nullptr;
  int (*log)(Program program, char* text) = nullptr;
  int (*cubin_size)(Program program, std::size_t* size) = nullptr;
  int (*cubin)(Program program, char* code) = nullptr;
  int (*ptx_size)(Program program, std::size_t* size) = nullptr;
  int (*ptx)(Program program, char* text) = nullptr;
};

/// Names of the library: GNEISS_NVRTC alone where that is set, else by the loader's paths, then where CUDA is
/// installed.
std::vector<std::string> candidates() {
  if (const char* named = std::getenv("GNEISS_NVRTC"); named != nullptr && *named != '\0') return {named};
  constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  std::vector<std::string> folders = {""};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* home = std::getenv(variable);
    if (home == nullptr || *home == '\0') continue;
    for (const char* below : {"/lib64/", "/lib/"}) folders.push_back(std::string(home) + below);
  }
  for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"}) folders.emplace_back(folder);
  std::vector<std::string> all;
  for (const std::string& folder : folders) {
    for (const char* name : kNames) all.push_back(folder + name);
  }
  return all;
}

template <class Function>
void find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function == nullptr)
    throw Error(ErrorCode::kUnsupported, fmt::format("NVRTC has no function '{}'", name), {},
                "install NVRTC of CUDA 12 or 13");
}

Nvrtc load() {
  void* library = nullptr;
  Nvrtc nvrtc;
  for (const std::string& name : candidates()) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    nvrtc.file = name;
    break;
  }
  if (library == nullptr) {
    throw Error(ErrorCode::kUnsupported, "there is no NVRTC (looked for libnvrtc.so of CUDA 12 and 13)", {},
                "install it with CUDA's toolkit, or name its file in the environment variable GNEISS_NVRTC");
  }
  find(library, "nvrtcVersion", &nvrtc.version);
  find(library, "nvrtcGetErrorString", &nvrtc.error_text);
  find(library, "nvrtcCreateProgram", &nvrtc.create);
  find(library, "nvrtcCompileProgram", &nvrtc.compile);
  find(library, "nvrtcDestroyProgram", &nvrtc.destroy);
  find(library, "nvrtcGetProgramLogSize", &nvrtc.log_size);
  find(library, "nvrtcGetProgramLog", &nvrtc.log);
  find(library, "nvrtcGetCUBINSize", &nvrtc.cubin_size);
  find(library, "nvrtcGetCUBIN", &nvrtc.cubin);
  find(library, "nvrtcGetPTXSize", &nvrtc.ptx_size);
  find(library, "nvrtcGetPTX", &nvrtc.ptx);
  return nvrtc;
}

/// Loaded once, and never unloaded: it keeps threads and tables of its own.
const Nvrtc& nvrtc() {
  static const Nvrtc one = load();
  return one;
}

void check(int status, const char* doing) {
  if (status == kSuccess) return;
  throw Error(ErrorCode::kUnsupported, fmt::format("NVRTC failed while {}: {}", doing, nvrtc().error_text(status)));
}

/// A program of NVRTC's, given back with this.
class OpenProgram {
 public:
  explicit OpenProgram(const CppText& text) {
    std::vector<const char*> names;
    std::vector<const char*> contents;
    for (const auto& [name, content] : kStandIns) {
      names.push_back(name);
      contents.push_back(content);
    }
    for (const auto& [name, content] : text.headers) {
      names.push_back(name.c_str());
      contents.push_back(content.c_str());
    }
    check(nvrtc().create(&program_, text.text.c_str(), text.name.c_str(), static_cast<int>(names.size()),
                         contents.data(), names.data()),
          "taking a text");
  }
  OpenProgram(const OpenProgram&) = delete;
  OpenProgram& operator=(const OpenProgram&) = delete;
  ~OpenProgram() { nvrtc().destroy(&program_); }

  void compile(const CppText& text, const std::string& architecture) {
    const std::string target = "--gpu-architecture=" + architecture;
    std::vector<const char*> options = {target.c_str()};
    options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
    const int status = nvrtc().compile(program_, static_cast<int>(options.size()), options.data());
    if (status == kSuccess) return;
    throw Error(ErrorCode::kUnsupported, fmt::format("NVRTC failed ({}):\n{}", nvrtc().error_text(status),
                                                     explain(text, text_of(nvrtc().log_size, nvrtc().log))));
  }

  std::string cubin() { return bytes_of(nvrtc().cubin_size, nvrtc().cubin); }
  std::string ptx() { return text_of(nvrtc().ptx_size, nvrtc().ptx); }

 private:
  std::string text_of(int (*size_of)(Program, std::size_t*), int (*get)(Program, char*)) {
    std::string text = bytes_of(size_of, get);
    if (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

  std::string bytes_of(int (*size_of)(Program, std::size_t*), int (*get)(Program, char*)) {
    std::size_t size = 0;
    check(size_of(program_, &size), "giving back what it made");
    std::string text(size, '\0');
    check(get(program_, text.data()), "giving back what it made");
    return text;
  }

  Program program_ = nullptr;
};

}  // namespace

std::string nvrtc_version() {
  int major = 0;
  int minor = 0;
  check(nvrtc().version(&major, &minor), "asking for its version");
  return fmt::format("NVRTC {}.{}", major, minor);
}

CardCode compile_for_card(const CppText& text, const std::string& architecture, const HostCompiler& cache) {
  std::string key = fmt::format("// {} {}\n", nvrtc_version(), architecture);
  for (const char* option : kOptions) key += fmt::format("// {}\n", option);
  for (const auto& [name, content] : kStandIns) key += fmt::format("// {}\n{}\n", name, content);
  for (const auto& [name, content] : text.headers) key += fmt::format("// {}\n{}\n", name, content);
  const bool as_ptx = architecture.starts_with("compute_");
  const KeptFile kept(cache_of(cache.cache), key + text.text, as_ptx ? ".ptx" : ".cubin");
  CardCode made;
  made.was_cached = kept.is_there();
  if (!made.was_cached) {
    kept.make([&](const fs::path&, const fs::path& file) {
      OpenProgram program(text);
      program.compile(text, architecture);
      write_file(file, as_ptx ? program.ptx() : program.cubin());
    });
  }
  made.code = read_file(kept.path());
  return made;
}

}  // namespace gneiss::runtime
