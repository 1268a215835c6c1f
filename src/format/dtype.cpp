// The table.
#include "format/dtype.h"

#include <array>
#include <cstddef>

namespace cairn::format {

namespace {

struct Row {
  std::string_view name;
  std::uint32_t size;
};

constexpr std::array<Row, kDTypeCount> kTable = {{
    {"bool", 1},
    {"uint8", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
    {"complex32", 4},
    {"complex64", 8},
    {"complex128", 16},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"float8_e8m0fnu", 1},
    {"float4_e2m1fn_x2", 1},
    {"bits1x8", 1},
    {"bits2x4", 1},
    {"bits4x2", 1},
    {"bits8", 1},
    {"bits16", 2},
    {"uint1", 1},
    {"uint2", 1},
    {"uint3", 1},
    {"uint4", 1},
    {"uint5", 1},
    {"uint6", 1},
    {"uint7", 1},
    {"int1", 1},
    {"int2", 1},
    {"int3", 1},
    {"int4", 1},
    {"int5", 1},
    {"int6", 1},
    {"int7", 1},
}};

}  // namespace

std::string_view name_of(DType dtype) noexcept { return kTable[static_cast<std::size_t>(dtype)].name; }

std::uint32_t size_of(DType dtype) noexcept { return kTable[static_cast<std::size_t>(dtype)].size; }

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_number(std::uint8_t number) noexcept {
  if (number >= kDTypeCount) return std::nullopt;
  return static_cast<DType>(number);
}

}  // namespace cairn::format
