// Every bfloat16 and float8 is a float32 as well, so widening loses nothing. Types of less than a
// byte and raw bits have no counterpart and are refused by the caller.
#include "cli/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "cli/published_file.h"

namespace cairn::tools {

namespace {

static_assert(std::endian::native == std::endian::little, "descriptors say little-endian");

constexpr std::int64_t kPieceElements = 1 << 20;
constexpr std::size_t kAlignment = 64;

struct Row {
  std::string_view dtype;
  std::string_view descriptor;
};

constexpr std::array kSame = {
    Row{"bool", "|b1"},      Row{"uint8", "|u1"},       Row{"int8", "|i1"},    Row{"int16", "<i2"},
    Row{"int32", "<i4"},     Row{"int64", "<i8"},       Row{"uint16", "<u2"},  Row{"uint32", "<u4"},
    Row{"uint64", "<u8"},    Row{"float16", "<f2"},     Row{"float32", "<f4"}, Row{"float64", "<f8"},
    Row{"complex64", "<c8"}, Row{"complex128", "<c16"},
};

constexpr std::array kWidenedToFloat32 = {
    std::string_view("bfloat16"),        std::string_view("float8_e4m3fn"),   std::string_view("float8_e5m2"),
    std::string_view("float8_e4m3fnuz"), std::string_view("float8_e5m2fnuz"), std::string_view("float8_e8m0fnu"),
};

std::string header_of(const at::Tensor& tensor, std::string_view descriptor) {
  std::string shape;
  for (const std::int64_t size : tensor.sizes()) shape += fmt::format("{}, ", size);
  // A tuple of one keeps its comma.
  if (tensor.dim() == 1) {
    shape.pop_back();
  } else if (tensor.dim() > 1) {
    shape.resize(shape.size() - 2);
  }
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor, shape);
  constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
  const std::size_t before = kMagic.size() + sizeof(std::uint16_t);
  const std::size_t used = before + dictionary.size() + 1;
  dictionary.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  const auto length = static_cast<std::uint16_t>(dictionary.size());
  std::string header(kMagic);
  header += static_cast<char>(length & 0xFF);
  header += static_cast<char>(length >> 8);
  return header + dictionary;
}

}  // namespace

std::optional<NpyType> npy_type_of(std::string_view dtype) {
  for (const Row& row : kSame) {
    if (row.dtype == dtype) return NpyType{row.descriptor, row.dtype, std::nullopt};
  }
  if (dtype == "complex32") return NpyType{"<c8", "complex64", at::kComplexFloat};
  if (std::find(kWidenedToFloat32.begin(), kWidenedToFloat32.end(), dtype) != kWidenedToFloat32.end()) {
    return NpyType{"<f4", "float32", at::kFloat};
  }
  return std::nullopt;
}

void write_npy(const at::Tensor& tensor, const NpyType& type, const std::filesystem::path& path) {
  PublishedFile file(path);
  const std::string header = header_of(tensor, type.descriptor);
  file.write(header.data(), header.size());
  const at::Tensor flat = tensor.contiguous().view({-1});
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kPieceElements) {
    at::Tensor piece = flat.narrow(0, begin, std::min(kPieceElements, flat.numel() - begin));
    if (type.widened_to) piece = piece.to(*type.widened_to);
    file.write(piece.data_ptr(), piece.nbytes());
  }
  file.publish();
}

}  // namespace cairn::tools
