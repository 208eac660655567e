// Views and buffers: read-only stays read-only, memory has one owner, and memory spaces do not mix.
//
// wrong: WRITE_THROUGH_A_CONST_VIEW: read-only|not assignable|cannot assign
// wrong: MUTABLE_VIEW_OF_A_CONST_ONE: conversion|no viable
// wrong: MUTABLE_SPAN_OF_A_CONST_BUFFER: conversion|no viable
// wrong: WRITE_TO_A_CONST_BUFFER: read-only|not assignable|cannot assign
// wrong: HOST_VIEW_FOR_A_DEVICE: could not convert|no viable|no matching|cannot convert
// wrong: DEVICE_VIEW_FOR_THE_HOST: could not convert|no viable|no matching|cannot convert
// wrong: COPY_OF_A_BUFFER: deleted
// wrong: BUFFER_OF_STRINGS: static assertion|static_assert
#include <span>
#include <string>

#include "base/buffer.h"
#include "base/matrix_view.h"

namespace gneiss {

inline float host_kernel(ConstMatrixView<float> x) { return x.at(0, 0); }
inline float* device_kernel(MatrixView<float, Space::kDevice> x) { return x.data; }

inline void right(Buffer<float>* buffer, MatrixView<float> view, MatrixView<float, Space::kDevice> device) {
  view.at(0, 0) = host_kernel(view);  // a mutable view serves where a read-only one is asked for
  const ConstMatrixView<float> read_only = view;
  host_kernel(read_only);
  device_kernel(device);
  const std::span<float> all = buffer->span();
  all[0] = 1;
  const Buffer<float> taken = std::move(*buffer);
  const std::span<const float> seen = taken;
  static_cast<void>(seen);
}

#ifdef WRITE_THROUGH_A_CONST_VIEW
inline void wrong(ConstMatrixView<float> view) { view.at(0, 0) = 1; }
#endif
#ifdef MUTABLE_VIEW_OF_A_CONST_ONE
inline MatrixView<float> wrong(ConstMatrixView<float> view) {
  MatrixView<float> mutable_view = view;
  return mutable_view;
}
#endif
#ifdef MUTABLE_SPAN_OF_A_CONST_BUFFER
inline void wrong(const Buffer<float>& buffer) {
  std::span<float> all = buffer.span();
  all[0] = 1;
}
#endif
#ifdef WRITE_TO_A_CONST_BUFFER
inline void wrong(const Buffer<float>& buffer) { buffer[0] = 1; }
#endif
#ifdef HOST_VIEW_FOR_A_DEVICE
inline void wrong(MatrixView<float> view) { device_kernel(view); }
#endif
#ifdef DEVICE_VIEW_FOR_THE_HOST
inline void wrong(MatrixView<float, Space::kDevice> view) { host_kernel(view); }
#endif
#ifdef COPY_OF_A_BUFFER
inline void wrong(const Buffer<float>& buffer) { Buffer<float> copy = buffer; }
#endif
#ifdef BUFFER_OF_STRINGS
inline void wrong() { Buffer<std::string> words(1); }
#endif

}  // namespace gneiss
