// Backward of attention on the CPU: one pass over out-edges.
//
// First s_dst, lse and dots of a node are laid side by side, so that an edge finds all three on one cache line. The
// pass makes each edge's softmax weight anew from them and adds the neighbours' rows of dy to two sums
// (attention-inl.h); the inner product with z is taken once a row, or once a segment of it where edges come tile by
// tile (attention_grad_tiled).
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
  attention::with_heads(args.heads, [&](auto heads) { pack_rows<heads>(args, packed, begin, end); });
}

/// A row of a panel. kHeads: the number of heads where it is known to the compiler, else 0. kGated: weights are
/// multiplied by a gate.
template <int kHeads, bool kGated>
class RowGradient {
  using Values = attention::PerHead<kHeads>;
  /// Are edges weighed and added at once?
  static constexpr bool kAtOnce = !kGated && attention::kEdgesPerVector<kHeads> > 0;

 public:
  RowGradient(const AttentionGradArgs<float>& args, const float* packed, const attention::Panel& panel)
      : args_(args), packed_(packed), panel_(panel), heads_(kHeads > 0 ? kHeads : args.heads) {
    if constexpr (kAtOnce) {
      add_ = attention::add_weighed_kernel<kHeads, true>(panel);
    } else {
      add_ = attention::add_rows_kernel<kHeads>(panel);
    }
  }

  /// Rows [begin, end).
  void run(std::int64_t begin, std::int64_t end) {
    if constexpr (kAtOnce) {
      attention::with_vectors(panel_, [&](auto vectors) HWY_ATTR { run_groups<vectors>(begin, end); });
    } else {
      for (std::int64_t u = begin; u < end; ++u) run(u);
    }
  }

  void run(std::int64_t u) {
    const EdgeId begin = args_.pattern.offsets[static_cast<std::size_t>(u)];
    const EdgeId end = args_.pattern.offsets[static_cast<std::size_t>(u) + 1];
    const std::int64_t step = kAtOnce ? std::max<EdgeId>(1, end - begin) : attention::batch_edges(heads());
    open(u);
    for (EdgeId k = begin; k < end; k += step) {
      const std::int64_t count = std::min(step, end - k);
      add(u, k, {args_.pattern.indices.data() + k, count, args_.pattern.nonzeros() - k});
    }
    store(u, true);
  }

  /// A segment of a row whose entries start at `id`; `first`: the row's first one.
  void run(const RowSegment& segment, std::int64_t id, attention::TileIds& ids, bool first) {
    const std::int64_t step = kAtOnce ? attention::TileIds::kMost : attention::batch_edges(heads());
    open(segment.row);
    for (std::int64_t i = 0; i < segment.length; i += step) {
      add(segment.row, segment.first + i, ids.run(id + i, std::min(step, segment.length - i)));
    }
    store(segment.row, first);
  }

 private:
  std::int64_t heads() const { return kHeads > 0 ? kHeads : heads_; }

