// Backward of attention on the CPU: one pass over out-edges.
//
// First s_dst, lse and dots of a node are laid side by side, so that an edge finds all three on one cache line. The pass makes each
// edge's softmax weight anew from them, in batches as attention does, and adds the neighbours' rows of dy to two sums; the inner product
// with z is taken once a row.
#include "kernels/attention_grad.h"

#include "kernels/band_views.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/parallel_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_grad.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/inner_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gneiss::kernels::cpu {
namespace HWY_NAMESPACE {
namespace {

/// `packed` has kPackedValues * heads values a destination.
template <int kHeads>
void pack_rows(const AttentionGradArgs<float>& args, float* packed, std::int64_t begin, std::int64_t end) {
  const std::int64_t heads = kHeads > 0 ? kHeads : args.heads;
  for (std::int64_t v = begin; v < end; ++v) {
    float* to = packed + v * kPackedValues * heads;
    std::copy_n(args.s_dst.row(v), heads, to);
    std::copy_n(args.lse.row(v), heads, to + heads);
    std::copy_n(args.dots.row(v), heads, to + 2 * heads);
  }
}

void pack_chunk(const AttentionGradArgs<float>& args, float* packed, std::int64_t begin, std::int64_t end) {
  switch (args.heads) {
    case 1:
      return pack_rows<1>(args, packed, begin, end);
    case 4:
      return pack_rows<4>(args, packed, begin, end);
    default:
      return pack_rows<0>(args, packed, begin, end);
  }
}

/// A row of a panel. kHeads: the number of heads where it is known to the compiler, else 0.
template <int kHeads>
class RowGradient {
  using Values = attention::PerHead<kHeads>;

 public:
  RowGradient(const AttentionGradArgs<float>& args, const float* packed, const attention::Panel& panel)
      : args_(args),
        packed_(packed),
        panel_(panel),
        heads_(kHeads > 0 ? kHeads : args.heads),
        add_rows_(attention::add_rows_kernel<kHeads>(panel)) {}

  void run(std::int64_t u) {
    const EdgeId begin = args_.pattern.offsets[static_cast<std::size_t>(u)];
    const EdgeId end = args_.pattern.offsets[static_cast<std::size_t>(u) + 1];
    const std::int64_t step = attention::batch_edges(heads());
    sums_.clear(panel_);
    shared_.fill(0, heads());
    for (EdgeId k = begin; k < end; k += step) {
      const std::int64_t count = std::min(step, end - k);
      if constexpr (attention::kEdgesPerVector<kHeads> > 0) {
        weigh_in_vectors(u, k, count);
      } else {
        weigh(u, k, count);
      }
      apply_gate(k, count);
      add_rows_(args_.dy, {args_.pattern.indices.data() + k, count, args_.pattern.nonzeros() - k}, batch_, heads(),
                panel_, sums_);
    }
    const Tag d;
    for (int i = 0; i < panel_.vectors; ++i) {
      attention::store_columns(hn::Load(d, sums_.plain + i * kLanes), panel_, i, args_.dz.row(u) + panel_.column);
    }
    float* ds = args_.ds_src.row(u);
    if (panel_.column == 0) {
      shared_.update(heads(), [](auto sum) { return -sum; });
      shared_.store(ds, heads());
    }
    const float* z = args_.z.row(u) + panel_.column;
    if (panel_.width == args_.z.cols) {
      float products[kHeads > 0 ? kHeads : kMostAttentionHeads];
      const std::int64_t width = std::min(panel_.width, attention::kMostColumns) / heads();  // a bound that compilers see
      inner_products(z, sums_.steep, width, heads(), products);
      for (std::int64_t h = 0; h < heads(); ++h) ds[h] += products[h];
    } else {
      for (std::int64_t c = 0; c < panel_.width; ++c) ds[panel_.head_of[c]] += z[c] * sums_.steep[c];
    }
  }

 private:
  std::int64_t heads() const { return kHeads > 0 ? kHeads : heads_; }

  /// Fills the batch with the weights of `count` edges from k on.
  void weigh(std::int64_t u, EdgeId k, std::int64_t count) {
    const NodeId* indices = args_.pattern.indices.data() + k;
    const std::int64_t known = args_.pattern.nonzeros() - k;
    const auto slope = static_cast<float>(args_.slope);
    const float* own = args_.s_src.row(u);
    const std::int64_t stride = kPackedValues * heads();
    for (std::int64_t i = 0; i < count; ++i) {
      hwy::Prefetch(packed_ + indices[std::min(i + attention::kBatchEdges, known - 1)] * stride);
      const float* other = packed_ + indices[i] * stride;
      for (std::int64_t h = 0; h < heads(); ++h) {
        const float raw = own[h] + other[h];
        const float bent = raw > 0 ? 1.0F : slope;
        batch_.plain[i * heads() + h] = raw * bent - other[heads() + h];
        batch_.steep[i * heads() + h] = bent;
      }
    }
    attention::exponentiate(batch_, count * heads());
    for (std::int64_t i = 0; i < count; ++i) {
      const float* common = packed_ + indices[i] * stride + 2 * heads();
      for (std::int64_t h = 0; h < heads(); ++h) shared_.of[h] += batch_.steep[i * heads() + h] * common[h];
    }
  }

