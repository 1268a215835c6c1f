// Steps 2 and 3 of a commit whose caller does not wait for the rest: digest, look up and copy while a chunk is in the
// cache.
#pragma once

#include <cstddef>

#include "storage/chunk_plan.h"
#include "storage/database.h"
#include "storage/progress_meter.h"
#include "storage/staging_memory.h"

namespace cairn::storage {

/// Digests every chunk, and copies those that the store does not have: from then on no source is read again. Returns
/// the bytes of the memory that were needed. Errors: those of the sources; kCorruption, kIo; std::bad_alloc.
std::size_t digest_and_stage(ChunkPlan& plan, const Database& database, StagingMemory& memory,
                             const CommitOptions& options, ProgressMeter& progress);

}  // namespace cairn::storage
