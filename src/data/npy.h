// The .npy array format: read with every check, write so that NumPy can map the file.
//
// Method: the header is parsed as the small Python literal that it is (a dict of descr, fortran_order, shape) and
// checked against the bytes at hand before anything is allocated; elements are converted one by one with range checks
// that name the first offending index. Object arrays (pickles inside) and big-endian data are refused. Source: NumPy
// Enhancement Proposal 1 and numpy/lib/format.py (versions 1.0, 2.0, 3.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/file.h"
#include "base/ids.h"

namespace gneiss::data {

enum class DType : std::uint8_t {
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kF32,
  kF64,
  kBytes,
  kUnicode
};

/// An array in a file: what its header says and where its bytes are. The bytes need not be aligned.
struct NpyArray {
  std::string where;  ///< file, or file and member, for messages
  DType type = DType::kF32;
  std::size_t item_bytes = 4;
  bool fortran = false;
  std::vector<std::int64_t> shape;
  std::int64_t count = 0;  ///< product of shape
  std::span<const std::byte> data;

  std::shared_ptr<const MappedFile> file;  ///< keeps `data` alive when it lies in a mapped file …
  Buffer<std::byte> owned;                 ///< … or when it was unpacked

  std::int64_t dim(std::size_t axis) const { return axis < shape.size() ? shape[axis] : 1; }
  bool is_integer() const { return type <= DType::kU64; }
  bool is_text() const { return type >= DType::kBytes; }
};

/// Parses the .npy in `bytes`; the result points into them. Errors: kBadData (no .npy, object or structured or
/// big-endian type, shape whose product overflows, fewer bytes than the shape needs).
NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& where);
/// Fills type and item size from a NumPy type string such as "<f4". Errors: kBadData.
void parse_descr(const std::string& descr, NpyArray* array);
/// Fills count from shape and points at data. Errors: kBadData when the shape overflows or needs more bytes.
void attach_data(std::span<const std::byte> data, NpyArray* array);
/// Maps and parses a .npy file. Errors: as parse_npy and MappedFile.
NpyArray load_npy(const std::filesystem::path& path);

/// "(3, 4)".
std::string shape_text(const NpyArray& array);
/// Throws kBadData unless the array has `dims` axes; `meaning` says what they should be.
void expect_dims(const NpyArray& array, std::size_t dims, const std::string& meaning);

/// All elements in row-major order as f32. Like the two below, large arrays of a mapped file that are stored in the
/// wanted type are not copied: the buffer shares the file's pages. Errors: kBadData for text, and for a finite f64
/// beyond the range of f32.
Buffer<float> to_floats(const NpyArray& array);
/// The same as f64, always copied.
std::vector<double> to_doubles(const NpyArray& array);
/// The bits of a row-major array of 16-bit elements.
Buffer<std::uint16_t> to_halves(const NpyArray& array);
/// All elements in row-major order. Errors: kBadData for text, fractions, and values outside i64.
Buffer<std::int64_t> to_int64(const NpyArray& array);
/// Ids that lie in a mapped file as they are, whatever they hold; nothing where to_ids would have to copy them.
Buffer<NodeId> ids_in_file(const NpyArray& array);
/// Elements as ids in [0, bound). Errors: kBadData naming the first that is not.
Buffer<NodeId> to_ids(const NpyArray& array, std::int64_t bound, int threads = 1);
/// Elements as booleans: 0 or 1. Errors: kBadData for anything else.
std::vector<bool> to_bools(const NpyArray& array);
/// Elements of a text array as UTF-8, trailing NULs removed. Errors: kBadData for other types.
std::vector<std::string> to_strings(const NpyArray& array);

/// An array that is written piece by piece, as write_npy writes it: the file appears once all is there.
class NpyStream {
 public:
  NpyStream(const std::filesystem::path& path, const std::string& descr, const std::vector<std::int64_t>& shape,
            int threads);
  void append(std::span<const std::byte> piece);
  /// The CRC-32 of the whole file. Errors: kDisk.
  std::uint32_t finish();

 private:
  AtomicFile file_;
  std::uint32_t crc_;
  int threads_;
};

/// Writes an array row-major; its data begin at a multiple of 4 KiB, so that a mapping is page-aligned. Returns the
/// CRC-32 of the whole file. Pages of `data` that are a file's are given back on the way. Errors: kDisk.
std::uint32_t write_npy(const std::filesystem::path& path, const std::string& descr,
                        const std::vector<std::int64_t>& shape, std::span<const std::byte> data, int threads = 1);

}  // namespace gneiss::data
