// Limits are read from the environment where they are asked for: a process asks once.
#include "comm/mpi/mpi_calls.h"

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "base/error.h"

namespace gneiss::comm {

bool MpiLife::ends_well() const { return open && !failed && std::uncaught_exceptions() == 0; }

MpiLife& mpi_life() {
  static MpiLife life;
  return life;
}

std::string words_of(int status) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  return std::string(text, static_cast<std::size_t>(length));
}

void check(int status, const char* what) {
  if (status != MPI_SUCCESS) throw Error(ErrorCode::kPeerLost, fmt::format("{} failed: {}", what, words_of(status)));
}

std::chrono::seconds time_limit() {
  constexpr std::chrono::seconds kUsual{600};
  const char* text = std::getenv("GNEISS_RANK_SECONDS");
  const int asked = text == nullptr ? 0 : std::atoi(text);
  return asked > 0 ? std::chrono::seconds(asked) : kUsual;
}

std::int64_t message_limit() {
  constexpr std::int64_t kUsual = std::int64_t{1} << 30;
  const char* text = std::getenv("GNEISS_MPI_MESSAGE_BYTES");
  const std::int64_t asked = text == nullptr ? 0 : std::atoll(text);
  return asked > 0 ? std::min(asked, kUsual) : kUsual;
}

void throw_late(const Waiting& waiting) {
  throw Error(ErrorCode::kPeerLost,
              fmt::format("rank {} of {} waited {} s in {} for rank {}", waiting.rank, waiting.ranks,
                          time_limit().count(), waiting.what, waiting.late),
              {}, "look at that rank's messages; GNEISS_RANK_SECONDS sets how long ranks wait for each other");
}

}  // namespace gneiss::comm
