// The frame of a contract. The .cc of an op says what is its own: its name (kOp), what its arguments must be (check)
// and what may run it (kVariants, best first, ending in `reference`); GNEISS_CONTRACT makes the op of them.
#pragma once

#include "kernels/check.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "kernels/variants.h"

/// Defines op(context, args), which checks and runs the first variant that takes the arguments, and op_variants().
#define GNEISS_CONTRACT(op, Args)                                        \
  template <class T>                                                     \
  void op(const Context& context, const Args<T>& args) {                 \
    check(context, args);                                                \
    choose<Args<T>>(kOp, kVariants<T>, args).run(context, args);         \
  }                                                                      \
  template <class T>                                                     \
  std::span<const Variant<Args<T>>> op##_variants() {                    \
    return kVariants<T>;                                                 \
  }                                                                      \
  template void op(const Context&, const Args<float>&);                  \
  template void op(const Context&, const Args<double>&);                 \
  template std::span<const Variant<Args<float>>> op##_variants<float>(); \
  template std::span<const Variant<Args<double>>> op##_variants<double>();
