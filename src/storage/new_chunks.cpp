// Every worker writes segments of its own with numbers of its own, so that ids of one run ascend and files never
// overlap.
#include "storage/new_chunks.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "format/chunk_codec.h"
#include "format/keys.h"
#include "storage/families.h"
#include "storage/segment_writer.h"
#include "storage/status.h"
#include "storage/workers.h"

namespace cairn::storage {

namespace {

/// Below this a second file costs more syncs than its worker gains.
constexpr std::uint64_t kMinBytesPerWorker = std::uint64_t{4} << 20;

}  // namespace

void write_segments(ChunkPlan& plan, WriteLock& lock, const CommitOptions& options, ProgressMeter& progress) {
  const std::uint64_t useful = std::max<std::uint64_t>(plan.new_bytes() / kMinBytesPerWorker, 1);
  const std::uint64_t workers =
      std::min<std::uint64_t>(workers_within_budget(options, lock.database().chunk_size()), useful);
  const std::vector<std::size_t> ends = plan.runs_of_new(plan.new_bytes() / workers + 1);
  std::mutex mutex;
  std::vector<std::string> files;  // guarded by mutex
  std::atomic<bool> has_failed{false};
  const auto take_segment = [&] {
    const std::lock_guard<std::mutex> guard(mutex);
    return lock.take_segment();
  };
  const auto write_run = [&](unsigned worker) {
    SegmentWriter writer(lock.database(), take_segment);
    ChunkBytes bytes;
    for (std::size_t i = worker == 0 ? 0 : ends[worker - 1]; i < ends[worker]; ++i) {
      if (has_failed) return;
      const std::size_t place = plan.new_chunks()[i];
      const PlannedChunk& chunk = plan.chunks()[place];
      plan.set_id(place, writer.add(bytes.of(chunk)));
      progress.add(chunk.length);
    }
    std::vector<std::string> finished = writer.finish();
    const std::lock_guard<std::mutex> guard(mutex);
    files.insert(files.end(), std::make_move_iterator(finished.begin()), std::make_move_iterator(finished.end()));
  };
  run_workers(static_cast<unsigned>(ends.size()), [&](unsigned worker) {
    try {
      write_run(worker);
    } catch (...) {
      has_failed = true;
      throw;
    }
  });
  ingest_segments(lock.database(), files);
  plan.share_ids();
}

void put_small_chunks(ChunkPlan& plan, WriteLock& lock, rocksdb::WriteBatch& batch, ProgressMeter& progress) {
  if (plan.new_chunks().empty()) return;
  rocksdb::ColumnFamilyHandle* family = lock.database().handles().family(Family::kSmallChunk);
  const std::uint64_t segment = lock.take_segment();
  ChunkBytes bytes;
  std::uint64_t index = 0;
  for (const std::size_t place : plan.new_chunks()) {
    const PlannedChunk& chunk = plan.chunks()[place];
    const std::uint64_t id = format::small_chunk_id(segment, index++);
    const std::span<const std::byte> payload = bytes.of(chunk);
    const char codec = static_cast<char>(format::Codec::kRaw);
    const std::string key = format::number_key(id);
    const rocksdb::Slice key_slice(key);
    const rocksdb::Slice parts[] = {{reinterpret_cast<const char*>(payload.data()), payload.size()}, {&codec, 1}};
    check(batch.Put(family, rocksdb::SliceParts(&key_slice, 1), rocksdb::SliceParts(parts, 2)), "cannot put a chunk");
    plan.set_id(place, id);
    progress.add(chunk.length);
  }
  plan.share_ids();
}

void put_digest_rows(const ChunkPlan& plan, const Database& database, rocksdb::WriteBatch& batch) {
  rocksdb::ColumnFamilyHandle* family = database.handles().family(Family::kDigest);
  for (const std::size_t place : plan.new_chunks()) {
    const PlannedChunk& chunk = plan.chunks()[place];
    check(batch.Put(family, format::digest_key(chunk.digest), format::encode_digest_row({chunk.id, chunk.length})),
          "cannot put a digest row");
  }
}

}  // namespace cairn::storage
