// Winners by the ids of their nodes. Each column looks its edge up by itself, so that there is nothing for vectors to
// do: what takes time is memory.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

namespace gneiss::kernels::cpu {
namespace {

void name_row(const ArgSourcesArgs<float>& args, std::int64_t v) {
  const NodeId* indices = args.in_edges.indices.data() + args.in_edges.offsets[static_cast<std::size_t>(v)];
  const std::int32_t* arg = args.arg.row(v);
  std::int32_t* source = args.source.row(v);
  for (std::int64_t j = 0; j < args.arg.cols; ++j) {
    source[j] = arg[j] < 0 ? -1 : static_cast<std::int32_t>(args.ids[static_cast<std::size_t>(indices[arg[j]])]);
  }
}

void weigh_row(const ArgSourcesArgs<float>& args, std::int64_t v) {
  const float* w = args.w.data() + args.in_edges.offsets[static_cast<std::size_t>(v)];
  const std::int32_t* arg = args.arg.row(v);
  const float* dy = args.dy.row(v);
  float* weighed = args.weighed.row(v);
  for (std::int64_t j = 0; j < args.arg.cols; ++j) weighed[j] = arg[j] < 0 ? 0.0F : w[arg[j]] * dy[j];
}

}  // namespace

void arg_sources(const Context& context, const ArgSourcesArgs<float>& args) {
  parallel_rows(context.threads, args.arg.rows, args.arg.cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      name_row(args, v);
      if (args.weighed.rows != 0) weigh_row(args, v);
    }
  });
}

}  // namespace gneiss::kernels::cpu
