#include "base/version.h"

namespace gneiss {

const char* version_text() { return GNEISS_VERSION; }

}  // namespace gneiss
