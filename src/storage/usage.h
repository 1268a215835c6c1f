// Where the bytes of a store are, and what removing checkpoints would free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cairn/retention.h"
#include "storage/catalog.h"
#include "storage/database.h"

namespace cairn::storage {

/// Chunks and rows that only checkpoints which are not kept refer to. `is_kept` goes with `checkpoints`.
/// Errors: kCorruption, kIo.
std::uint64_t freed_bytes(const Database& database, std::span<const StoredCheckpoint> checkpoints,
                          const std::vector<bool>& is_kept);

/// Cost: one scan of all entry rows; some 50 bytes of memory a chunk. Errors: kCorruption, kIo.
UsageReport usage(const Database& database);

/// Bytes of all files of the database.
std::uint64_t database_bytes(const Database& database);

}  // namespace cairn::storage
