// Names of object kinds.
#include "cairn/checkpoint_info.h"

namespace cairn {

std::string_view to_string(ObjectKind kind) noexcept {
  switch (kind) {
    case ObjectKind::kStateDict:
      return "state dict";
    case ObjectKind::kModule:
      return "module";
    case ObjectKind::kOptimizer:
      return "optimizer";
    case ObjectKind::kGenerator:
      return "generator";
    case ObjectKind::kTensor:
      return "tensor";
    case ObjectKind::kSampler:
      return "sampler";
    case ObjectKind::kUser:
      return "user type";
  }
  return "unknown";
}

}  // namespace cairn
