// The chunks of a create, from bytes to known or new: cut, digested, looked up. Reads the database and writes nothing.
//
// Work is split over one flat list of chunks, in runs of about equal bytes, so that one large tensor and many small
// ones are dealt out alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "format/digest.h"
#include "storage/commit.h"
#include "storage/database.h"
#include "storage/progress_meter.h"

namespace cairn::storage {

/// One chunk of one tensor.
struct PlannedChunk {
  const ByteSource* source = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  format::Digest digest;
  std::uint64_t id = 0;               ///< 0: not known yet. Ids start at segment 1, so none is 0.
  const std::byte* staged = nullptr;  ///< Copy of its bytes; null: they are read from the source.
};

/// A worker's access to the bytes of chunks: their copy, where they lie, or fetched into a buffer of its own, which is
/// reused.
class ChunkBytes {
 public:
  /// Valid until the next call.
  std::span<const std::byte> of(const PlannedChunk& chunk);

 private:
  std::vector<std::byte> buffer_;  // one chunk: at most 16 MiB a worker, whatever the tensor's size
};

/// Workers that fit the budget, when each needs a buffer of one chunk.
unsigned workers_within_budget(const CommitOptions& options, std::uint32_t chunk_size);

/// All chunks of a create in order of objects, entries and bytes.
class ChunkPlan {
 public:
  /// Adds a tensor's chunks. Memory that was added before is not digested again.
  void add(const ByteSource& source, std::uint32_t chunk_size);

  const std::vector<PlannedChunk>& chunks() const noexcept { return chunks_; }

  /// Step 2: digests every chunk on `options.threads` workers.
  void digest(const CommitOptions& options, ProgressMeter& progress);
  /// The same, where the task sets a chunk's digest. It is called from several threads, for a chunk once, and not for
  /// chunks on memory that another one covers.
  void digest_each(const CommitOptions& options, ProgressMeter& progress,
                   const std::function<void(unsigned worker, PlannedChunk& chunk)>& task);
  /// Step 3: gives the chunks that the store has their ids, and lists the others in new_chunks, equal ones once.
  /// Errors: kCorruption, kIo.
  void look_up(const Database& database, ProgressMeter& progress);

  /// Places in chunks() of those that have to be written, ascending.
  const std::vector<std::size_t>& new_chunks() const noexcept { return new_; }
  std::uint64_t new_bytes() const noexcept { return new_bytes_; }

  /// Ends of runs of about `bytes_per_run` bytes over new_chunks().
  std::vector<std::size_t> runs_of_new(std::uint64_t bytes_per_run) const;
  /// Says where a new chunk was written. Different chunks may be set from several threads.
  void set_id(std::size_t place, std::uint64_t id) { chunks_[place].id = id; }
  /// Gives equal chunks the id of the one that was written.
  void share_ids();

 private:
  std::vector<std::size_t> runs(const std::vector<std::size_t>& places, std::uint64_t bytes_per_run) const;
  std::vector<PlannedChunk> chunks_;
  std::map<std::pair<const std::byte*, std::uint64_t>, std::size_t>
      memory_;                                                    // address and bytes -> place of first chunk
  std::vector<std::pair<std::size_t, std::size_t>> same_memory_;  // place, place of the chunk on the same memory
  std::vector<std::size_t> to_digest_;
  std::vector<std::size_t> new_;
  std::uint64_t new_bytes_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> equal_;  // place, place of its equal in new_
};

}  // namespace cairn::storage
