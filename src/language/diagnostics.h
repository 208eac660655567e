// Diagnostics as values: what is wrong, where, and what to do, with no need of the text they came from.
//
//   my.gneiss:3:15: error[E0404]: matrix product: …
//     z = x * W;
//         ~~^~~
//   note: my.gneiss:2:9: 'W' is declared here
//   help: …
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "language/source.h"

namespace gneiss::language {

enum class Code : std::uint16_t {
#define GNEISS_DIAGNOSTIC(code, title) code,
#include "language/codes.def"
#undef GNEISS_DIAGNOSTIC
};

/// "E0404".
std::string_view code_name(Code code);
/// What the code is about, a few words.
std::string_view code_title(Code code);
const std::vector<Code>& all_codes();

enum class Severity : std::uint8_t { kError, kWarning };

struct Note {
  std::string message;
  Place place;
};

struct Diagnostic {
  Severity severity = Severity::kError;
  Code code = Code::E0201;
  std::string message;
  Place place;
  std::vector<Note> notes;
  std::string help;  ///< what to do, often a nearest name
};

/// The text shown to people, with its line, underline, notes and help; ends with a newline.
std::string render(const Diagnostic& diagnostic);
std::string render(std::span<const Diagnostic> diagnostics);
/// A JSON array of {severity, code, message, file, line, column, width, notes: [{message, file, line, column}], help}.
std::string to_json(std::span<const Diagnostic> diagnostics);

/// Collects diagnostics: at most kLimit errors, none twice.
class Diagnostics {
 public:
  static constexpr std::size_t kLimit = 20;

  /// Adds an error and returns it, to be given notes and help at once (the reference lives until the next call).
  Diagnostic& error(Code code, const Span& span, std::string message);
  Diagnostic& warning(Code code, const Span& span, std::string message);

  bool has_errors() const { return errors_ > 0; }
  bool full() const { return errors_ >= kLimit; }
  const std::vector<Diagnostic>& list() const { return list_; }
  std::vector<Diagnostic> take() { return std::move(list_); }

 private:
  Diagnostic& add(Severity severity, Code code, const Span& span, std::string message);
  std::vector<Diagnostic> list_;
  Diagnostic dropped_;  ///< receives notes for what is not kept
  std::size_t errors_ = 0;
};

}  // namespace gneiss::language
