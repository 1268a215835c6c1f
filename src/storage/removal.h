// Taking checkpoints out of the catalog.
#pragma once

#include <cstdint>
#include <span>

#include "storage/database.h"

namespace cairn::storage {

/// Deletes the rows of these checkpoints, and the entry rows of states that no other checkpoint points to, in one
/// synced batch; when that would take more than a quarter gigabyte of memory, in several, each of whole checkpoints.
/// Chunks and digest rows stay until they are collected. Errors: kNotFound, naming the version, before anything is
/// deleted; kOutOfSpace, kFailed, kIo as every write.
void remove_checkpoints(WriteLock& lock, std::span<const std::uint64_t> versions);

/// One of them, under a lock of its own.
void remove_checkpoint(Database& database, std::uint64_t version);

}  // namespace cairn::storage
