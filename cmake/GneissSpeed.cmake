# How the build stays short: precompiled headers, less optimizing where no time is spent, and ccache.
#
# GCC reads a precompiled header only under the flags and definitions that it was made with. So there are three: that of
# gneiss_base for libraries under the flags of the whole project, that of gneiss_ir for those of gneiss_quick_flags, and
# one of its own for each library with definitions of its own. They only save time: builds with sanitizers do without,
# so that a file that leans on what it does not include fails there.

set(GNEISS_PRECOMPILED_HEADERS <algorithm> <array> <charconv> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory>
    <numeric> <optional> <set> <span> <string> <string_view> <utility> <vector> <fmt/format.h>)
if(GNEISS_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# -O1 for code that reads settings, translates a model, plans or reports: it compiles in two thirds of the time. Loops
# over data and kernels keep -O3.
add_library(gneiss_quick_flags INTERFACE)
target_compile_options(gneiss_quick_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:-O1>)

# ccache takes files with a precompiled header only if it may disregard the times of headers, and if the compiler
# preprocesses them (-fpch-preprocess).
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CMAKE_CXX_COMPILER_LAUNCHER})
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
