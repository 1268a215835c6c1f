// The two tables of element types, made once by going through every type of the linked LibTorch.
#include "state/dtypes.h"

#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

namespace cairn::state {

namespace {

constexpr auto kTypeCount = static_cast<std::size_t>(at::ScalarType::NumOptions);

/// LibTorch's C++ names that are not Python's in lower case.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRenamed = {{
    {"Byte", "uint8"},
    {"Char", "int8"},
    {"Short", "int16"},
    {"Int", "int32"},
    {"Long", "int64"},
    {"Half", "float16"},
    {"Float", "float32"},
    {"Double", "float64"},
    {"ComplexHalf", "complex32"},
    {"ComplexFloat", "complex64"},
    {"ComplexDouble", "complex128"},
}};

std::string name_of(at::ScalarType type) {
  std::string name = c10::toString(type);
  for (const auto& [from, to] : kRenamed) {
    if (name == from) return std::string(to);
  }
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

struct Tables {
  std::array<std::optional<format::DType>, kTypeCount> to_format;
  std::array<std::optional<at::ScalarType>, format::kDTypeCount> to_torch;

  Tables() {
    for (std::size_t i = 0; i < kTypeCount; ++i) {
      const auto type = static_cast<at::ScalarType>(i);
      const auto dtype = format::dtype_from_name(name_of(type));
      if (!dtype || c10::elementSize(type) != format::size_of(*dtype)) continue;
      to_format[i] = dtype;
      to_torch[static_cast<std::size_t>(*dtype)] = type;
    }
  }
};

const Tables& tables() {
  static const Tables tables;
  return tables;
}

}  // namespace

std::optional<format::DType> to_format(at::ScalarType type) noexcept {
  const auto place = static_cast<std::size_t>(type);
  return place < kTypeCount ? tables().to_format[place] : std::nullopt;
}

std::optional<at::ScalarType> to_torch(format::DType dtype) noexcept {
  return tables().to_torch[static_cast<std::size_t>(dtype)];
}

std::string describe(at::ScalarType type) { return name_of(type); }

}  // namespace cairn::state
