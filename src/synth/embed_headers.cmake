# Writes HOST and, for devices besides, DEVICE, paths below ROOT separated by commas, into OUTPUT, a C++ source that
# defines synth::loop_headers(). Run as: cmake -DROOT=… -DHOST=… -DDEVICE=… -DOUTPUT=… -P embed_headers.cmake
function(entries_of list result)
  string(REPLACE "," ";" headers ${list})
  set(entries "")
  foreach(header IN LISTS headers)
    file(READ ${ROOT}/${header} text)
    string(APPEND entries "      {\"${header}\", R\"gneiss(${text})gneiss\"},\n")
  endforeach()
  set(${result} "${entries}" PARENT_SCOPE)
endfunction()
entries_of(${HOST} host)
entries_of(${DEVICE} device)
file(WRITE ${OUTPUT} "// Generated: headers that loops over edges include.
#include \"synth/loops.h\"

namespace gneiss::synth {

const std::vector<std::pair<std::string, std::string>>& loop_headers(Space space) {
  static const std::vector<std::pair<std::string, std::string>> host = {
${host}  };
  static const std::vector<std::pair<std::string, std::string>> device = {
${host}${device}  };
  return space == Space::kDevice ? device : host;
}

}  // namespace gneiss::synth
")
