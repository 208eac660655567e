// How products with sparse input features run: on the stored values, or on a dense copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/program.h"

namespace gneiss::passes {

/// Sends products of sparse features through the sparse product and makes the features dense only where an op cannot
/// take them sparse. `decisions` gets one sentence per place.
ir::Program lower_sparse_features(const ir::Program& program, std::vector<std::string>* decisions);

/// Sparse products on stored values or on a dense copy; auto: the faster by modelled time, each product on its own.
enum class SparsePath : std::uint8_t { kAuto, kSparse, kDense };

struct SparsePathOptions {
  SparsePath path = SparsePath::kAuto;
  std::int64_t nonzeros = 0;  ///< stored entries of the features
  std::int64_t value_bytes = 4;
  std::int64_t most_dense_bytes = 0;  ///< what a dense copy may take under auto
};

/// True if a dense copy of features of this shape is allowed by its size.
bool dense_copy_fits(const cost::FeatureShape& features, const SparsePathOptions& options);

/// Seconds of features times a matrix of `columns` columns (or of the transposed features) by the path that `options`
/// ask for; a dense copy is taken to be there already.
double features_product_seconds(const cost::Rates& rates, const cost::FeatureShape& features, double columns,
                                bool gradient, const SparsePathOptions& options);

/// Turns sparse products (forward, weight gradient and evaluation apart) into dense ones where the density is above γ.
/// One dense copy serves them all: it is made once if the features are constant, once a step behind dropout, which then
/// counts against it. Auto makes a copy only if it saves 3 % of the modelled time of these products and its bytes are
/// allowed; the CSC copy of the features goes when no product needs it any more. Runs behind hoist_constants, which
/// tells constants apart. `decisions` gets one sentence per matrix of features. Source: Morphling §IV-B with γ
/// measured.
ir::Program choose_sparse_path(const ir::Program& program, const cost::Rates& rates, const SparsePathOptions& options,
                               std::vector<std::string>* decisions);

}  // namespace gneiss::passes
