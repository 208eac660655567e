// The one exception type of Gneiss.
//
// A user mistake is reported as what went wrong, where, and what to do next, so that a caller can print it without
// adding anything. The library never prints, exits or aborts; `exit_code` says what a command should return.
// This header is the lowest of all: the public API and every folder under src/ share it, so that an error keeps its
// type from the reader that finds it to the command that shows it.
#pragma once

#include <exception>
#include <string>

namespace gneiss {

/// What kind of failure it is; decides the exit code of a command.
enum class ErrorCode {
  kInternal,     ///< our bug
  kUsage,        ///< a wrong option, key, name or program text
  kUnsupported,  ///< well-formed, but not something Gneiss does
  kBadData,      ///< a file or an array that does not hold what it should
  kShape,        ///< sizes that do not fit together
  kOutOfMemory,  ///< memory refused or beyond the given limit
  kDisk,         ///< a file that cannot be written
  kNumeric,      ///< NaN or infinity where a number is needed
  kPeerLost,     ///< another rank went away
  kStopped,      ///< stopped on request, with a checkpoint written
};

/// Exit status of a command that fails with `code` (DESIGN: 1 internal, 2 usage, 3 data, 4 memory or disk, 5 numeric,
/// 6 peer lost, 75 stopped).
int exit_code(ErrorCode code);

/// A failure with a code, a message, the place it concerns and a hint.
class Error : public std::exception {
 public:
  /// `message` says what was expected and what was found; `where` names a file, row, key or span; `hint` says what to
  /// do.
  explicit Error(ErrorCode code, std::string message, std::string where = {}, std::string hint = {});

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

  /// All parts, one a line: `error: …`, `  where: …`, `  hint: …`.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
  std::string where_;
  std::string hint_;
  std::string text_;
};

}  // namespace gneiss
