// Members are found by name in the archive's directory and unpacked when asked for.
#include "data/npz.h"

#include <utility>

#include "base/error.h"
#include "base/names.h"

namespace gneiss::data {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::size_t kPeekBytes = 4096;

}  // namespace

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipMember& member : zip_.members()) {
    std::string name = member.name;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    names.push_back(std::move(name));
  }
  return names;
}

const ZipMember* NpzFile::find(std::string_view name) const {
  for (const ZipMember& member : zip_.members()) {
    const std::string_view stored = member.name;
    if (stored.ends_with(kSuffix) && stored.substr(0, stored.size() - kSuffix.size()) == name) return &member;
  }
  return nullptr;
}

bool NpzFile::readable(std::string_view name) const {
  const ZipMember* member = find(name);
  if (member == nullptr) return false;
  const Buffer<std::byte> head = zip_.peek(*member, kPeekBytes);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return text.starts_with("\x93NUMPY") && text.find("'|O") == std::string_view::npos;
}

NpyArray NpzFile::array(std::string_view name) const {
  const ZipMember* member = find(name);
  if (member == nullptr) {
    throw Error(ErrorCode::kBadData, fmt::format("the archive has no member '{}'", name), path(),
                "it has: " + join(names(), ", "));
  }
  const std::string where = fmt::format("{}:{}", path(), name);
  if (member->deflated) {
    Buffer<std::byte> content = zip_.read(*member);
    NpyArray array = parse_npy(content, where);
    array.owned = std::move(content);
    return array;
  }
  zip_.check_crc(*member, zip_.packed(*member));
  NpyArray array = parse_npy(zip_.packed(*member), where);
  array.file = zip_.file();
  return array;
}

}  // namespace gneiss::data
