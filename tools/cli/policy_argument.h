// The arguments of which a retention policy consists, from text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cairn/retention.h"

namespace cairn::tools {

/// "90s", "30min", "12h", "7d", "2w". Errors: std::invalid_argument, with a message for the user.
std::chrono::microseconds duration_of(const std::string& text);
/// "500", "64KiB", "10GiB", "1.5TiB"; also KB, MB ... in powers of ten. Errors: as above.
std::uint64_t size_of(const std::string& text);
/// "val_loss", "val_loss:min:3", "accuracy:max", "val_loss:3". Errors: as above.
RetentionPolicy::Best best_of(const std::string& text);
/// A number from 1. Errors: as above.
std::uint64_t count_of(const std::string& text);

}  // namespace cairn::tools
