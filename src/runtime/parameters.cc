// Parameters by their place in the flat buffers: the planner gives every parameter an offset (passes' memory plan), the
// same for every plan of a model, because it depends on the list of parameters alone.
#include "runtime/parameters.h"

#include "base/error.h"

namespace gneiss::runtime {

template <class T>
Parameters<T>::Parameters(const ir::Plan& plan)
    : slots_(slots_of(plan)),
      values_(Buffer<T>::zeros(static_cast<std::size_t>(plan.parameter_bytes) / sizeof(T))),
      gradients_(Buffer<T>::zeros(static_cast<std::size_t>(plan.parameter_bytes) / sizeof(T))),
      states_(Buffer<T>::zeros(static_cast<std::size_t>(plan.state_bytes) / sizeof(T))) {}

template <class T>
std::vector<typename Parameters<T>::Slot> Parameters<T>::slots_of(const ir::Plan& plan) {
  GNEISS_ASSERT(plan.value_bytes == static_cast<std::int64_t>(sizeof(T)), "the plan is for values of {} bytes",
                plan.value_bytes);
  std::vector<Slot> slots;
  for (const ir::Param& param : plan.program.params) {
    const ir::Placement& place = plan.placements[static_cast<std::size_t>(param.value)];
    slots.push_back({param.name, param.rows, param.cols, place.offset_bytes / plan.value_bytes, param.trainable});
  }
  return slots;
}

template <class T>
MatrixView<T> Parameters<T>::value(std::size_t i) {
  const Slot& slot = slots_[i];
  return {(slot.trainable ? values_ : states_).data() + slot.offset, slot.rows, slot.cols};
}

template <class T>
MatrixView<const T> Parameters<T>::gradient(std::size_t i) const {
  const Slot& slot = slots_[i];
  GNEISS_ASSERT(slot.trainable, "'{}' is not trained", slot.name);
  return {gradients_.data() + slot.offset, slot.rows, slot.cols};
}

template <class T>
void Parameters<T>::check(const ir::Plan& plan) const {
  const std::vector<Slot> wanted = slots_of(plan);
  GNEISS_ASSERT(wanted == slots_, "the plan has other parameters, or in other places: {} instead of {}", wanted.size(),
                slots_.size());
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace gneiss::runtime
