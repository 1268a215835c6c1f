// Step 5 of the commit protocol: writing the chunks that the store does not have, into segments or into the batch.
#pragma once

#include "storage/chunk_plan.h"
#include "storage/commit.h"
#include "storage/database.h"
#include "storage/progress_meter.h"

namespace rocksdb {
class WriteBatch;
}

namespace cairn::storage {

/// Writes the new chunks into segments, one contiguous run of them a worker, and takes the segments in: durable then,
/// but nothing refers to them. Errors: kOutOfSpace, kIo. On error: files may be left in staging/, segments may be left
/// unreferenced.
void write_segments(ChunkPlan& plan, WriteLock& lock, const CommitOptions& options, ProgressMeter& progress);

/// Puts the new chunks into the batch.
void put_small_chunks(ChunkPlan& plan, WriteLock& lock, rocksdb::WriteBatch& batch, ProgressMeter& progress);

/// Puts the digest rows of the new chunks. Requires: they have ids.
void put_digest_rows(const ChunkPlan& plan, const Database& database, rocksdb::WriteBatch& batch);

}  // namespace cairn::storage
