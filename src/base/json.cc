// Text is read by nlohmann-json's events, which build the tree and hold it to its limits on the way; it is written by
// that library too, from a copy of the tree as its own values.
#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace gneiss {
namespace {

using Foreign = nlohmann::ordered_json;

/// Builds a tree from the events of the parser.
class Builder {
 public:
  Builder(const std::string& where, int most_levels) : where_(where), most_levels_(most_levels) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // JSON text has none
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::list()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (open_.back().value.find(name) != nullptr) fail(fmt::format("the key '{}' is given twice", name));
    open_.back().key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    fail(fmt::format("not valid JSON: {}", error.what()));
  }

  Json take() { return std::move(root_); }

 private:
  /// A list or an object that is being read, and the key that the next value belongs to.
  struct Open {
    Json value;
    std::string key;
  };

  [[noreturn]] void fail(const std::string& message) const { throw Error(ErrorCode::kBadData, message, where_); }

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Open& parent = open_.back(); parent.value.is_list()) {
      parent.value.push_back(std::move(value));
    } else {
      parent.value[parent.key] = std::move(value);
    }
    return true;
  }

  bool open(Json value) {
    if (static_cast<int>(open_.size()) >= most_levels_)
      fail(fmt::format("JSON is nested deeper than {}", most_levels_));
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  const std::string& where_;
  int most_levels_;
  std::vector<Open> open_;
  Json root_;
};

Foreign to_foreign(const Json& json) {
  if (json.is_bool()) return json.boolean();
  if (json.is_size()) return json.size();
  if (json.is_integer()) return json.integer();
  if (json.is_number()) return json.real();
  if (json.is_text()) return json.text();
  if (json.is_list()) {
    Foreign list = Foreign::array();
    for (const Json& element : json.elements()) list.push_back(to_foreign(element));
    return list;
  }
  if (!json.is_object()) return nullptr;
  // Straight into the array that such an object is: its own insertion would search for every key.
  Foreign object = Foreign::object();
  auto& members = object.get_ref<Foreign::object_t&>();
  for (const Json::Member& member : json.members())
    members.Container::emplace_back(member.key, to_foreign(member.value));
  return object;
}

}  // namespace

Json::Json() : value_(nullptr) {}
Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(bool value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
void Json::set_integer(std::int64_t value) { value_ = value; }
void Json::set_size(std::uint64_t value) { value_ = value; }
Json::Json(List elements) : value_(std::move(elements)) {}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json Json::list(std::initializer_list<Json> elements) { return Json(List(elements)); }

Json Json::object(std::initializer_list<Member> members) {
  Json json;
  json.value_ = Members(members);
  return json;
}

Json Json::parse(std::string_view text, const std::string& where, int most_levels) {
  Builder builder(where, most_levels);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

std::string Json::dump(int indent) const {
  return to_foreign(*this).dump(indent, ' ', false, Foreign::error_handler_t::replace);
}

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_bool() const { return std::holds_alternative<bool>(value_); }
bool Json::is_size() const { return std::holds_alternative<std::uint64_t>(value_); }
bool Json::is_integer() const { return is_size() || std::holds_alternative<std::int64_t>(value_); }
bool Json::is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
bool Json::is_text() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_list() const { return std::holds_alternative<List>(value_); }
bool Json::is_object() const { return std::holds_alternative<Members>(value_); }

template <class T>
const T& Json::value_as(const char* expected) const {
  const T* value = std::get_if<T>(&value_);
  GNEISS_CHECK(value != nullptr, ErrorCode::kBadData, "expected {}, got {}", expected, dump().substr(0, 40));
  return *value;
}

bool Json::boolean() const { return value_as<bool>("true or false"); }
const std::string& Json::text() const { return value_as<std::string>("a string"); }
const Json::List& Json::elements() const { return value_as<List>("a list"); }
const Json::Members& Json::members() const { return value_as<Members>("an object"); }

std::int64_t Json::integer() const {
  if (!is_size()) return value_as<std::int64_t>("a whole number");
  const auto value = std::get<std::uint64_t>(value_);
  GNEISS_CHECK(value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()), ErrorCode::kBadData,
               "{} does not fit 63 bits", value);
  return static_cast<std::int64_t>(value);
}

std::uint64_t Json::size() const { return value_as<std::uint64_t>("a whole number from 0 on"); }

double Json::real() const {
  if (is_size()) return static_cast<double>(size());
  if (is_integer()) return static_cast<double>(integer());
  return value_as<double>("a number");
}

const Json* Json::find(std::string_view key) const {
  const Members* members = std::get_if<Members>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(), [&](const Member& m) { return m.key == key; });
  return found == members->end() ? nullptr : &found->value;
}

const Json& Json::at(std::string_view key) const {
  const Json* value = find(key);
  GNEISS_CHECK(value != nullptr, ErrorCode::kBadData, "the key '{}' is missing", key);
  return *value;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Members();
  if (const Json* value = find(key)) return const_cast<Json&>(*value);
  GNEISS_ASSERT(is_object(), "a key is added to a JSON value that is no object");
  Members& members = std::get<Members>(value_);
  members.push_back({std::string(key), Json()});
  return members.back().value;
}

void Json::push_back(Json element) {
  if (is_null()) value_ = List();
  GNEISS_ASSERT(is_list(), "an element is added to a JSON value that is no list");
  std::get<List>(value_).push_back(std::move(element));
}

}  // namespace gneiss
