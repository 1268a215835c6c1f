// What tells whether two entries of one store are equal, from their rows alone.
#pragma once

#include "format/digest.h"
#include "format/rows.h"

namespace cairn::format {

/// Digest of an entry's content: equal for equal dtype, sizes, memory order and bytes, or equal type and value. Neither
/// the name nor requires_grad count. Holds within a store: it goes by chunks, whose size is the store's.
Digest content_digest(const EntryRow& row);

}  // namespace cairn::format
