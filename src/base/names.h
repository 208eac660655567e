// "Did you mean": the nearest of a list of known names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gneiss {

/// The candidate with the smallest edit distance to `name` (case ignored), or "" when none is within a third of its
/// length.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// "did you mean 'x'? known: a, b, c" — the hint for an unknown name.
std::string unknown_name_hint(std::string_view name, std::span<const std::string> candidates);

/// `items` joined by `separator`.
std::string join(std::span<const std::string> items, std::string_view separator);

}  // namespace gneiss
