// Whether a chunk is new is known after its digest only. When the one before was new, this one is copied in the same
// pass that digests it, and the copy is dropped if that was a wrong guess: models change in whole stretches.
#include "storage/chunk_staging.h"

#include <atomic>
#include <deque>

#include <rocksdb/db.h>

#include "format/keys.h"
#include "storage/families.h"
#include "storage/status.h"
#include "storage/verified_copy.h"

namespace cairn::storage {

namespace {

/// Copies begin on a cache line, so that two workers never write to the same one.
constexpr std::size_t kAlignment = 64;

std::size_t rounded(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

bool is_known(const Handles& handles, const PlannedChunk& chunk) {
  rocksdb::PinnableSlice row;
  const rocksdb::Status status =
      handles.db().Get(rocksdb::ReadOptions(), handles.family(Family::kDigest), format::digest_key(chunk.digest), &row);
  if (status.IsNotFound()) return false;
  check(status, "cannot look up a digest");
  return format::decode_digest_row({row.data(), row.size()}).length == chunk.length;
}

class StagingWorker {
 public:
  StagingWorker(const Handles& handles, std::span<std::byte> memory, std::atomic<std::size_t>& used)
      : handles_(handles), memory_(memory), used_(used) {}

  void take(PlannedChunk& chunk) {
    const std::byte* data = chunk.source->data;
    std::byte* copy = nullptr;
    if (data == nullptr) {
      copy = room_for(chunk.length);
      chunk.source->read(chunk.offset, {copy, chunk.length});
      chunk.digest = format::digest_of({copy, chunk.length});
    } else if (is_new_) {
      copy = room_for(chunk.length);
      chunk.digest = verified_copy({data + chunk.offset, chunk.length}, copy, stream_);
    } else {
      chunk.digest = format::digest_of({data + chunk.offset, chunk.length});
    }
    is_new_ = !is_known(handles_, chunk);
    if (!is_new_) return;
    if (copy == nullptr) {
      copy = room_for(chunk.length);
      streaming_copy({data + chunk.offset, chunk.length}, copy);
    }
    chunk.staged = copy;
    room_ = {};
  }

 private:
  /// The room of a copy that was dropped, where it is large enough, else new room.
  std::byte* room_for(std::size_t size) {
    if (size > room_.size()) room_ = memory_.subspan(used_.fetch_add(rounded(size)), rounded(size));
    return room_.data();
  }

  const Handles& handles_;
  std::span<std::byte> memory_;
  std::atomic<std::size_t>& used_;  // bytes of the memory that are given out; shared
  std::span<std::byte> room_;
  bool is_new_ = true;  // the chunk before
  format::DigestStream stream_;
};

}  // namespace

std::size_t digest_and_stage(ChunkPlan& plan, const Database& database, StagingMemory& memory,
                             const CommitOptions& options, ProgressMeter& progress) {
  std::size_t reserved = 0;
  for (const PlannedChunk& chunk : plan.chunks()) reserved += rounded(chunk.length);
  const std::span<std::byte> room = memory.reserve(reserved);
  std::atomic<std::size_t> used{0};
  std::deque<StagingWorker> workers;
  for (unsigned i = 0; i < options.threads; ++i) workers.emplace_back(database.handles(), room, used);
  plan.digest_each(options, progress, [&](unsigned worker, PlannedChunk& chunk) { workers[worker].take(chunk); });
  return used;
}

}  // namespace cairn::storage
