// Definitions: layers, models, functions, schedule blocks; and the handling of tokens.
//
//   module     := { layer | model | function | schedule }
//   layer      := "layer" NAME "(" [parameter {"," parameter}] ")" ["->" type] block
//   parameter  := NAME ":" type ["=" expression]
//   type       := NAME ["[" expression {"," expression} "]"] | STRING {"|" STRING}
#include "language/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.h"
#include "language/habits.h"
#include "language/parser_impl.h"

namespace gneiss::language {
namespace {

std::string show(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the file";
    case TokenKind::kString:
      return "a string";
    default:
      return fmt::format("'{}'", token.text);
  }
}

std::string strip_reference(std::string name) {
  while (!name.empty() && (name.back() == '*' || name.back() == '&')) name.pop_back();
  return name;
}

}  // namespace

Parser::Deeper::Deeper(Parser* parser) : parser_(parser) {
  if (++parser_->depth_ <= kMaxDepth) return;
  parser_->diagnostics_.error(Code::E0203, parser_->peek().span, fmt::format("nested more than {} deep", kMaxDepth));
  --parser_->depth_;
  throw SyntaxAbort{};
}

const Token& Parser::peek(std::size_t ahead) const {
  return tokens_.list[std::min(position_ + ahead, tokens_.list.size() - 1)];
}

const Token& Parser::take() {
  const Token& token = peek();
  if (position_ + 1 < tokens_.list.size()) ++position_;
  return token;
}

bool Parser::at(std::string_view text, std::size_t ahead) const {
  const Token& token = peek(ahead);
  return (token.kind == TokenKind::kSymbol || token.kind == TokenKind::kName) && token.text == text;
}

bool Parser::accept(std::string_view text) {
  if (!at(text)) return false;
  take();
  return true;
}

void Parser::unexpected(std::string_view wanted) {
  // At the end of a line the mistake is what is missing after the last token, not the token of the next line.
  diagnostics_.error(Code::E0201, peek().span, fmt::format("expected {}, got {}", wanted, show(peek()))).help =
      habit_of_next();
  throw SyntaxAbort{};
}

const Token& Parser::expect(std::string_view text) {
  if (!at(text)) unexpected(fmt::format("'{}'", text));
  return take();
}

const Token& Parser::expect_name(std::string_view what) {
  if (!at_name()) unexpected(what);
  return take();
}

void Parser::close(std::string_view bracket, const Token& opened) {
  if (accept(bracket)) return;
  if (at_end()) {
    const std::string habit = comment_for_division();
    diagnostics_.error(Code::E0204, opened.span, fmt::format("'{}' is never closed", opened.text)).help =
        habit.empty() ? fmt::format("expected '{}' before the end of the file", bracket) : habit;
    throw SyntaxAbort{};
  }
  Diagnostic& made =
      diagnostics_.error(Code::E0201, peek().span, fmt::format("expected '{}', got {}", bracket, show(peek())));
  made.help = habit_of_next();
  made.notes.push_back({fmt::format("to close this '{}'", opened.text), locate(opened.span)});
  skip_word_within_line();
  throw SyntaxAbort{};
}

std::unique_ptr<Module> Parser::module() {
  auto made = std::make_unique<Module>();
  while (!at_end() && !diagnostics_.full()) {
    const std::size_t before = position_;
    try {
      if (at("layer")) {
        made->definitions.push_back(definition(DefinitionKind::kLayer));
      } else if (at("model")) {
        made->definitions.push_back(definition(DefinitionKind::kModel));
      } else if (at("function")) {
        made->definitions.push_back(definition(DefinitionKind::kFunction));
      } else if (at("schedule")) {
        schedule_block(made.get());
      } else {
        refuse_foreign_definition();
        const std::array<std::string, 4> known = {"layer", "model", "function", "schedule"};
        const std::string nearest = nearest_name(peek().text, known);
        Diagnostic& wrong = diagnostics_.error(
            Code::E0201, peek().span,
            fmt::format("expected 'layer', 'model', 'function' or 'schedule', got {}", show(peek())));
        wrong.help = habit_of_definition();
        if (wrong.help.empty() && !nearest.empty()) wrong.help = fmt::format("did you mean '{}'?", nearest);
        throw SyntaxAbort{};
      }
    } catch (const SyntaxAbort&) {
      if (position_ == before) take();
      skip_definition();
    }
  }
  return made;
}

/// To the next word that begins a definition.
void Parser::skip_definition() {
  while (!at_end()) {
    const bool begins = at("layer") || at("model") || at("function") || at("schedule");
    if (begins && (at_name(1) || at("{", 1))) return;
    take();
  }
}

