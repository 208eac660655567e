// Exit codes by kinds of errors; docs/cli.md lists them.
#include "base/error.h"

#include <utility>

#include "base/visible.h"

namespace gneiss {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
      return 1;
    case ErrorCode::kUsage:
    case ErrorCode::kUnsupported:
      return 2;
    case ErrorCode::kBadData:
    case ErrorCode::kShape:
      return 3;
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kDisk:
      return 4;
    case ErrorCode::kNumeric:
      return 5;
    case ErrorCode::kPeerLost:
      return 6;
    case ErrorCode::kStopped:
      return 75;
  }
  return 1;
}

Error::Error(ErrorCode code, std::string message, std::string where, std::string hint)
    : code_(code), message_(std::move(message)), where_(std::move(where)), hint_(std::move(hint)) {
  text_ = "error: " + visible_lines(message_);
  if (!where_.empty()) text_ += "\n  where: " + visible_lines(where_);
  if (!hint_.empty()) text_ += "\n  hint: " + visible_lines(hint_);
}

}  // namespace gneiss