  /// Rows [begin, end), those of few edges in groups.
  template <int kVectors>
  void run_groups(std::int64_t begin, std::int64_t end) {
    using Groups = attention::RowGroups<kVectors, kHeads, true>;
    using Group = typename Groups::Group;
    enum { kShared };
    const Tag d;
    // Copies, because what args_ refers to could change with every store for all that a compiler knows.
    const auto slope = hn::Set(d, static_cast<float>(args_.slope));
    const auto zero = hn::Zero(d);
    const float* packed = packed_;
    const auto s_src = args_.s_src;
    const auto z = args_.z;
    const auto dz = args_.dz;
    Groups groups(args_.pattern, args_.dy, panel_, packed_, kPackedValues * kHeads);
    const auto row_of = [&](std::int64_t u) HWY_ATTR {
      return attention::WeighedRow{
          packed, kPackedValues * kHeads, attention::repeat<kHeads>(s_src.row(u)), zero, slope, zero, zero};
    };
    const auto weighed = [&](Group& group, std::int64_t i, const attention::WeighedRow& row, std::int64_t) HWY_ATTR {
      // What this writes too much, the next row overwrites.
      hn::StoreU(attention::sum_of_edges<kHeads>(row.steep), d, group.values[kShared] + i * kHeads);
    };
    const auto summed = [&](const Group& group, std::int64_t i, std::int64_t u, const Vector* plain,
                            const Vector* steep) HWY_ATTR {
      attention::prefetch_columns<kVectors>(panel_, dz.row(u + Groups::kRowsAhead));
      attention::prefetch_columns<kVectors>(panel_, z.row(u + Groups::kRowsAhead));
#pragma GCC unroll 8
      for (int c = 0; c < kVectors; ++c) {
        attention::store_columns(plain[c], panel_, c, dz.row(u) + panel_.column);
        hn::Store(steep[c], d, sums_.steep + c * kLanes);
      }
      store_scores(u, Values::load(group.values[kShared] + i * kHeads, kHeads), true);
    };
    groups.run(
        begin, end, row_of, weighed, [](Group&) {}, summed, [&](std::int64_t u) HWY_ATTR { run(u); });
  }

  /// Before the edges of row u.
  void open([[maybe_unused]] std::int64_t u) {
    sums_.clear(panel_);
    shared_.fill(0, heads());
    if constexpr (kAtOnce) own_ = attention::repeat<kHeads>(args_.s_src.row(u));
  }

  /// A batch of the edges of row u, from entry k of the pattern on.
  void add(std::int64_t u, EdgeId k, const attention::Run& run) {
    if constexpr (kAtOnce) {
      const Tag d;
      const auto slope = hn::Set(d, static_cast<float>(args_.slope));
      attention::WeighedRow row{packed_, kPackedValues * kHeads, own_, hn::Zero(d), slope, hn::Zero(d), hn::Zero(d)};
      add_(args_.dy, run, panel_, row, sums_);
      add_shared(row.steep);
    } else {
      if constexpr (attention::kEdgesPerVector < kHeads >> 0) {
        weigh_in_vectors(u, run);
      } else {
        weigh(u, run);
      }
      apply_gate(k, run.count);
      add_(args_.dy, run, batch_, heads(), panel_, sums_);
    }
  }

  /// Adds what the edges of a vector have to shared_.
  void add_shared(Vector of_edges) {
    alignas(64) float lanes[kLanes];
    hn::Store(attention::sum_of_edges<kHeads>(of_edges), Tag(), lanes);
    shared_.update(
        kHeads, [](float a, float b) { return a + b; }, Values::load(lanes, kHeads));
  }

  /// Results of row u from the sums; `first`: in place of what is there, else in addition to it.
  void store(std::int64_t u, bool first) {
    const Tag d;
    float* dz = args_.dz.row(u) + panel_.column;
    for (int i = 0; i < panel_.vectors; ++i) {
      const auto sum = hn::Load(d, sums_.plain + i * kLanes);
      attention::store_columns(first ? sum : hn::Add(attention::load_columns(panel_, i, dz), sum), panel_, i, dz);
    }
    store_scores(u, shared_, first);
  }

  /// The gradient of the scores of row u, from what its edges share and sums_.steep.
  HWY_INLINE void store_scores(std::int64_t u, Values shared, bool first) {
    float* ds = args_.ds_src.row(u);
    if (panel_.column == 0) {
      shared.update(heads(), [](auto sum) { return -sum; });
      if (!first) {
        shared.update(
            heads(), [](auto sum, auto before) { return before + sum; }, Values::load(ds, heads()));
      }
      shared.store(ds, heads());
    }
    const float* z = args_.z.row(u) + panel_.column;
    if (panel_.width == args_.z.cols) {
      float products[kHeads > 0 ? kHeads : kMostAttentionHeads];
      const std::int64_t width =
          std::min(panel_.width, attention::kMostColumns) / heads();  // a bound that compilers see
      inner_products(z, sums_.steep, width, heads(), products);
      for (std::int64_t h = 0; h < heads(); ++h) ds[h] += products[h];
    } else {
      for (std::int64_t c = 0; c < panel_.width; ++c) ds[panel_.head_of[c]] += z[c] * sums_.steep[c];
    }
  }

