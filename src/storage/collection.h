// Giving back the space of chunks that no entry refers to (schemas/FORMAT.md, "Collection").
//
// Keeps invariant 5: a chunk is deleted only when no entry refers to it and no create is under way. Ids never change,
// and every step may be the last: what is left is found by the next collection.
#pragma once

#include <cstdint>

#include "cairn/progress.h"
#include "storage/database.h"

namespace cairn::storage {

struct CollectOptions {
  /// Bytes of entry rows and of files of chunks looked after.
  Progress progress;
  /// False: return at once, with is_done false, when a verify or another collection is under way.
  bool waits = true;
};

struct CollectResult {
  bool is_done = true;
  std::uint64_t live_chunks = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t removed_chunks = 0;
  std::uint64_t removed_digest_rows = 0;
  std::uint64_t dropped_files = 0;    ///< Files of chunks that went whole.
  std::uint64_t rewritten_files = 0;  ///< Files of chunks that were written anew without what is dead, or with others.
  std::uint64_t skipped_files = 0;    ///< That deserved it, but there was no room, or RocksDB was at work on them.
  std::uint64_t bytes_before = 0;     ///< Of the database's files.
  std::uint64_t bytes_after = 0;
};

/// Removes what no entry refers to. Creates wait while it marks, and between the rewriting of files they may go on.
/// When it returns the space is free, as far as no reader has files open.
///
/// Errors: kInvalidArgument when read-only; kCorruption when an entry row cannot be read (nothing is deleted then);
///         kOutOfSpace, kIo, kFailed. On error: no live chunk is touched; what was deleted stays deleted.
CollectResult collect(Database& database, const CollectOptions& options = {});

/// Rewrites small neighbouring files as one, in all families, so that their number stays bounded however many small
/// commits there are. Deletes nothing. Does nothing where there is no room. Errors: kIo, kOutOfSpace, kFailed.
/// Returns how many files went into others.
std::uint64_t merge_small_files(Database& database);

}  // namespace cairn::storage
