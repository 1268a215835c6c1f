// Whether two stores hold the same checkpoints, bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cairn/store.h>

namespace char_lm {

struct Comparison {
  std::uint64_t checkpoint_count = 0;
  std::uint64_t tensor_count = 0;
  std::uint64_t value_count = 0;  ///< Plain values and metadata.
  std::uint64_t bytes = 0;        ///< Of tensors.
  std::vector<std::string> differences;

  bool is_identical() const noexcept { return checkpoint_count > 0 && differences.empty(); }
};

/// Compares every checkpoint of one store with the one in the same place of the other: metadata,
/// objects, entries and their order, dtypes, shapes, bytes. NaN equals NaN of the same bits, and
/// 0.0 does not equal -0.0.
Comparison compare(const cairn::Store& left, const cairn::Store& right);

}  // namespace char_lm