  /// Fills the batch with the weights of a run of edges.
  void weigh(std::int64_t u, const attention::Run& run) {
    const NodeId* indices = run.indices;
    const std::int64_t count = run.count;
    const std::int64_t known = run.known;
    const auto slope = static_cast<float>(args_.slope);
    const float* own = args_.s_src.row(u);
    const std::int64_t stride = kPackedValues * heads();
    for (std::int64_t i = 0; i < count; ++i) {
      prefetch(packed_ + indices[std::min(i + attention::kBatchEdges, known - 1)] * stride);
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
  void weigh_in_vectors(std::int64_t u, const attention::Run& run) {
    constexpr int kEdges = attention::kEdgesPerVector<kHeads>;
    constexpr std::int64_t kStride = kPackedValues * kHeads;
    const Tag d;
    const NodeId* indices = run.indices;
    const std::int64_t count = run.count;
    const std::int64_t known = run.known;
    const auto own = attention::repeat<kHeads>(args_.s_src.row(u));
    const auto slope = hn::Set(d, static_cast<float>(args_.slope));
    const ExpOf exp;
    auto shared = hn::Zero(d);
    for (std::int64_t i = 0; i < count; i += kEdges) {
      for (std::int64_t e = i; e < i + kEdges; ++e) {
        prefetch(packed_ + indices[std::min(e + attention::kBatchEdges, known - 1)] * kStride);
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
    add_shared(shared);
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
  std::conditional_t<kAtOnce, attention::AddWeighed, attention::AddRows> add_;
  attention::Batch batch_;
  Vector own_;  ///< scores of the row, for every edge of a vector
  attention::Sums sums_;
  Values shared_;  ///< sum of a * f'(e) * <dy, y>
};

/// Calls body(row) for each panel of columns, with a RowGradient.
template <class Body>
void for_each_panel(const AttentionGradArgs<float>& args, const float* packed, const Body& body) {
  for (std::int64_t column = 0; column < args.z.cols; column += attention::kMostColumns) {
    const attention::Panel panel(column, args.z.cols, args.heads);
    attention::with_heads(args.heads, [&](auto heads) HWY_ATTR {
      if (args.gate.rows != 0) {
        RowGradient<heads, true> row(args, packed, panel);
        body(row);
      } else {
        RowGradient<heads, false> row(args, packed, panel);
        body(row);
      }
    });
  }
}

void grad_chunk(const AttentionGradArgs<float>& args, const float* packed, std::int64_t begin, std::int64_t end) {
  for_each_panel(args, packed, [&](auto& row) HWY_ATTR { row.run(begin, end); });
}

/// The segments of one chunk of one tile.
void grad_segments(const AttentionGradArgs<float>& args, const float* packed, std::int64_t tile, std::int64_t chunk) {
  attention::TileIds ids(args.tiles, tile);
  for_each_panel(args, packed, [&](auto& row) HWY_ATTR {
    attention::for_each_segment(args.tiles, chunk, [&](const RowSegment& segment, std::int64_t id) HWY_ATTR {
      row.run(segment, id, ids, tile == 0);
    });
  });
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
HWY_EXPORT(grad_segments);

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

void attention_grad_tiled(const Context& context, const AttentionGradArgs<float>& args) {
  pack_destinations(context, args);
  for_each_tile_chunk(context.threads, args.tiles, [&](std::int64_t tile, std::int64_t chunk) {
    HWY_DYNAMIC_DISPATCH(grad_segments)(args, packed_values(context), tile, chunk);
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
