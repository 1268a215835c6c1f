// NumPy's .npy file format, version 1.0: numpy/lib/format.py in NumPy's sources specifies it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace cairn::tools {

/// The type that elements have in the file.
struct NpyType {
  std::string_view descriptor;               ///< NumPy's name in the header: "<f4".
  std::string_view name;                     ///< PyTorch's: "float32".
  std::optional<at::ScalarType> widened_to;  ///< Where NumPy lacks the tensor's own type.
};

/// Empty when no type of NumPy holds all values of the dtype. Names as in PyTorch.
std::optional<NpyType> npy_type_of(std::string_view dtype);

/// Writes the tensor, row-major. The file appears whole or not at all. Errors: CommandError.
void write_npy(const at::Tensor& tensor, const NpyType& type, const std::filesystem::path& path);

}  // namespace cairn::tools
