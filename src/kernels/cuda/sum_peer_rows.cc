// A lane takes a column of a row, and walks the rows of the others for it.
#include "kernels/sum_peer_rows.h"

#include "kernels/cuda/ops.h"

namespace gneiss::kernels::GNEISS_DEVICE {
namespace {

__global__ void add_peer_rows(OnDevice<SumPeerRowsArgs> args, int lanes) {
  for (std::int64_t i = first_item(); i < args.y.rows * lanes; i += item_step()) {
    const std::int64_t v = i / lanes;
    for (std::int64_t j = i - v * lanes; j < args.y.cols; j += lanes) {
      bool any = args.x.data != nullptr;
      float sum = any ? args.x.data[v * args.x.stride + j] : 0.0F;
      for (std::int32_t k = args.offsets.data[v]; k < args.offsets.data[v + 1]; ++k) {
        const PeerRows<float> peer = args.peers.data[args.owners.data[k]];
        const float row = peer.first[args.sources.data[k] * peer.stride + j];
        sum = any ? sum + row : row;
        any = true;
      }
      args.y.data[v * args.y.stride + j] = sum;
    }
  }
}

}  // namespace

void sum_peer_rows(const DeviceContext& context, const OnDevice<SumPeerRowsArgs>& args) {
  const int lanes = lanes_for(args.y.cols);
  launch(context, add_peer_rows, launch_over(context, args.y.rows * lanes), args, lanes);
}

}  // namespace gneiss::kernels::GNEISS_DEVICE
