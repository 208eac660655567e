// A JSON value: what reports and manifests are written from and read into.
//
// A plain tree; objects keep the order in which their keys were added. Only json.cc knows the library that reads and
// writes the text: its templates take ten seconds in every file that names them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace gneiss {

class Json {
 public:
  struct Member;
  using List = std::vector<Json>;
  using Members = std::vector<Member>;

  Json();  ///< null
  Json(std::nullptr_t);
  Json(bool value);
  Json(double value);  ///< not a number and infinity are written as null
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  template <std::integral T>
  Json(T value) {
    if constexpr (std::is_signed_v<T>) {
      set_integer(value);
    } else {
      set_size(value);
    }
  }
  template <class T>
  Json(const std::vector<T>& values) : Json(List(values.begin(), values.end())) {}
  template <class T>
  Json(const std::map<std::string, T>& members) : Json(object()) {
    for (const auto& [key, value] : members) (*this)[key] = Json(value);
  }
  Json(List elements);
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  static Json list(std::initializer_list<Json> elements = {});
  static Json object(std::initializer_list<Member> members = {});

  /// Reads a text. Errors: kBadData at `where` for text that is not JSON, for objects and lists in more than
  /// `most_levels` of each other, and for an object that names a key twice.
  static Json parse(std::string_view text, const std::string& where, int most_levels = 100);

  /// As text, `indent` spaces a level; -1: on one line. Bytes that are not UTF-8 become U+FFFD.
  std::string dump(int indent = -1) const;

  bool is_null() const;
  bool is_bool() const;
  bool is_integer() const;  ///< of either sign
  bool is_size() const;     ///< a whole number without a sign
  bool is_number() const;
  bool is_text() const;
  bool is_list() const;
  bool is_object() const;

  /// The value as that type. Errors: kBadData if it has another one, or is an integer that does not fit.
  bool boolean() const;
  std::int64_t integer() const;
  std::uint64_t size() const;
  double real() const;  ///< of any number
  const std::string& text() const;
  const List& elements() const;
  const Members& members() const;

  /// The value of a key; null pointer if there is none or this is no object.
  const Json* find(std::string_view key) const;
  /// The value of a key. Errors: kBadData if there is none.
  const Json& at(std::string_view key) const;
  /// The value of a key, added if it is new. What is null becomes an object first.
  Json& operator[](std::string_view key);
  /// Adds an element. What is null becomes a list first.
  void push_back(Json element);

 private:
  void set_integer(std::int64_t value);
  void set_size(std::uint64_t value);

  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, List, Members>;
  template <class T>
  const T& value_as(const char* expected) const;

  Value value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

}  // namespace gneiss
