// Words that people write above columns, and what each of them means: compared without case, spaces and underscores.
#include "data/column_words.h"

#include <algorithm>
#include <array>
#include <set>

namespace gneiss::data {
namespace {

using Words = std::set<std::string_view>;

bool is_letter_or_digit(char c) {
  const auto u = static_cast<unsigned char>(c);
  return std::isalnum(u) != 0 || u >= 0x80;
}

/// The two ends as people name them; the words of a pair belong together.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kEnds = {{{"source", "target"},
                                                                                  {"src", "dst"},
                                                                                  {"from", "to"},
                                                                                  {"source", "destination"},
                                                                                  {"source", "dest"},
                                                                                  {"src", "dest"},
                                                                                  {"start", "end"},
                                                                                  {"head", "tail"},
                                                                                  {"sender", "receiver"},
                                                                                  {"origin", "destination"},
                                                                                  {"citing", "cited"},
                                                                                  {"subject", "object"},
                                                                                  {"parent", "child"},
                                                                                  {"follower", "followee"},
                                                                                  {"left", "right"},
                                                                                  {"u", "v"}}};
constexpr std::string_view kSuffixes[] = {"", "id", "node", "nodeid", "vertex", "vertexid", "name", "index", "idx"};

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// Pairs (a, b) of columns for which `fits(a, b)`.
template <class Fits>
Pairs pairs_that(const std::vector<std::string>& plain, const Fits& fits) {
  Pairs pairs;
  for (std::size_t a = 0; a < plain.size(); ++a) {
    for (std::size_t b = 0; b < plain.size(); ++b) {
      if (a != b && fits(plain[a], plain[b])) pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

/// source, source_id, src_node … and the same of the other end.
bool usual_pair(const std::string& a, const std::string& b) {
  for (const auto& [source, target] : kEnds) {
    for (const std::string_view suffix : kSuffixes) {
      if (a == std::string(source) + std::string(suffix) && b == std::string(target) + std::string(suffix)) return true;
    }
  }
  return false;
}

/// from_station and to_station, node_from and node_to: equal but for a pair of words.
bool composed_pair(const std::string& a, const std::string& b) {
  for (const auto& [source, target] : kEnds) {
    if (source.size() < 2) continue;
    if (a.starts_with(source) && b == std::string(target) + a.substr(source.size())) return true;
    if (a.ends_with(source) && b == a.substr(0, a.size() - source.size()) + std::string(target)) return true;
  }
  return false;
}

/// node1 and node2, protein_a and protein_b, i and j: equal but for one of a pair of characters.
bool numbered_pair(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  std::size_t at = a.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (at != a.size()) return false;
    at = i;
  }
  if (at == a.size()) return false;
  const std::string pair = {a[at], b[at]};
  if (pair == "12" || pair == "ab") return a != "w1" && a != "f1" && a != "x1";
  if (pair == "ij" || pair == "xy" || pair == "st" || pair == "ht" || pair == "uv")
    return a.size() == 1 || at + 1 == a.size();
  return pair == "01" && (a == "node0" || a == "id0" || a == "v0" || a == "n0");
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.starts_with("unnamed:")) return {};
  if (const std::size_t colon = lower.find(':'); colon != std::string::npos) {
    // Neo4j: "personId:ID(Person)", ":START_ID", "since:int".
    std::string role = lower.substr(colon + 1);
    role = role.substr(0, role.find('('));
    const bool telling = role == "id" || role == "start_id" || role == "end_id" || role == "label" || role == "type";
    lower = telling ? role : lower.substr(0, colon);
  }
  std::string plain;
  std::copy_if(lower.begin(), lower.end(), std::back_inserter(plain), is_letter_or_digit);
  return plain;
}

bool is_source_word(const std::string& plain) {
  static const Words kMore = {"user", "userid", "ego", "caller", "rater", "begin", "citingpaper", "person"};
  const bool usual = std::any_of(kEnds.begin(), kEnds.end(), [&](const auto& ends) {
    return std::any_of(std::begin(kSuffixes), std::end(kSuffixes),
                       [&](std::string_view suffix) { return plain == std::string(ends.first) + std::string(suffix); });
  });
  return usual || kMore.contains(plain);
}

bool is_target_word(const std::string& plain) {
  static const Words kMore = {"item",     "itemid",   "alter",     "callee",     "ratee",     "sink",     "friend",
                              "friendid", "neighbor", "neighbour", "citedpaper", "recipient", "followed", "reference"};
  const bool usual = std::any_of(kEnds.begin(), kEnds.end(), [&](const auto& ends) {
    return std::any_of(std::begin(kSuffixes), std::end(kSuffixes), [&](std::string_view suffix) {
      return plain == std::string(ends.second) + std::string(suffix);
    });
  });
  return usual || kMore.contains(plain);
}

bool is_weight_word(const std::string& plain) {
  static const Words kWords = {"w",           "value",      "val",  "strength",   "count",
                               "counts",      "similarity", "sim",  "confidence", "corr",
                               "correlation", "frequency",  "freq", "amount",     "multiplicity"};
  return kWords.contains(plain) || plain.ends_with("weight") || plain.ends_with("weights") || plain.ends_with("score");
}

bool is_id_word(const std::string& plain) {
  static const Words kWords = {"id",   "ids",      "node", "nodes", "nodeid", "nodeids",  "vertex",    "vertexid",
                               "name", "nodename", "key",  "uid",   "entity", "entityid", "nodeindex", "nodeidx"};
  return kWords.contains(plain);
}

bool is_leading_id_word(std::string_view name) {
  const std::string plain = plain_name(name);
  const bool composed = name.ends_with("_id") || name.ends_with("_ID") || name.ends_with("Id") ||
                        name.ends_with(" id") || name.ends_with(" ID") || name.ends_with(".id") || name.ends_with("ID");
  return is_id_word(plain) || composed || plain == "userid" || plain == "paperid" || plain == "user" ||
         plain == "paper";
}

bool is_label_word(const std::string& plain) {
  static const Words kWords = {
      "label",       "labels",    "class",           "classes", "y",         "target",     "targets",   "category",
      "group",       "community", "modularityclass", "club",    "nodelabel", "nodelabels", "nodeclass", "truth",
      "groundtruth", "ytrue",     "subject",         "outcome", "classid",   "labelid",    "classlabel"};
  return kWords.contains(plain);
}

bool is_type_word(const std::string& plain) {
  static const Words kWords = {"type", "kind",         "edgetype",  "etype", "relation",
                               "rel",  "relationship", "predicate", "label"};
  return kWords.contains(plain);
}

bool is_time_word(const std::string& plain) {
  static const Words kWords = {"ts", "t", "year", "month", "day", "timeset", "since", "created", "createdat", "epoch"};
  return kWords.contains(plain) || plain.find("time") != std::string::npos || plain.find("date") != std::string::npos;
}

bool is_index_word(const std::string& plain) {
  static const Words kWords = {"", "index", "rownames", "rowname", "rowid", "rownumber", "row", "rownum"};
  return kWords.contains(plain);
}

std::vector<std::pair<std::size_t, std::size_t>> end_pairs(const std::vector<std::string>& names) {
  std::vector<std::string> plain;
  std::transform(names.begin(), names.end(), std::back_inserter(plain),
                 [](const std::string& name) { return plain_name(name); });
  const auto exact = [](const std::string& a, const std::string& b) {
    return std::any_of(kEnds.begin(), kEnds.end(),
                       [&](const auto& ends) { return a == ends.first && b == ends.second; });
  };
  const auto mixed = [](const std::string& a, const std::string& b) { return is_source_word(a) && is_target_word(b); };
  if (Pairs pairs = pairs_that(plain, exact); !pairs.empty()) return pairs;
  if (Pairs pairs = pairs_that(plain, usual_pair); !pairs.empty()) return pairs;
  if (Pairs pairs = pairs_that(plain, mixed); !pairs.empty()) return pairs;
  if (Pairs pairs = pairs_that(plain, composed_pair); !pairs.empty()) return pairs;
  return pairs_that(plain, numbered_pair);
}

}  // namespace gneiss::data
