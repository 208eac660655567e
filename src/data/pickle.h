// A reader for the pickles of the Planetoid data sets, and for nothing else.
//
// A pickle is a program; running an arbitrary one is running arbitrary code. This reader knows the 41 instructions and
// the 17 names that occur in the published files and in what today's Python, NumPy and SciPy write of the same values
// (protocols 2 to 5: dicts of lists, NumPy arrays, SciPy CSR matrices); it builds plain values from them and refuses
// everything else by name. Every value costs at least one byte of input, so memory is bounded by the file. Source:
// CPython Lib/pickletools.py (instruction set); the files of kimiyoung/planetoid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/npy.h"

namespace gneiss::data {

class Pickle {
 public:
  enum class Kind : std::uint8_t { kNone, kBool, kInt, kText, kTuple, kList, kDict, kGlobal, kArray, kType, kMatrix };

  /// A number, or the index of an object of this pickle.
  struct Value {
    Kind kind = Kind::kNone;
    std::int64_t number = 0;
  };

  /// A SciPy CSR matrix by its parts.
  struct Matrix {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    NpyArray offsets;
    NpyArray indices;
    NpyArray values;
  };

  /// Parses a whole pickle; text in it points into `bytes`, which must outlive this. Errors: kBadData naming the byte,
  /// and the instruction or name that is refused.
  Pickle(std::span<const std::byte> bytes, std::string where);

  Value root() const { return root_; }
  const std::string& where() const { return where_; }
  /// Elements of a tuple or list, or keys and values by turns of a dict. Errors: kBadData for other kinds.
  std::span<const Value> items(Value value) const;
  /// A NumPy array; its data point into the input. Errors: kBadData when the value is none or its parts do not fit.
  NpyArray array(Value value) const;
  /// A SciPy CSR matrix. Errors: as array.
  Matrix matrix(Value value) const;

 private:
  friend class PickleMachine;

  struct Object {
    std::vector<Value> items;  ///< tuple, list, dict; for array, type and matrix their state
    std::string_view text;     ///< text; for a global its name
  };

  const Object& object(Value value) const { return objects_[static_cast<std::size_t>(value.number)]; }

  std::string where_;
  std::vector<Object> objects_;
  std::deque<std::string> owned_;  ///< bytes that were written as text
  Value root_;
};

}  // namespace gneiss::data
