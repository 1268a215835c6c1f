// The chunks of a create, from bytes to ids: cut, digested, looked up, and written where they are new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/digest.h"
#include "format/keys.h"
#include "storage/commit.h"
#include "storage/database.h"
#include "storage/progress_meter.h"

namespace rocksdb {
class WriteBatch;
}

namespace cairn::storage {

/// One chunk of one tensor.
struct PlannedChunk {
  const ByteSource* source = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  format::Digest digest;
  std::uint64_t id = 0;  ///< 0: not known yet. Ids start at segment 1, so none is 0.
};

/// All chunks of a create in order of objects, entries and bytes.
class ChunkPlan {
 public:
  /// Adds a tensor's chunks; returns the place of the first.
  std::size_t add(const ByteSource& source, std::uint32_t chunk_size);

  const std::vector<PlannedChunk>& chunks() const noexcept { return chunks_; }

  /// Step 2: digests every chunk on `options.threads` workers.
  void digest(const CommitOptions& options, ProgressMeter& progress);
  /// Step 3: gives the chunks that the store has their ids, and lists the others in new_chunks, equal ones once.
  /// Errors: kCorruption, kIo.
  void look_up(const Database& database, ProgressMeter& progress);

  /// Places in chunks() of those that have to be written.
  const std::vector<std::size_t>& new_chunks() const noexcept { return new_; }
  std::uint64_t new_bytes() const noexcept { return new_bytes_; }

  /// Step 5, more than 1 MiB: writes the new chunks into segments, one run of them a worker, and takes the segments in.
  /// Errors: kOutOfSpace, kIo. On error: files may be left in staging/, segments may be left unreferenced.
  void write_segments(WriteLock& lock, const CommitOptions& options, ProgressMeter& progress);
  /// Step 5, at most 1 MiB: puts the new chunks into the batch.
  void put_small(WriteLock& lock, rocksdb::WriteBatch& batch, ProgressMeter& progress);
  /// Part of step 6: digest rows of the new chunks.
  void put_digest_rows(const Database& database, rocksdb::WriteBatch& batch) const;

 private:
  /// Equal chunks get the id of the one that was written.
  void share_ids();

  std::vector<PlannedChunk> chunks_;
  std::uint64_t bytes_ = 0;
  std::vector<std::size_t> new_;
  std::uint64_t new_bytes_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> equal_;  // place, place of its first equal in new_
};

}  // namespace cairn::storage
