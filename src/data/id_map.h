// The ids of a text file's nodes. Internal to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/readers.h"

namespace gneiss::data {

/// Ids of nodes, numbers or words, and the node that each became.
class IdMap {
 public:
  bool words = false;

  void add(std::int64_t id) {
    least_ = std::min(least_, id);
    most_ = std::max(most_, id);
    if (id >= 0 && id < kDirect) {
      const auto slot = static_cast<std::size_t>(id);
      if (slot >= seen_.size())
        seen_.resize(std::max(slot + 1, std::min<std::size_t>(kDirect, seen_.size() * 2)), false);
      seen_[slot] = true;
      return;
    }
    sparse_.push_back(id);
    if (sparse_.size() >= next_compaction_) compact();
  }
  /// True if the word is new.
  bool add(std::string_view word) {
    const auto [at, fresh] = by_word_.try_emplace(std::string(word), static_cast<NodeId>(names_.size()));
    if (!fresh) return false;
    if (names_.size() >= kMaxNodes)
      throw Error(ErrorCode::kBadData, "more nodes than 32-bit ids can number", std::string(word));
    names_.push_back(at->first);
    return true;
  }
  /// Whether an id was added, before `finish`.
  bool has(std::string_view word) const { return by_word_.contains(std::string(word)); }
  bool has(std::int64_t id) {
    if (id >= 0 && id < kDirect)
      return static_cast<std::size_t>(id) < seen_.size() && seen_[static_cast<std::size_t>(id)];
    if (sorted_ != sparse_.size()) compact();
    return std::binary_search(sparse_.begin(), sparse_.end(), id);
  }
  bool empty() const { return names_.empty() && most_ < least_; }
  /// The least and the largest number that was added; the largest is less than the least if none was.
  std::pair<std::int64_t, std::int64_t> range() const { return {least_, most_}; }

  /// Numbers the ids: integers by value. Errors: kBadData when there are too many.
  void finish(const std::string& where) {
    if (words) return;
    compact();
    const auto split = std::lower_bound(sparse_.begin(), sparse_.end(), 0);
    ids_.assign(sparse_.begin(), split);
    const auto below = ids_.size();
    for (std::size_t slot = 0; slot < seen_.size(); ++slot) {
      if (seen_[slot]) ids_.push_back(static_cast<std::int64_t>(slot));
    }
    // A table by id is the fastest, but not for a few ids spread over many numbers.
    if (seen_.size() <= kMaxSpread * (ids_.size() - below) + kSmallTable) {
      direct_.assign(seen_.size(), -1);
      for (std::size_t node = below; node < ids_.size(); ++node)
        direct_[static_cast<std::size_t>(ids_[node])] = static_cast<NodeId>(node);
    }
    ids_.insert(ids_.end(), split, sparse_.end());
    checked_node_count(static_cast<std::int64_t>(ids_.size()), "nodes", where);
    seen_ = std::vector<bool>();  // `{}` would keep their memory
    sparse_ = std::vector<std::int64_t>();
  }
  /// Nodes are 0..count-1 as they are.
  void set_identity(std::int64_t count) { identity_ = count; }
  /// The count that was set, or -1.
  std::int64_t identity() const { return identity_; }

  std::int64_t size() const {
    if (identity_ >= 0) return identity_;
    return words ? static_cast<std::int64_t>(names_.size()) : static_cast<std::int64_t>(ids_.size());
  }
  /// The node of an id, or -1.
  NodeId find(std::int64_t id) const {
    if (identity_ >= 0) return id >= 0 && id < identity_ ? static_cast<NodeId>(id) : -1;
    if (id >= 0 && static_cast<std::uint64_t>(id) < direct_.size()) return direct_[static_cast<std::size_t>(id)];
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
    return at != ids_.end() && *at == id ? static_cast<NodeId>(at - ids_.begin()) : -1;
  }
  NodeId find(std::string_view word) const {
    const auto at = by_word_.find(std::string(word));
    return at == by_word_.end() ? -1 : at->second;
  }

  void describe(Dataset* out) {
    if (identity_ >= 0) return;
    if (words) {
      out->node_names = std::move(names_);
      return;
    }
    const bool identity =
        ids_.empty() || (ids_.front() == 0 && ids_.back() == static_cast<std::int64_t>(ids_.size()) - 1);
    if (identity) return;
    out->notes.push_back(fmt::format("ids {}..{} renumbered to 0..{}", ids_.front(), ids_.back(), ids_.size() - 1));
    out->orig_id = std::move(ids_);
  }

 private:
  static constexpr std::int64_t kDirect = std::int64_t{1} << 27;
  static constexpr std::size_t kMaxSpread = 16;
  static constexpr std::size_t kSmallTable = std::size_t{1} << 16;
  static constexpr std::size_t kMaxNodes = std::numeric_limits<NodeId>::max();

  void compact() {
    std::sort(sparse_.begin(), sparse_.end());
    sparse_.erase(std::unique(sparse_.begin(), sparse_.end()), sparse_.end());
    sorted_ = sparse_.size();
    next_compaction_ = std::max<std::size_t>(std::size_t{1} << 22, 2 * sparse_.size());
  }

  std::vector<bool> seen_;
  std::vector<std::int64_t> sparse_;
  std::size_t sorted_ = 0;
  std::size_t next_compaction_ = std::size_t{1} << 22;
  std::vector<std::int64_t> ids_;
  std::vector<NodeId> direct_;
  std::unordered_map<std::string, NodeId> by_word_;
  std::vector<std::string> names_;
  std::int64_t identity_ = -1;
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace gneiss::data
