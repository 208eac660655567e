// Arrays across the border: the buffer protocol in, NumPy arrays out.
#pragma once

#include <nanobind/nanobind.h>

#include "gneiss/array.h"

namespace gneiss::python {

namespace nb = nanobind;

/// The memory of a Python object with the buffer protocol, looked at without conversion; `argument` is named in errors.
/// None is an array that is not given. Its keeper holds the object's buffer, and takes the GIL to let it go.
/// Errors: kBadData for elements of a type that Gneiss has not.
Array adopt(nb::handle object, const char* argument);

/// A NumPy array over `array`, whose keeper it holds. `writable`: nobody else reads the memory.
nb::object lend(const Array& array, bool writable);

}  // namespace gneiss::python
