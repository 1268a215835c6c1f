// LibTorch's element types and the format's: matched by name, so that every type the linked LibTorch has is covered and
// one it has that the format lacks is refused by name.
#pragma once

#include <optional>
#include <string>

#include <c10/core/ScalarType.h>

#include "format/dtype.h"

namespace cairn::state {

/// Empty for a type the format has no number for (quantized types among them).
std::optional<format::DType> to_format(at::ScalarType type) noexcept;
/// Empty for a type the linked LibTorch lacks.
std::optional<at::ScalarType> to_torch(format::DType dtype) noexcept;

/// Name for messages, as in PyTorch: "float32", "qint8".
std::string describe(at::ScalarType type);

}  // namespace cairn::state
