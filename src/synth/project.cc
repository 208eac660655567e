// A folder that holds something is left alone unless forced; files are written whole.
#include "synth/project.h"

#include "base/error.h"
#include "base/file.h"

namespace gneiss::synth {

void write_project(const std::filesystem::path& folder, std::span<const SourceFile> files, bool force) {
  std::error_code ignored;
  if (std::filesystem::exists(folder, ignored) && !std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorCode::kUsage, "the folder for the program is a file", folder.string(), "name another one with -o");
  }
  if (!force && std::filesystem::is_directory(folder, ignored) && !std::filesystem::is_empty(folder, ignored)) {
    throw Error(ErrorCode::kUsage, "the folder for the program is not empty", folder.string(),
                "name another one with -o, or add --force to replace a program there");
  }
  make_folder(folder);
  for (const SourceFile& file : files) {
    make_folder((folder / file.name).parent_path());
    write_file(folder / file.name, file.text);
  }
}

}  // namespace gneiss::synth
