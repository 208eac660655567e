// gneiss::Error becomes the exception of gneiss/errors.py that its code asks for.
#pragma once

namespace gneiss::python {

void translate_errors();

}  // namespace gneiss::python
