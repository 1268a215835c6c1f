// The one table of element types: number on disk, name, size. Store, import and export all use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cairn::format {

/// Element type; the numbers are part of the format (schemas/cairn.fbs, DType).
enum class DType : std::uint8_t {
  kBool = 0,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat8E4m3fn,
  kFloat8E5m2,
  kFloat8E4m3fnuz,
  kFloat8E5m2fnuz,
  kFloat8E8m0fnu,
  kFloat4E2m1fnX2,
  kBits1x8,
  kBits2x4,
  kBits4x2,
  kBits8,
  kBits16,
  kUInt1,
  kUInt2,
  kUInt3,
  kUInt4,
  kUInt5,
  kUInt6,
  kUInt7,
  kInt1,
  kInt2,
  kInt3,
  kInt4,
  kInt5,
  kInt6,
  kInt7,
};

inline constexpr std::uint8_t kDTypeCount = static_cast<std::uint8_t>(DType::kInt7) + 1;

/// Name as in PyTorch: "float32", "bfloat16", "float8_e4m3fn".
std::string_view name_of(DType dtype) noexcept;
/// Bytes of one element; 1 for types smaller than a byte, which LibTorch keeps one to a byte.
std::uint32_t size_of(DType dtype) noexcept;
std::optional<DType> dtype_from_name(std::string_view name) noexcept;
/// Empty for a number this format does not know.
std::optional<DType> dtype_from_number(std::uint8_t number) noexcept;

}  // namespace cairn::format
