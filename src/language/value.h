// What an expression stands for while a model is compiled: a number, a text, a tensor of the program, a list, a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/program.h"

namespace gneiss::language {

/// A value of the program with the dimensions its author gave it: [heads, channels] is heads * channels columns.
struct Tensor {
  ir::ValueId id = ir::kNoValue;
  ir::Domain domain = ir::Domain::kGlobal;
  std::int32_t set = 0;
  std::vector<std::int64_t> dims;  ///< node and edge values: of a row; global values: all of them
  std::int32_t param = -1;         ///< which parameter it is, while it is one and nothing else

  std::int64_t size() const;  ///< product of dims
};

struct Value;
using List = std::vector<Value>;

/// What is left of a value after a mistake: using it says nothing more.
struct Poison {};
/// An index into Program::graphs.
struct GraphRef {
  std::int32_t index = 0;
};

struct Value {
  std::variant<Poison, std::int64_t, double, bool, std::string, Tensor, std::shared_ptr<const List>, GraphRef> data;

  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&data); }
  const bool* boolean() const { return std::get_if<bool>(&data); }
  const std::string* text() const { return std::get_if<std::string>(&data); }
  const Tensor* tensor() const { return std::get_if<Tensor>(&data); }
  const GraphRef* graph() const { return std::get_if<GraphRef>(&data); }
  const List* list() const;
  bool is_poison() const { return std::holds_alternative<Poison>(data); }
  bool is_number() const { return integer() != nullptr || std::holds_alternative<double>(data); }
  double number() const;  ///< of an int or a float
};

/// "node[8*8]", "[16, 7]", "int", …: the type of a value as the language writes it.
std::string describe(const Tensor& tensor);
std::string describe(const Value& value);
/// The value itself for numbers and texts ("16", "\"mean\""), else its type.
std::string show(const Value& value);

/// a * b; false on overflow or beyond the largest size the IR is given.
bool multiply_sizes(std::int64_t a, std::int64_t b, std::int64_t* product);
/// Product of `dims`, which must be small enough to have one.
std::int64_t product(const std::vector<std::int64_t>& dims);

/// Largest number of columns, and of elements of a parameter.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

}  // namespace gneiss::language
