// A Py_buffer says address, shape, strides in bytes and the type of an element; it is released when the last reader of
// the array is through, wherever that is.
#include "arrays.h"

#include <nanobind/ndarray.h>

#include <string>
#include <string_view>

#include "gneiss/error.h"

namespace gneiss::python {
namespace {

struct ReleaseBuffer {
  void operator()(Py_buffer* view) const {
    const nb::gil_scoped_acquire gil;
    PyBuffer_Release(view);
    delete view;
  }
};

/// The type behind a format of Python's module struct, in this machine's byte order; kNone if there is none such.
DType type_of(std::string_view format, Py_ssize_t bytes) {
  if (!format.empty() && std::string_view("@=<").find(format[0]) != std::string_view::npos) format.remove_prefix(1);
  if (format.size() != 1) return DType::kNone;
  const char code = format[0];
  if (code == '?') return DType::kBool;
  if (code == 'e') return DType::kF16;
  if (code == 'f') return DType::kF32;
  if (code == 'd') return DType::kF64;
  const bool is_signed = std::string_view("bhilqn").find(code) != std::string_view::npos;
  if (!is_signed && std::string_view("BHILQN").find(code) == std::string_view::npos) return DType::kNone;
  switch (bytes) {
    case 1:
      return is_signed ? DType::kI8 : DType::kU8;
    case 2:
      return is_signed ? DType::kI16 : DType::kU16;
    case 4:
      return is_signed ? DType::kI32 : DType::kU32;
    case 8:
      return is_signed ? DType::kI64 : DType::kU64;
    default:
      return DType::kNone;
  }
}

nb::dlpack::dtype dlpack_type(DType type) {
  switch (type) {
    case DType::kBool:
      return nb::dtype<bool>();
    case DType::kI8:
      return nb::dtype<std::int8_t>();
    case DType::kI16:
      return nb::dtype<std::int16_t>();
    case DType::kI32:
      return nb::dtype<std::int32_t>();
    case DType::kI64:
      return nb::dtype<std::int64_t>();
    case DType::kU8:
      return nb::dtype<std::uint8_t>();
    case DType::kU16:
      return nb::dtype<std::uint16_t>();
    case DType::kU32:
      return nb::dtype<std::uint32_t>();
    case DType::kU64:
      return nb::dtype<std::uint64_t>();
    case DType::kF32:
      return nb::dtype<float>();
    case DType::kF64:
      return nb::dtype<double>();
    case DType::kF16:
    case DType::kNone:
      break;
  }
  throw Error(ErrorCode::kInternal, "an array of this type is not given to Python");
}

}  // namespace

Array adopt(nb::handle object, const char* argument) {
  Array array;
  if (object.is_none()) return array;
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_STRIDES | PyBUF_FORMAT) != 0) throw nb::python_error();
  const std::shared_ptr<Py_buffer> held(view.release(), ReleaseBuffer());
  const std::string_view format = held->format == nullptr ? "B" : held->format;
  array.dtype = type_of(format, held->itemsize);
  if (array.dtype == DType::kNone) {
    throw Error(ErrorCode::kBadData, "expected numbers, got elements of type '" + std::string(format) + "'", argument,
                "give an array of float32, float64, integers or booleans in this machine's byte order");
  }
  array.data = held->buf;
  array.shape.assign(held->shape, held->shape + held->ndim);
  array.strides_bytes.assign(held->strides, held->strides + held->ndim);
  array.keeper = held;
  return array;
}

nb::object lend(const Array& array, bool writable) {
  if (!array.given()) return nb::none();
  std::vector<std::size_t> shape(array.shape.begin(), array.shape.end());
  const nb::capsule owner(new std::shared_ptr<const void>(array.keeper),
                          [](void* kept) noexcept { delete static_cast<std::shared_ptr<const void>*>(kept); });
  void* data = const_cast<void*>(array.data);
  const nb::dlpack::dtype type = dlpack_type(array.dtype);
  if (writable) return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, type));
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, nullptr, type));
}

}  // namespace gneiss::python
