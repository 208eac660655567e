// In the place of uring/ring_reads.cc where liburing is not found.
#include "data/ring_reads.h"

namespace gneiss::data {

Ring* ring_of_this_thread() { return nullptr; }

const std::string& ring_fault() {
  static const std::string fault = "this gneiss was built without liburing";
  return fault;
}

}  // namespace gneiss::data
