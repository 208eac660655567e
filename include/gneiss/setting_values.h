// Settings by their types: what a typed setting is, and the values that are more than a number or a choice.
//
// keys (gneiss/settings.h) names every setting with the type of its values. A value of another type does not compile;
// a number out of its range is refused when it is set.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gneiss {

/// The key of a setting whose values are of type T.
template <class T>
struct Setting {
  std::string_view key;  ///< "optim.lr"
};

/// The words of an enum whose values are choices, by their numbers: Choices<Optimizer>::names.
template <class E>
struct Choices;

template <class T>
concept Choice = std::is_enum_v<T> && requires {
  Choices<T>::names;
};

/// The word that run files and commands have for a choice.
template <Choice E>
constexpr std::string_view choice_name(E value) {
  return Choices<E>::names[static_cast<std::size_t>(value)];
}

/// The choice of this name; nothing if there is none.
template <Choice E>
constexpr std::optional<E> find_choice(std::string_view name) {
  std::size_t i = 0;
  for (const std::string_view known : Choices<E>::names) {
    if (known == name) return static_cast<E>(i);
    ++i;
  }
  return std::nullopt;
}

/// A value that has several forms. The functions of each type make them; nothing else does.
class FormedValue {
 public:
  /// As run files and commands have it.
  const std::string& text() const { return text_; }

 protected:
  explicit FormedValue(std::string text) : text_(std::move(text)) {}

 private:
  std::string text_;
};

/// Which nodes train, validate and test.
class Split : public FormedValue {
 public:
  static Split published();                                   ///< the one that came with the data
  static Split number(int split);                             ///< of several in the file, from 0
  static Split random();                                      ///< 20 a class, 500 and 1000
  static Split shchur();                                      ///< 20 a class, 30 a class, all others
  static Split ratio(double train, double val, double test);  ///< parts of the labelled nodes, in any unit
  static Split none();
  static Split cycle();  ///< run r takes split r
  static Split all();    ///< one run for each split

 private:
  using FormedValue::FormedValue;
};

/// What a class counts in the loss.
class ClassWeights : public FormedValue {
 public:
  static ClassWeights balanced();                              ///< the rarer, the more
  static ClassWeights given(const std::vector<double>& each);  ///< one for each class

 private:
  using FormedValue::FormedValue;
};

/// What a rank receives a second, and how long a message takes.
class Network : public FormedValue {
 public:
  Network(double gigabytes_per_second, std::chrono::nanoseconds message);
};

/// What computes.
class DeviceChoice : public FormedValue {
 public:
  static DeviceChoice cpu();
  static DeviceChoice cuda();
  static DeviceChoice cuda(int number);
  static DeviceChoice cuda(const std::vector<int>& numbers);     ///< the cards of several devices
  static DeviceChoice automatic();                               ///< a card if one can be used
  static DeviceChoice emulated();                                ///< a card's kernels on the CPU
  static DeviceChoice simulated(const std::string& machine);     ///< with mini-batches; see simulated_machines()
  static DeviceChoice host_threads(const std::string& profile);  ///< with mini-batches; a file of profile_training()

 private:
  using FormedValue::FormedValue;
};

/// Who prepares which batch.
class BatchSchedule : public FormedValue {
 public:
  static BatchSchedule paper();
  static BatchSchedule best();
  static BatchSchedule cpu();
  static BatchSchedule device();
  static BatchSchedule coin_flip(double cpu_share);

 private:
  using FormedValue::FormedValue;
};

/// Rows that a device keeps.
class HotRows : public FormedValue {
 public:
  static HotRows share(double of_all);  ///< from 0 to 1
  static HotRows rows(std::int64_t count);
  static HotRows automatic();

 private:
  using FormedValue::FormedValue;
};

/// How often a checkpoint is kept.
class CheckpointEvery : public FormedValue {
 public:
  static CheckpointEvery steps(std::int64_t count);  ///< epochs, or mini-batches
  static CheckpointEvery time(std::chrono::duration<double> between);
  static CheckpointEvery when_stopped();

 private:
  using FormedValue::FormedValue;
};

/// Can a V be given to a setting of type T? Whole numbers for whole numbers, any number for a number, text for text,
/// else the type itself.
template <class V, class T>
concept ValueOf = std::same_as<V, T> ||
                  (std::same_as<T, double> && (std::integral<V> || std::floating_point<V>)&&!std::same_as<V, bool>) ||
                  (std::same_as<T, std::int64_t> && std::integral<V> && !std::same_as<V, bool> &&
                   !std::same_as<V, char>) ||
                  (std::same_as<T, std::string> && std::convertible_to<const V&, std::string_view> &&
                   !std::same_as<V, std::nullptr_t>);

/// A number as the shortest text that has all its bits.
std::string number_text(double value);

/// Values as run files and commands have them.
template <std::floating_point V>
std::string setting_text(V value) {
  return number_text(value);
}
template <std::integral V>
std::string setting_text(V value) {
  if constexpr (std::same_as<V, bool>) return value ? "true" : "false";
  return std::to_string(value);
}
inline std::string setting_text(std::string_view value) { return std::string(value); }
inline std::string setting_text(const FormedValue& value) { return value.text(); }
template <Choice E>
std::string setting_text(E value) {
  return std::string(choice_name(value));
}
template <class T>
std::string setting_text(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ",") + setting_text(value);
  return text;
}

/// A value of type T, or the word that a command was given for it, which the function that takes it looks at.
template <class T>
class Worded {
 public:
  Worded(const T& value) : text_(setting_text(value)) {}  // NOLINT(google-explicit-constructor)

  const std::string& text() const { return text_; }
  /// For commands: where a word may be put.
  std::string* word() { return &text_; }

 private:
  std::string text_;
};

}  // namespace gneiss
