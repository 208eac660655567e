# Writes HEADERS, paths below ROOT separated by commas, into OUTPUT, a C++ source that defines synth::loop_headers().
# Run as: cmake -DROOT=… -DHEADERS=… -DOUTPUT=… -P embed_headers.cmake
string(REPLACE "," ";" headers ${HEADERS})
set(entries "")
foreach(header IN LISTS headers)
  file(READ ${ROOT}/${header} text)
  string(APPEND entries "      {\"${header}\", R\"gneiss(${text})gneiss\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated: headers that loops over edges include.
#include \"synth/loops.h\"

namespace gneiss::synth {

const std::vector<std::pair<std::string, std::string>>& loop_headers() {
  static const std::vector<std::pair<std::string, std::string>> headers = {
${entries}  };
  return headers;
}

}  // namespace gneiss::synth
")
