// The classes are written in Python, where they can derive from two bases; here they are only looked up by name.
#include "errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "gneiss/error.h"

namespace gneiss::python {
namespace {

namespace nb = nanobind;

const char* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "UsageError";
    case ErrorCode::kUnsupported:
      return "UnsupportedError";
    case ErrorCode::kBadData:
      return "DataError";
    case ErrorCode::kShape:
      return "ShapeError";
    case ErrorCode::kOutOfMemory:
      return "OutOfMemoryError";
    case ErrorCode::kDisk:
      return "DiskError";
    case ErrorCode::kNumeric:
      return "NumericError";
    case ErrorCode::kPeerLost:
      return "PeerLostError";
    case ErrorCode::kStopped:
      return "StoppedError";
    default:
      return "InternalError";
  }
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const nb::object made =
          nb::module_::import_("gneiss.errors")
              .attr("from_core")(class_of(error.code()), error.message(), error.where(), error.hint());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    }
  });
}

}  // namespace gneiss::python
