// Which release this is.
#pragma once

namespace gneiss {

/// The version of the project, e.g. "0.1.0".
const char* version_text();

}  // namespace gneiss
