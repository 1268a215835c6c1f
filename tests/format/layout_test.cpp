// Sizes and strides, friendly and hostile.
#include "format/layout.h"

#include <limits>
#include <set>

#include "format/errors.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::format;
using cairn::testing::raised_by;

namespace {

TensorLayout layout(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
  return {DType::kFloat32, std::move(sizes), std::move(strides), false};
}

TensorLayout row_major(std::vector<std::int64_t> sizes) {
  auto strides = row_major_strides(sizes);
  return layout(std::move(sizes), std::move(strides));
}

using Order = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("every dtype has a name and a size, and is found by its name", "[format][dtype]") {
  std::set<std::string_view> names;
  for (std::uint8_t number = 0; number < kDTypeCount; ++number) {
    const auto dtype = dtype_from_number(number);
    REQUIRE(dtype);
    CHECK(dtype_from_name(name_of(*dtype)) == dtype);
    CHECK(size_of(*dtype) >= 1);
    CHECK(size_of(*dtype) <= 16);
    names.insert(name_of(*dtype));
  }
  CHECK(names.size() == kDTypeCount);
  CHECK_FALSE(dtype_from_number(kDTypeCount));
  CHECK_FALSE(dtype_from_name("float33"));
  CHECK(size_of(DType::kComplex128) == 16);
  CHECK(size_of(DType::kBFloat16) == 2);
}

TEST_CASE("elements and bytes follow from the sizes", "[format][layout]") {
  CHECK(nbytes_of(row_major({})) == 4);
  CHECK(nbytes_of(row_major({0})) == 0);
  CHECK(nbytes_of(row_major({3, 0, 2})) == 0);
  CHECK(nbytes_of(row_major({3, 5})) == 60);
  CHECK(numel_of(row_major({3, 5})) == 15);
  CHECK(row_major_strides({2, 0, 3}) == std::vector<std::int64_t>{3, 3, 1});
}

TEST_CASE("dimensions are ordered as the bytes lie", "[format][layout]") {
  CHECK(dimension_order(row_major({})) == Order{});
  CHECK(dimension_order(row_major({2, 3, 4})) == Order{0, 1, 2});
  CHECK(dimension_order(layout({8, 3, 5, 6}, {90, 1, 18, 3})) == Order{0, 2, 3, 1});  // channels_last
  CHECK(dimension_order(layout({3, 2}, {1, 3})) == Order{1, 0});                      // transposed
  CHECK(dimension_order(layout({3, 1, 2}, {2, 77, 1})) == Order{0, 1, 2});            // a size of 1 may have any stride
  CHECK(dimension_order(layout({3, 0}, {-5, 9})) == Order{0, 1});  // so may a tensor without elements
}

TEST_CASE("strides with gaps, overlaps or other counts are refused", "[format][layout]") {
  for (const TensorLayout& bad :
       {layout({3, 2}, {4, 1}), layout({3, 2}, {1, 1}), layout({3, 2}, {0, 1}), layout({3, 2}, {-2, 1}),
        layout({3, 2}, {2}), layout({4}, {2}), layout({2, 2}, {std::numeric_limits<std::int64_t>::max(), 1})}) {
    CHECK(raised_by([&] { dimension_order(bad); }).code == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("sizes that are negative or overflow are refused", "[format][layout]") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 33;
  CHECK(raised_by([] { nbytes_of(layout({kHuge, kHuge}, {kHuge, 1})); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { nbytes_of(layout({kHuge, 0, kHuge}, {0, 0, 0})); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { nbytes_of(layout({-1}, {1})); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { nbytes_of(layout({std::numeric_limits<std::int64_t>::min()}, {1})); }).code ==
        ErrorCode::kInvalidArgument);
  CHECK(nbytes_of(row_major({std::int64_t{1} << 40})) == std::uint64_t{1} << 42);
}

TEST_CASE("a layout is described as PyTorch's users would write it", "[format][layout]") {
  CHECK(describe(row_major({3, 4})) == "float32 {3, 4}");
  CHECK(describe(row_major({})) == "float32 {}");
  CHECK(describe(layout({3, 2}, {1, 3})) == "float32 {3, 2} strides {1, 3}");
}
