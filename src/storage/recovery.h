// What a crash before the commit point leaves behind, and how the next writer drops it.
#pragma once

#include <cstdint>

#include "storage/database.h"
#include "storage/families.h"

namespace cairn::storage {

/// Drops every segment whose number is at least `first`: no committed row can refer to one (invariant 3). Returns how
/// many files went. Requires: no create is under way. Errors: kIo; kCorruption when such a file cannot be dropped.
std::uint64_t drop_segments_from(const Handles& handles, std::uint64_t first);

}  // namespace cairn::storage
