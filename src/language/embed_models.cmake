# Writes the .gneiss files of FOLDER into OUTPUT, a C++ source that defines language::embedded_files().
# Run as: cmake -DFOLDER=… -DOUTPUT=… -P embed_models.cmake
file(GLOB paths ${FOLDER}/*.gneiss)
list(SORT paths)
set(entries "")
foreach(path IN LISTS paths)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  string(APPEND entries "      {\"${name}\", R\"gneiss(${text})gneiss\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from models/*.gneiss.
#include \"language/library.h\"

namespace gneiss::language {

const std::vector<EmbeddedFile>& embedded_files() {
  static const std::vector<EmbeddedFile> files = {
${entries}  };
  return files;
}

}  // namespace gneiss::language
")
