// What people write by habit of Python, PyTorch, C or mathematics, and what it is called here.
//
// A name is looked up here before the nearest known name is suggested: `gelu` is nearer to `relu` in letters than in
// meaning, and `edge_index` is near nothing at all. Names may carry a module in front (torch.nn.functional.relu).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gneiss::language {

/// What to write instead of a word that begins a definition (def, class, import …); "" if it is nobody's habit. All
/// functions here give a sentence for Diagnostic::help.
std::string definition_habit(std::string_view word);
/// … a word that begins a statement (let, elif, pass …).
std::string statement_habit(std::string_view word);
/// … the name of a function or class that is called: gelu, nn.Linear, log_softmax, range …
std::string call_habit(std::string_view name);
/// … the name of a value: None, edge_index, in_channels …
std::string name_habit(std::string_view name);
/// … a member of a value or module that is read: x.T, x.shape, self.W …; `object` is the text before the dot.
std::string member_habit(std::string_view object, std::string_view member);
/// … a character that has no meaning in programs: a typographic quote, a multiplication sign, a no-break space …
std::string character_habit(std::uint32_t code);
/// … an edge's end (@source) or edges of a reduction (over neighbors).
std::string end_habit(std::string_view end);
std::string edges_habit(std::string_view edges);
/// … an initialiser of a parameter (xavier_uniform, kaiming …).
std::string init_habit(std::string_view name);
/// … a type (Tensor, integer, str …).
std::string type_habit(std::string_view name);

/// The hint for a text that is none of `choices`: the one that is called so elsewhere (add: sum), else the nearest.
std::string choice_habit(std::string_view text, std::span<const std::string> choices);

/// True if `name` is a module or object of Python programs: torch, nn, F, np, self …
bool is_module_habit(std::string_view name);

}  // namespace gneiss::language
