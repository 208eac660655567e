// Which files are mapped where, for the message of a program that meets a page the system cannot bring.
//
// A mapped file that becomes shorter, or lies on a disk that fails, has no call that could return an error: the system
// sends SIGBUS to whoever touches the page, and the process ends without a word. A program can ask for one.
#pragma once

#include <cstddef>
#include <string>

namespace gneiss {

/// A file lies at these addresses from now on; there is room for a few hundred, others go without a name.
void note_mapping(const void* data, std::size_t bytes, const std::string& path) noexcept;
void forget_mapping(const void* data) noexcept;

/// From now on the process ends with the exit code of bad data where a mapped file has become too short, and with that
/// of a failing disk where a page of it cannot be read, and says which file it was. For programs, once: it takes over
/// SIGBUS. Faults elsewhere end the process as before.
void name_unreadable_files();

}  // namespace gneiss
