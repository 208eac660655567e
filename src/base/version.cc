// The build defines the version for this file alone, so that a new version recompiles nothing else.
#include "base/version.h"

namespace gneiss {

const char* version_text() { return GNEISS_VERSION; }

}  // namespace gneiss
