// Data sets that somebody holds in memory and lends: their arrays are read where they lie, never written and never
// given back to the system.
//
// The mark of a lent buffer is its keeper, a Loan. Pages of a mapped file have another keeper: they may be written to
// (the file does not change) and given back.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/buffer.h"
#include "data/dataset.h"
#include "data/load.h"

namespace gneiss::data {

/// How the keeper of a lent buffer lets go of the lender.
struct Loan {
  std::shared_ptr<const void> lender;
  void operator()(const void*) const {}
};

/// The elements of `values`, which `lender` holds.
template <class T>
Buffer<T> lend(const std::shared_ptr<const void>& lender, std::span<const T> values) {
  if (values.empty()) return {};
  const std::shared_ptr<const void> loan(values.data(), Loan{lender});
  return Buffer<T>::within(loan, const_cast<T*>(values.data()), values.size());
}

template <class T>
bool is_lent(const Buffer<T>& buffer) {
  return std::get_deleter<Loan>(buffer.keeper()) != nullptr;
}

/// Are the values somebody else's?
bool is_lent(const Features& features);
/// Gives lent values memory of their own, before somebody writes to them.
void own_values(Features* features);

/// A data set that reads the edges and features of `source` where they lie and keeps it alive; everything else is its
/// own copy.
Dataset share(const std::shared_ptr<const Dataset>& source);

/// What load() makes of a file, of a data set in memory: edges, features and split as `options` want them. What they
/// leave as it is, is shared with `given`. Errors: kUsage for options that say how files are read; as load() for the
/// rest.
Dataset load_given(const std::shared_ptr<const Dataset>& given, const LoadOptions& options = {});

/// What the names of data sets begin with that were made of arrays: no file and no generator has them.
inline constexpr std::string_view kGivenPrefix = "arrays:";

}  // namespace gneiss::data
