// What the store still needs: the chunks that entry rows refer to.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "storage/chunk_set.h"
#include "storage/database.h"

namespace cairn::storage {

/// A chunk as an entry refers to it.
struct ChunkUse {
  std::uint64_t id = 0;
  std::uint32_t length = 0;
};

/// Calls `take` for every entry row in the order of states: the state, the row's bytes, the chunks it refers to.
/// Errors: kCorruption when a row cannot be read; kIo.
void scan_references(
    const Database& database,
    const std::function<void(std::uint64_t state, std::uint64_t row_bytes, std::span<const ChunkUse> uses)>& take);

/// Chunks that any entry row refers to. `scanned` is told the bytes of rows read, as they are read. Cost: one scan of
/// the entry rows; memory as ChunkSet.
/// Errors: kCorruption when a row cannot be read, or a state does not have the rows its checkpoint says: what refers to
/// a chunk is not known then, so nothing may be deleted. kIo.
ChunkSet live_chunks(const Database& database, const std::function<void(std::uint64_t bytes)>& scanned = {});

/// Adds the chunks of one state to the set; returns the bytes of its rows and of the chunks that were not in it.
/// Errors: kCorruption, kIo.
std::uint64_t add_state(const Database& database, std::uint64_t state, ChunkSet& chunks);

}  // namespace cairn::storage