std::unique_ptr<Definition> Parser::definition(DefinitionKind kind) {
  auto made = std::make_unique<Definition>();
  made->kind = kind;
  const Token& word = take();
  made->doc = comment_above(word.span);
  const Token& name = expect_name(fmt::format("the name of the {}", word.text));
  made->name = name.text;
  made->name_span = name.span;
  const Token& opened = peek();
  if (kind != DefinitionKind::kModel || at("(")) {
    expect("(");
    while (!at(")") && !at_end()) {
      made->parameters.push_back(parameter(kind));
      if (!accept(",")) break;
    }
    close(")", opened);
  }
  for (Parameter& item : made->parameters) item.doc = comment_after(item.span);
  if (accept("->")) made->result = type();
  made->body = block();
  made->end_span = last_span();
  return made;
}

/// The first comment that begins at or after `offset`.
std::vector<Comment>::const_iterator Parser::first_comment_from(std::uint32_t offset) const {
  return std::lower_bound(tokens_.comments.begin(), tokens_.comments.end(), offset,
                          [](const Comment& comment, std::uint32_t at) { return comment.span.begin < at; });
}

/// The comment on the line before `span`, if that is all there is between them.
std::string Parser::comment_above(const Span& span) const {
  const auto next = first_comment_from(span.begin);
  if (next == tokens_.comments.begin()) return {};
  const Comment& comment = *std::prev(next);
  const std::string_view between =
      std::string_view(source_.text).substr(comment.span.end, span.begin - comment.span.end);
  const bool blank = between.find_first_not_of(" \t\r\n") == std::string_view::npos;
  return blank && between.find('\n') == between.rfind('\n') ? comment.text : std::string();
}

/// The comment that ends the line of `span`, if nothing but punctuation is between them.
std::string Parser::comment_after(const Span& span) const {
  const auto next = first_comment_from(span.end);
  if (next == tokens_.comments.end()) return {};
  const std::string_view between = std::string_view(source_.text).substr(span.end, next->span.begin - span.end);
  return between.find_first_not_of(" \t,)->") == std::string_view::npos ? next->text : std::string();
}

Parameter Parser::parameter(DefinitionKind kind) {
  if (kind == DefinitionKind::kFunction && !at(":", 1)) return script_parameter();
  Parameter made;
  const Token& name = expect_name("the name of a parameter");
  made.name = name.text;
  check_parameter_form(name, kind);
  expect(":");
  made.type = type();
  if (accept("=")) made.otherwise = expression();
  made.span = join(name.span, last_span());
  return made;
}

/// `Graph g`, `propNode<int> label`, `container<int>& sizes`.
Parameter Parser::script_parameter() {
  Parameter made;
  const Token& type_name = expect_name("the type of a parameter");
  made.type.name = strip_reference(type_name.text);
  made.type.span = type_name.span;
  if (at("<")) type_argument();
  while (accept("&") || accept("*")) {
  }
  made.name = expect_name("the name of a parameter").text;
  if (accept("(")) {  // a property may name its graph
    while (!at(")") && !at_end()) take();
    expect(")");
  }
  made.span = join(type_name.span, last_span());
  return made;
}

TypeExpr Parser::type() {
  TypeExpr made;
  made.span = peek().span;
  if (peek().kind == TokenKind::kString) {
    made.name = "string";
    do {
      if (peek().kind != TokenKind::kString) unexpected("a string");
      made.choices.push_back(take().text);
    } while (accept("|"));
  } else {
    static const std::vector<std::string> kKnown = {"node", "edge", "int", "float", "bool", "string", "list"};
    const Token& name = expect_name("a type");
    made.name = name.text;
    if (std::find(kKnown.begin(), kKnown.end(), name.text) == kKnown.end()) {
      const std::string habit = type_habit(name.text);
      diagnostics_.error(Code::E0207, name.span, fmt::format("unknown type '{}'", name.text)).help =
          habit.empty() ? unknown_name_hint(name.text, kKnown) : habit;
      made.name = "unknown";
    }
    if (at("[")) made.shape = bracketed_list();
  }
  made.span = join(made.span, last_span());
  return made;
}

/// schedule { layer 1: order = auto, tile = 32; order = transform_first; }
void Parser::schedule_block(Module* module) {
  take();
  const Token& opened = expect("{");
  while (!at("}") && !at_end()) {
    schedule_item(module);
    accept(";");
  }
  close("}", opened);
}

void Parser::schedule_item(Module* module) {
  std::int64_t layer = 0;
  if (accept("layer")) {
    if (peek().kind != TokenKind::kInteger) unexpected("the number of a layer");
    layer = take().integer;
    expect(":");
  }
  do {
    const Token& key = expect_name("a schedule key");
    expect("=");
    const Token& value = peek();
    if (value.kind == TokenKind::kSymbol || value.kind == TokenKind::kEnd) unexpected("a value");
    take();
    module->schedule.push_back({layer, key.text, key.span, value.text, value.span});
  } while (accept(","));
}

std::unique_ptr<Module> parse(const Source& source, Diagnostics* diagnostics) {
  return Parser(source, tokenize(source, diagnostics), diagnostics).module();
}

}  // namespace gneiss::language
