// The list is written once and walked twice: for its sum before memory is taken, and by the executor, which takes the
// parts in the same order and asserts the same sizes.
#include "runtime/device_layout.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cuda/device_kernels.h"

namespace gneiss::runtime {
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr const char* kOfDevices = "--device";  // what errors of a device's memory name
constexpr std::int64_t kCountsOfScores = 4;     // of each class or task

/// What counting takes at most.
std::int64_t score_workspace(const Inputs& inputs, std::int64_t columns) {
  using Args = kernels::OnDevice<kernels::CountScoresArgs>;
  Args args;
  args.logits.cols = columns;
  args.targets.cols = inputs.validation.targets.cols;
  args.by_class = true;
  args.rows.size =
      std::max({inputs.scored.training.size(), inputs.scored.validation.size(), inputs.scored.test.size()});
  return static_cast<std::int64_t>(kernels::find_kernel<Args>(kernels::emulated_kernels()).workspace_bytes(args));
}

class Builder {
 public:
  void add(std::string what, std::int64_t count, std::size_t each) {
    const std::int64_t bytes = count * static_cast<std::int64_t>(each);
    layout_.parts.push_back({std::move(what), bytes, layout_.bytes});
    layout_.bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  void add_graph(const ir::Plan& plan, std::size_t g) {
    const ir::GraphUse& use = plan.graph_uses[g];
    if (!use.used) return;
    const ir::GraphDef& def = plan.program.graphs[g];
    const auto size = [&](std::int32_t set) { return plan.program.node_sets[static_cast<std::size_t>(set)].size; };
    add("in-edges of " + def.name, size(def.dst_set) + 1, sizeof(EdgeId));
    add("sources of " + def.name, def.num_edges, sizeof(NodeId));
    if (def.weighted) add("weights of " + def.name, def.num_edges, sizeof(float));
    if (!use.transpose) return;
    add("out-edges of " + def.name, size(def.src_set) + 1, sizeof(EdgeId));
    add("destinations of " + def.name, def.num_edges, sizeof(NodeId));
    if (use.slots) add("slots of " + def.name, def.num_edges, sizeof(EdgeId));
  }

  void add_features(const ir::Plan& plan, const FeatureInput& features) {
    if (!features.is_sparse) {
      const bool halves = features.dtype != HalfType::kNone;
      return add("features", features.rows * features.cols, halves ? sizeof(std::uint16_t) : sizeof(float));
    }
    const std::int64_t entries = plan.feature_nonzeros;
    add("rows of features", features.rows + 1, sizeof(EdgeId));
    add("columns of features", entries, sizeof(NodeId));
    add("values of features", entries, sizeof(float));
    if (!plan.feature_transpose) return;
    add("columns of features, transposed", features.cols + 1, sizeof(EdgeId));
    add("rows of features, transposed", entries, sizeof(NodeId));
    if (plan.feature_slots) {
      add("slots of features, transposed", entries, sizeof(EdgeId));
    } else {
      add("values of features, transposed", entries, sizeof(float));
    }
  }

  void add_rows(const std::string& part, const LabelledRows& rows) {
    add(part + " labels", std::ssize(rows.classes), sizeof(std::int32_t));
    add(part + " targets", rows.targets.rows * rows.targets.cols, sizeof(float));
    add(part + " rows", std::ssize(rows.rows), sizeof(NodeId));
  }

  void add_labels(const Inputs& inputs) {
    for (const std::size_t set : sets_with_ids(inputs)) {
      add(set == 0 ? "ids of nodes" : fmt::format("ids of nodes of set {}", set), std::ssize(inputs.row_ids[set]),
          sizeof(std::int64_t));
    }
    add_rows("training", inputs.training);
    add_rows("validation", inputs.validation);
    add("class weights", std::ssize(inputs.class_weights), sizeof(float));
  }

  /// Rows that are scored; those of the validation are there already.
  void add_scores(const Inputs& inputs, std::int64_t columns) {
    add("training nodes to score", std::ssize(inputs.scored.training), sizeof(NodeId));
    add("test nodes to score", std::ssize(inputs.scored.test), sizeof(NodeId));
    add("counts of scores", kCountsOfScores * columns, sizeof(double));
    add("work of counting scores", score_workspace(inputs, columns), 1);
  }

  DeviceLayout take(bool trains) {
    layout_.trains = trains;
    return std::move(layout_);
  }

 private:
  DeviceLayout layout_;
};

/// What clipping needs for so many gradients.
std::int64_t clip_bytes(const OptimizerConfig& optimizer, std::int64_t gradients) {
  if (optimizer.clip_norm == 0) return 0;
  using Args = kernels::OnDevice<kernels::ClipNormArgs>;
  Args args;
  args.g.size = static_cast<std::size_t>(gradients);
  return static_cast<std::int64_t>(kernels::find_kernel<Args>(kernels::emulated_kernels()).workspace_bytes(args));
}

/// What can be done about it.
std::string remedies(const DeviceLayout& layout, const DeviceRoom& room, Asker asker) {
  const bool others_took_it = layout.bytes <= room.total_bytes;
  const std::string text = others_took_it ? "end what else runs on the card; or " : "";
  if (asker == Asker::kProgram)
    return text + "write the program anew with --feature-dtype bf16, fewer hidden channels or layers";
  if (!layout.trains) return text + "use --device cpu";
  return text + "use --feature-dtype bf16, fewer hidden channels or layers, or --device cpu";
}

[[noreturn]] void refuse(const DeviceLayout& layout, const std::string& device, const DeviceRoom& room, Asker asker) {
  std::vector<DevicePart> largest = layout.parts;
  std::stable_sort(largest.begin(), largest.end(),
                   [](const DevicePart& a, const DevicePart& b) { return a.bytes > b.bytes; });
  largest.resize(std::min<std::size_t>(largest.size(), 3));
  std::string list;
  for (const DevicePart& part : largest)
    list += fmt::format("{}{} {} bytes", list.empty() ? "" : ", ", part.what, part.bytes);
  const bool in_pieces = layout.bytes <= room.free_bytes;
  throw Error(ErrorCode::kOutOfMemory,
              fmt::format("the plan takes {} bytes of {}, {} of {} bytes are free{}; the largest: {}", layout.bytes,
                          device, room.free_bytes, room.total_bytes, in_pieces ? ", and not in one piece" : "", list),
              kOfDevices, remedies(layout, room, asker));
}

}  // namespace

DeviceLayout device_layout(const ir::Plan& plan, const Inputs& inputs, const OptimizerConfig& optimizer) {
  const int state_values = Optimizer<float>::state_values(optimizer);
  Builder builder;
  builder.add("parameters", plan.parameter_bytes, 1);
  builder.add("gradients", plan.parameter_bytes, 1);
  builder.add("states", plan.state_bytes, 1);
  builder.add("first moments", state_values >= 1 ? plan.parameter_bytes : 0, 1);
  builder.add("second moments", state_values >= 2 ? plan.parameter_bytes : 0, 1);
  builder.add("sums of squares", clip_bytes(optimizer, plan.parameter_bytes / std::int64_t{sizeof(float)}), 1);
  builder.add("numbers of a step", 1, sizeof(kernels::StepNumbers));
  builder.add("constants", plan.constant_bytes, 1);
  builder.add("arena", plan.arena_bytes, 1);
  for (std::size_t g = 0; g < plan.graph_uses.size(); ++g) builder.add_graph(plan, g);
  builder.add_features(plan, inputs.features);
  builder.add_labels(inputs);
  const ir::ValueId logits = plan.program.output("logits");
  builder.add_scores(inputs, logits == ir::kNoValue ? 0 : plan.program.type(logits).cols);
  const bool trains = std::any_of(plan.program.ops.begin(), plan.program.ops.end(),
                                  [](const ir::Op& op) { return op.phase == ir::Phase::kBackward; });
  return builder.take(trains);
}

std::vector<std::size_t> sets_with_ids(const Inputs& inputs) {
  std::vector<std::size_t> sets;
  for (std::size_t set = 0; set < inputs.row_ids.size(); ++set) {
    if (first_with_ids_of(inputs, set) == set) sets.push_back(set);
  }
  return sets;
}

std::size_t first_with_ids_of(const Inputs& inputs, std::size_t set) {
  const std::span<const std::int64_t> ids = inputs.row_ids[set];
  const auto same = [&](std::span<const std::int64_t> other) {
    return other.data() == ids.data() && other.size() == ids.size();
  };
  return static_cast<std::size_t>(std::find_if(inputs.row_ids.begin(), inputs.row_ids.end(), same) -
                                  inputs.row_ids.begin());
}

DeviceLayout with_exchanges(DeviceLayout layout, std::int64_t bytes) {
  if (bytes == 0) return layout;
  layout.parts.push_back({"exchanges between devices", bytes, layout.bytes});
  layout.bytes += bytes;
  return layout;
}

void check_room(const DeviceLayout& layout, const std::string& device, const DeviceRoom& room, Asker asker) {
  if (layout.bytes > room.free_bytes) refuse(layout, device, room, asker);
}

void check_room(const DeviceLayout& layout, Device* device) {
  check_room(layout, device->name(), device->room(), device->asker());
}

void take_room(const DeviceLayout& layout, Device* device, const std::function<void()>& take) {
  try {
    take();
  } catch (const Error& error) {
    // The host may be out of memory too: what is made there on the way says so by itself.
    if (error.code() != ErrorCode::kOutOfMemory || error.where() != kOfDevices) throw;
    refuse(layout, device->name(), device->room(), device->asker());
  }
}

}  // namespace gneiss::runtime
