// Checked arithmetic on sizes and strides.
#include "format/layout.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format/fail.h"

namespace cairn::format {

namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

std::uint64_t extent(std::int64_t size) { return static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1)); }

/// Checks that every stride fits as well, so sizes of 0 count as 1.
std::uint64_t checked_extent(const TensorLayout& layout) {
  std::uint64_t product = size_of(layout.dtype);
  for (const std::int64_t size : layout.sizes) {
    if (size < 0) fail(ErrorCode::kInvalidArgument, "shape {} has a negative size", describe_sizes(layout.sizes));
    if (product > kMaxBytes / extent(size)) {
      fail(ErrorCode::kInvalidArgument, "shape {} of {} is above 2^62 bytes", describe_sizes(layout.sizes),
           name_of(layout.dtype));
    }
    product *= extent(size);
  }
  return product;
}

bool has_no_elements(const TensorLayout& layout) {
  return std::find(layout.sizes.begin(), layout.sizes.end(), 0) != layout.sizes.end();
}

}  // namespace

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::uint64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(stride);
    stride *= extent(sizes[i]);
  }
  return strides;
}

std::uint64_t nbytes_of(const TensorLayout& layout) {
  const std::uint64_t bytes = checked_extent(layout);
  return has_no_elements(layout) ? 0 : bytes;
}

std::uint64_t numel_of(const TensorLayout& layout) { return nbytes_of(layout) / size_of(layout.dtype); }

std::vector<std::int64_t> dimension_order(const TensorLayout& layout) {
  const std::vector<std::int64_t>& sizes = layout.sizes;
  const std::vector<std::int64_t>& strides = layout.strides;
  if (strides.size() != sizes.size()) {
    fail(ErrorCode::kInvalidArgument, "{} strides for {} dimensions", strides.size(), sizes.size());
  }
  checked_extent(layout);
  std::vector<std::int64_t> order;
  order.reserve(sizes.size());
  const auto count = static_cast<std::int64_t>(sizes.size());
  const auto at = [](const std::vector<std::int64_t>& values, std::int64_t i) {
    return values[static_cast<std::size_t>(i)];
  };
  if (has_no_elements(layout)) {
    for (std::int64_t i = 0; i < count; ++i) order.push_back(i);
    return order;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (at(sizes, i) > 1) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t left, std::int64_t right) { return at(strides, left) > at(strides, right); });
  std::int64_t expected = 1;
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
    if (at(strides, *dimension) != expected) {
      fail(ErrorCode::kInvalidArgument, "strides {} are not dense for shape {}", describe_sizes(strides),
           describe_sizes(sizes));
    }
    expected *= at(sizes, *dimension);
  }
  // A dimension of size 1 goes right behind the one before it, which leaves row-major order as it is.
  for (std::int64_t i = 0; i < count; ++i) {
    if (at(sizes, i) != 1) continue;
    const auto before = i == 0 ? order.begin() : std::find(order.begin(), order.end(), i - 1) + 1;
    order.insert(before, i);
  }
  return order;
}

std::string describe_sizes(const std::vector<std::int64_t>& sizes) {
  return fmt::format("{{{}}}", fmt::join(sizes, ", "));
}

std::string describe(const TensorLayout& layout) {
  std::string text = fmt::format("{} {}", name_of(layout.dtype), describe_sizes(layout.sizes));
  if (layout.strides != row_major_strides(layout.sizes)) text += " strides " + describe_sizes(layout.strides);
  return text;
}

}  // namespace cairn::format