  /// The same, a vector of edges x heads at a time.
  void weigh_in_vectors(std::int64_t u, EdgeId k, std::int64_t count) {
    constexpr int kEdges = attention::kEdgesPerVector<kHeads>;
    constexpr std::int64_t kStride = kPackedValues * kHeads;
    const Tag d;
    const NodeId* indices = args_.pattern.indices.data() + k;
    const std::int64_t known = args_.pattern.nonzeros() - k;
    const auto own = attention::repeat<kHeads>(args_.s_src.row(u));
    const auto slope = hn::Set(d, static_cast<float>(args_.slope));
    const ExpOf exp;
    auto shared = hn::Zero(d);
    for (std::int64_t i = 0; i < count; i += kEdges) {
      for (std::int64_t e = i; e < i + kEdges; ++e) {
        hwy::Prefetch(packed_ + indices[std::min(e + attention::kBatchEdges, known - 1)] * kStride);
      }
      const auto other = [&](int what) HWY_ATTR {
        return attention::load_ends<kHeads>(packed_ + what * kHeads, kStride, indices + i, count - i);
      };
      const auto raw = hn::Add(own, other(0));
      const auto bent = hn::IfThenElse(hn::Gt(raw, hn::Zero(d)), hn::Set(d, 1.0F), slope);
      const auto all = exp(hn::Sub(hn::Mul(raw, bent), other(1)));
      const auto weight = hn::IfThenElseZero(attention::used_lanes<kHeads>(count - i), all);
      const auto steep = hn::Mul(weight, bent);
      shared = hn::MulAdd(steep, other(2), shared);
      hn::Store(weight, d, batch_.plain + i * kHeads);
      hn::Store(steep, d, batch_.steep + i * kHeads);
    }
    const auto plus = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
    alignas(64) float lanes[kLanes];
    hn::Store(attention::fold<kHeads>(shared, plus), d, lanes);
    shared_.update(kHeads, [](float a, float b) { return a + b; }, Values::load(lanes, kHeads));
  }

  void apply_gate(EdgeId k, std::int64_t count) {
    if (args_.gate.rows == 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
      attention::scale_edge<kHeads>(batch_, i, args_.gate.row(args_.pattern.slot(k + i)), heads());
    }
  }

  const AttentionGradArgs<float>& args_;
  const float* packed_;
  const attention::Panel& panel_;
  std::int64_t heads_;
  attention::AddRows add_rows_;
  attention::Batch batch_;
  attention::Sums sums_;
  Values shared_;  ///< sum of a * f'(e) * <dy, y>
};

template <int kHeads>
void grad_rows(const AttentionGradArgs<float>& args, const float* packed, std::int64_t begin, std::int64_t end) {
  for (std::int64_t column = 0; column < args.z.cols; column += attention::kMostColumns) {
    const attention::Panel panel(column, args.z.cols, args.heads);
    RowGradient<kHeads> row(args, packed, panel);
    for (std::int64_t u = begin; u < end; ++u) row.run(u);
  }
}

void grad_chunk(const AttentionGradArgs<float>& args, const float* packed, std::int64_t begin, std::int64_t end) {
  switch (args.heads) {
    case 1:
      return grad_rows<1>(args, packed, begin, end);
    case 4:
      return grad_rows<4>(args, packed, begin, end);
    case 8:
      return grad_rows<8>(args, packed, begin, end);
    default:
      return grad_rows<0>(args, packed, begin, end);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gneiss::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gneiss::kernels::cpu {
namespace {

HWY_EXPORT(pack_chunk);
HWY_EXPORT(grad_chunk);

float* packed_values(const Context& context) { return reinterpret_cast<float*>(context.workspace.data()); }

void pack_destinations(const Context& context, const AttentionGradArgs<float>& args) {
  parallel_rows(context.threads, args.pattern.cols, args.z.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(pack_chunk)(args, packed_values(context), begin, end);
  });
}

}  // namespace

void attention_grad(const Context& context, const AttentionGradArgs<float>& args) {
  pack_destinations(context, args);
  parallel_edge_rows(context.threads, args.pattern.offsets, 2 * args.z.cols, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(grad_chunk)(args, packed_values(context), begin, end);
  });
}

BandKernel<AttentionGradArgs<float>> attention_grad_bands(const AttentionGradArgs<float>& args) {
  BandKernel<AttentionGradArgs<float>> kernel;
  kernel.shared_bytes = attention_grad_workspace_bytes(args.dy.rows, args.heads, sizeof(float));
  kernel.prepare = pack_destinations;
  kernel.run = [](const Context& context, const AttentionGradArgs<float>& all, const Band& band) {
    HWY_DYNAMIC_DISPATCH(grad_chunk)(band_of(all, band), packed_values(context), 0, band.end - band.begin);
  };
  return kernel;
}

}  // namespace gneiss::kernels::cpu
#endif  // HWY_ONCE
