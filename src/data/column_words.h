// Which words in a header say what a column holds. Internal to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gneiss::data {

/// A column's name as it is compared: lower case, letters and digits only; of Neo4j's "name:TYPE" the part that counts.
std::string plain_name(std::string_view name);

bool is_source_word(const std::string& plain);
bool is_target_word(const std::string& plain);
bool is_weight_word(const std::string& plain);
bool is_id_word(const std::string& plain);
/// As is_id_word, and "paper_id": what names ids when it stands in front.
bool is_leading_id_word(std::string_view name);
bool is_label_word(const std::string& plain);
bool is_type_word(const std::string& plain);
bool is_time_word(const std::string& plain);
/// "", "Unnamed: 0", "index", …: what pandas and R call the column of row names.
bool is_index_word(const std::string& plain);

/// The pairs of columns that name both ends of an edge: source and target, from_city and to_city, protein1 and
/// protein2. The most telling kind of pair that is there at all; more than one pair of it means that nobody knows.
std::vector<std::pair<std::size_t, std::size_t>> end_pairs(const std::vector<std::string>& names);

}  // namespace gneiss::data
