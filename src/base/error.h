// Checks that throw gneiss::Error.
//
// GNEISS_CHECK guards against what a user can cause and is always on; GNEISS_ASSERT guards against our own bugs.
#pragma once

#include <fmt/core.h>

#include "gneiss/error.h"

#define GNEISS_CHECK(condition, code, ...)                       \
  do {                                                           \
    if (!(condition)) [[unlikely]] {                             \
      throw ::gneiss::Error((code), ::fmt::format(__VA_ARGS__)); \
    }                                                            \
  } while (false)

#define GNEISS_ASSERT(condition, ...)                                                         \
  do {                                                                                        \
    if (!(condition)) [[unlikely]] {                                                          \
      throw ::gneiss::Error(::gneiss::ErrorCode::kInternal, ::fmt::format(__VA_ARGS__),       \
                            ::fmt::format("{}:{}", __FILE__, __LINE__),                       \
                            "this is a defect of Gneiss; please report it with the command"); \
    }                                                                                         \
  } while (false)
