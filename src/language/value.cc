// Arithmetic of shapes, access by kind, and how values are described in messages.
#include "language/value.h"

#include <fmt/format.h>

namespace gneiss::language {
namespace {

std::string dims_text(const std::vector<std::int64_t>& dims, const char* separator) {
  std::string out;
  for (std::size_t i = 0; i < dims.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : separator, dims[i]);
  return out;
}

}  // namespace

std::int64_t product(const std::vector<std::int64_t>& dims) {
  std::int64_t all = 1;
  for (const std::int64_t dim : dims) all *= dim;
  return all;
}

std::int64_t Tensor::size() const { return product(dims); }

const List* Value::list() const {
  const auto* pointer = std::get_if<std::shared_ptr<const List>>(&data);
  return pointer == nullptr ? nullptr : pointer->get();
}

double Value::number() const {
  if (const std::int64_t* whole = integer()) return static_cast<double>(*whole);
  return std::get<double>(data);
}

std::string describe(const Tensor& tensor) {
  switch (tensor.domain) {
    case ir::Domain::kNode:
      return fmt::format("node[{}]", dims_text(tensor.dims, "*"));
    case ir::Domain::kEdge:
      return fmt::format("edge[{}]", dims_text(tensor.dims, "*"));
    case ir::Domain::kGlobal:
      break;
  }
  return fmt::format("param[{}]", dims_text(tensor.dims, ", "));
}

std::string describe(const Value& value) {
  if (const Tensor* tensor = value.tensor()) return describe(*tensor);
  static constexpr const char* kNames[] = {"nothing", "int", "float", "bool", "string", "tensor", "list", "graph"};
  return kNames[value.data.index()];
}

std::string show(const Value& value) {
  if (const std::int64_t* whole = value.integer()) return fmt::format("{}", *whole);
  if (const bool* truth = value.boolean()) return *truth ? "true" : "false";
  if (const std::string* text = value.text()) return fmt::format("\"{}\"", *text);
  if (value.is_number()) return fmt::format("{}", value.number());
  return describe(value);
}

bool multiply_sizes(std::int64_t a, std::int64_t b, std::int64_t* result) {
  return !__builtin_mul_overflow(a, b, result) && *result <= kMaxSize;
}

}  // namespace gneiss::language
