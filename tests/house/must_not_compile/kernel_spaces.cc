// Arguments of kernels carry the memory space of what they point to: those of a device reach no kernel of the host.
//
// wrong: DEVICE_ARGUMENTS_FOR_THE_HOST: could not convert|no viable|no matching|cannot convert|invalid initialization
// wrong: DEVICE_VIEW_AMONG_HOST_ARGUMENTS: no match|no viable
// wrong: DEVICE_PATTERN_AMONG_HOST_ARGUMENTS: no match|no viable
// wrong: HOST_SPAN_AMONG_DEVICE_ARGUMENTS: no match|no viable
// wrong: DEVICE_HALVES_AMONG_HOST_ARGUMENTS: no match|no viable
// wrong: DEVICE_ELEMENTS_READ_BY_THE_HOST: no match|does not provide
#include "kernels/spmm.h"

namespace gneiss::kernels {

using HostArgs = SpmmArgs<float>;
using DeviceArgs = SpmmArgs<float, Space::kDevice>;

inline void right(const Context& context, HostArgs host, DeviceArgs device, MatrixView<float> rows) {
  host.y = rows;
  host.x = rows;  // a mutable view serves where a read-only one is asked for
  spmm(context, host);
  device.y = MatrixView<float, Space::kDevice>(rows.data, rows.rows, rows.cols);
  device.heads = host.heads;
}

#ifdef DEVICE_ARGUMENTS_FOR_THE_HOST
inline void wrong(const Context& context, const DeviceArgs& device) { spmm<float>(context, device); }
#endif
#ifdef DEVICE_VIEW_AMONG_HOST_ARGUMENTS
inline void wrong(HostArgs host, const DeviceArgs& device) { host.y = device.y; }
#endif
#ifdef DEVICE_PATTERN_AMONG_HOST_ARGUMENTS
inline void wrong(HostArgs host, const DeviceArgs& device) { host.pattern = device.pattern; }
#endif
#ifdef HOST_SPAN_AMONG_DEVICE_ARGUMENTS
inline void wrong(const HostArgs& host, DeviceArgs device) { device.w = host.w; }
#endif
#ifdef DEVICE_HALVES_AMONG_HOST_ARGUMENTS
inline void wrong(HostArgs host, const DeviceArgs& device) { host.x_half = device.x_half; }
#endif
#ifdef DEVICE_ELEMENTS_READ_BY_THE_HOST
inline float wrong(const DeviceArgs& device) { return device.w[0]; }
#endif

}  // namespace gneiss::kernels
