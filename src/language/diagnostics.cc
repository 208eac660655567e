// Collecting and printing diagnostics. The layout follows what C++ and Rust programmers read every day.
#include "language/diagnostics.h"

#include <fmt/format.h>

#include "base/json.h"

namespace gneiss::language {
namespace {

struct CodeText {
  std::string_view name;
  std::string_view title;
};

constexpr CodeText kCodeTexts[] = {
#define GNEISS_DIAGNOSTIC(code, title) {#code, title},
#include "language/codes.def"
#undef GNEISS_DIAGNOSTIC
};

bool same_place(const Place& a, const Place& b) { return a.file == b.file && a.line == b.line && a.column == b.column; }

std::string position(const Place& place) {
  return place.line == 0 ? std::string() : fmt::format("{}:{}:{}: ", place.file, place.line, place.column);
}

std::string excerpt(const Place& place) {
  if (place.line == 0) return {};
  return fmt::format("  {}\n  {:>{}}^{}\n", place.line_text, "", place.indent,
                     std::string(std::max(0, place.width - 1), '~'));
}

}  // namespace

std::string_view code_name(Code code) { return kCodeTexts[static_cast<std::size_t>(code)].name; }
std::string_view code_title(Code code) { return kCodeTexts[static_cast<std::size_t>(code)].title; }

const std::vector<Code>& all_codes() {
  static const std::vector<Code> codes = {
#define GNEISS_DIAGNOSTIC(code, title) Code::code,
#include "language/codes.def"
#undef GNEISS_DIAGNOSTIC
  };
  return codes;
}

std::string render(const Diagnostic& diagnostic) {
  const char* severity = diagnostic.severity == Severity::kError ? "error" : "warning";
  std::string out = fmt::format("{}{}[{}]: {}\n", position(diagnostic.place), severity, code_name(diagnostic.code),
                                diagnostic.message);
  out += excerpt(diagnostic.place);
  for (const Note& note : diagnostic.notes) {
    out += fmt::format("{}note: {}\n", position(note.place), note.message);
    out += excerpt(note.place);
  }
  if (!diagnostic.help.empty()) out += fmt::format("help: {}\n", diagnostic.help);
  return out;
}

std::string render(std::span<const Diagnostic> diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) out += render(diagnostic);
  return out;
}

std::string to_json(std::span<const Diagnostic> diagnostics) {
  Json list = Json::list();
  const auto put_place = [](Json& item, const Place& place) {
    item["file"] = place.file;
    item["line"] = place.line;
    item["column"] = place.column;
    item["width"] = place.width;
  };
  for (const Diagnostic& diagnostic : diagnostics) {
    Json item;
    item["severity"] = diagnostic.severity == Severity::kError ? "error" : "warning";
    item["code"] = code_name(diagnostic.code);
    item["message"] = diagnostic.message;
    put_place(item, diagnostic.place);
    item["notes"] = Json::list();
    for (const Note& note : diagnostic.notes) {
      Json entry;
      entry["message"] = note.message;
      put_place(entry, note.place);
      item["notes"].push_back(std::move(entry));
    }
    item["help"] = diagnostic.help;
    list.push_back(std::move(item));
  }
  return list.dump(2);
}

Diagnostic& Diagnostics::error(Code code, const Span& span, std::string message) {
  return add(Severity::kError, code, span, std::move(message));
}

Diagnostic& Diagnostics::warning(Code code, const Span& span, std::string message) {
  return add(Severity::kWarning, code, span, std::move(message));
}

Diagnostic& Diagnostics::add(Severity severity, Code code, const Span& span, std::string message) {
  if (severity == Severity::kError ? full() : list_.size() >= 2 * kLimit) {
    dropped_ = {};  // nothing is located or kept: a text of nothing but mistakes must not cost more than its first ones
    return dropped_;
  }
  Diagnostic made{severity, code, std::move(message), locate(span), {}, {}};
  bool keep = true;
  for (const Diagnostic& known : list_) {
    // An unrolled loop repeats its mistakes; once is enough.
    if (known.code == code && known.place.line != 0 && same_place(known.place, made.place)) keep = false;
  }
  if (!keep) {
    dropped_ = std::move(made);
    return dropped_;
  }
  if (severity == Severity::kError) ++errors_;
  list_.push_back(std::move(made));
  return list_.back();
}

}  // namespace gneiss::language
