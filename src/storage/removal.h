// Taking checkpoints out of the catalog.
#pragma once

#include <cstdint>

#include "storage/database.h"

namespace cairn::storage {

/// Deletes the checkpoint's row and the entry rows of states that no other checkpoint points to, in one synced batch.
/// Chunks and digest rows stay. Errors: kNotFound; kFailed, kIo as every write.
void remove_checkpoint(Database& database, std::uint64_t version);

}  // namespace cairn::storage
