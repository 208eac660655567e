// One op gives the loss of "train_logits" and its gradient, by the kind of labels; another the validation loss.
#include "passes/loss.h"

#include <vector>

#include "base/error.h"

namespace gneiss::passes {

using ir::OpKind;
using ir::ValueId;

ir::Program add_loss(const ir::Program& program, const LossSpec& loss) {
  ir::Program out = program;
  const ValueId logits = program.output(loss.evaluation_only ? "logits" : "train_logits");
  if (loss.kind == LossSpec::Kind::kNone || (loss.evaluation_only && !loss.validation)) return out;
  GNEISS_ASSERT(logits != ir::kNoValue, "the program has no logits to take a loss of");
  ir::Builder builder(&out);
  ir::Attrs attrs;
  OpKind kind = OpKind::mse;
  if (loss.kind == LossSpec::Kind::kCrossEntropy) {
    kind = OpKind::cross_entropy;
    attrs.set("label_smoothing", loss.label_smoothing);
  } else if (loss.kind == LossSpec::Kind::kBceWithLogits) {
    kind = OpKind::bce_with_logits;
  }
  if (!loss.evaluation_only) {
    const std::vector<ValueId> results = builder.add_all(kind, {logits}, attrs);
    out.outputs.push_back({"loss", results[0]});
    out.outputs.push_back({"dlogits", results[1]});
  }
  if (loss.validation) {
    builder.set_phase(ir::Phase::kInference);
    attrs.set("nodes", std::string("val"));
    out.outputs.push_back({"val_loss", builder.add(kind, {program.output("logits")}, attrs)});
  }
  return out;
}

}  // namespace gneiss::passes
