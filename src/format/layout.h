// Shape of a stored tensor, and the order in which its bytes lie.
//
// A tensor is stored dense, in the order its strides say: row-major, channels_last, transposed ... All
// arithmetic on sizes is checked, since layouts come from disk and from foreign files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/dtype.h"

namespace cairn::format {

struct TensorLayout {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< In elements, as many as sizes; a dense permutation.
  bool requires_grad = false;

  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
};

/// Row-major strides of sizes. Dimensions of size 0 or 1 get the stride they would have.
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& sizes);

/// Elements, bytes. Errors: kInvalidArgument when a size is negative or the product passes 2^62 bytes.
std::uint64_t numel_of(const TensorLayout& layout);
std::uint64_t nbytes_of(const TensorLayout& layout);

/// Dimensions from the outermost to the innermost as the bytes lie: {0, 1, 2, 3} for row-major, {0, 2, 3, 1}
/// for channels_last. Dimensions of size 1 stand where row-major order would put them as far as strides allow.
/// Errors: kInvalidArgument when strides are not a dense permutation of the dimensions (gaps, overlaps,
/// negative, too few); what sizes 0 and 1 have for strides does not matter.
std::vector<std::int64_t> dimension_order(const TensorLayout& layout);

/// "float32 {3, 4}", with the strides when they are not row-major.
std::string describe(const TensorLayout& layout);
/// "{3, 4}".
std::string describe_sizes(const std::vector<std::int64_t>& sizes);

}  // namespace cairn::format
