// Work is split over one flat list of chunks, in runs of about equal bytes.
#include "storage/new_chunks.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "format/chunk_codec.h"
#include "format/fail.h"
#include "storage/families.h"
#include "storage/segment_writer.h"
#include "storage/status.h"
#include "storage/workers.h"

namespace cairn::storage {

namespace {

/// Chunks that a worker takes at a time: few enough to balance, enough not to contend.
constexpr std::uint64_t kBytesPerTurn = std::uint64_t{4} << 20;
/// Keys of one MultiGet.
constexpr std::size_t kLookUpBatch = 1024;

/// A chunk's bytes: where they lie, or brought to a buffer of the worker's own.
class ChunkBytes {
 public:
  std::span<const std::byte> of(const PlannedChunk& chunk) {
    if (chunk.source->data != nullptr) return {chunk.source->data + chunk.offset, chunk.length};
    if (buffer_.size() < chunk.length) buffer_.resize(chunk.length);
    const std::span<std::byte> out(buffer_.data(), chunk.length);
    chunk.source->read(chunk.offset, out);
    return out;
  }

 private:
  std::vector<std::byte> buffer_;  // one chunk: at most 16 MiB a worker, whatever the tensor's size
};

/// Ends of runs of about `bytes_per_run` bytes over the chunks at `places`.
std::vector<std::size_t> cut_into_runs(const std::vector<PlannedChunk>& chunks, const std::vector<std::size_t>& places,
                                       std::uint64_t bytes_per_run) {
  std::vector<std::size_t> ends;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    bytes += chunks[places[i]].length;
    if (bytes < bytes_per_run && i + 1 < places.size()) continue;
    ends.push_back(i + 1);
    bytes = 0;
  }
  return ends;
}

unsigned workers_within(const CommitOptions& options, std::uint32_t chunk_size) {
  const std::uint64_t affordable = std::max<std::uint64_t>(options.memory_budget / chunk_size, 1);
  return static_cast<unsigned>(std::min<std::uint64_t>(options.threads, affordable));
}

}  // namespace

std::size_t ChunkPlan::add(const ByteSource& source, std::uint32_t chunk_size) {
  const std::size_t first = chunks_.size();
  const std::uint64_t count = format::chunk_count(source.nbytes, chunk_size);
  for (std::uint64_t index = 0; index < count; ++index) {
    PlannedChunk& chunk = chunks_.emplace_back();
    chunk.source = &source;
    chunk.offset = index * chunk_size;
    chunk.length = format::chunk_length(source.nbytes, chunk_size, index);
  }
  bytes_ += source.nbytes;
  return first;
}

void ChunkPlan::digest(const CommitOptions& options, ProgressMeter& progress) {
  std::vector<std::size_t> all(chunks_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<std::size_t> ends = cut_into_runs(chunks_, all, kBytesPerTurn);
  std::atomic<std::size_t> next{0};
  const std::uint32_t largest = chunks_.empty() ? 1 : std::max_element(chunks_.begin(), chunks_.end(), [](auto& a, auto& b) {
                                                        return a.length < b.length;
                                                      })->length;
  run_workers(std::min(workers_within(options, largest), static_cast<unsigned>(std::max<std::size_t>(ends.size(), 1))),
              [&](unsigned) {
                ChunkBytes bytes;
                for (std::size_t turn = next++; turn < ends.size(); turn = next++) {
                  std::uint64_t digested = 0;
                  for (std::size_t i = turn == 0 ? 0 : ends[turn - 1]; i < ends[turn]; ++i) {
                    chunks_[i].digest = format::digest_of(bytes.of(chunks_[i]));
                    digested += chunks_[i].length;
                  }
                  progress.add(digested);
                }
              });
}

void ChunkPlan::look_up(const Database& database, ProgressMeter& progress) {
  // In order of the digests: equal ones stand side by side, and the family is read in one direction.
  std::vector<std::size_t> order(chunks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key_of = [this](std::size_t place) {
    const PlannedChunk& chunk = chunks_[place];
    return std::tuple(chunk.digest.high, chunk.digest.low, chunk.length, place);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key_of(a) < key_of(b); });

  const Handles& handles = database.handles();
  rocksdb::ReadOptions options;
  for (std::size_t begin = 0; begin < order.size(); begin += kLookUpBatch) {
    const std::size_t count = std::min(kLookUpBatch, order.size() - begin);
    std::vector<std::string> keys(count);
    std::vector<rocksdb::Slice> slices(count);
    std::vector<rocksdb::PinnableSlice> rows(count);
    std::vector<rocksdb::Status> statuses(count);
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = format::digest_key(chunks_[order[begin + i]].digest);
      slices[i] = keys[i];
    }
    handles.db().MultiGet(options, handles.family(Family::kDigest), count, slices.data(), rows.data(), statuses.data(),
                          /*sorted_input=*/true);
    for (std::size_t i = 0; i < count; ++i) {
      PlannedChunk& chunk = chunks_[order[begin + i]];
      if (statuses[i].IsNotFound()) continue;
      check(statuses[i], "cannot look up a digest");
      const format::DigestRow row = format::decode_digest_row({rows[i].data(), rows[i].size()});
      if (row.length == chunk.length) chunk.id = row.chunk;
    }
  }

  std::uint64_t known_bytes = 0;
  std::size_t first = 0;  // place in order of the first of the chunks equal to this one
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PlannedChunk& chunk = chunks_[order[i]];
    const PlannedChunk& representative = chunks_[order[first]];
    if (i == 0 || chunk.digest != representative.digest || chunk.length != representative.length) first = i;
    if (chunk.id != 0) {
      known_bytes += chunk.length;
    } else if (first == i) {
      new_.push_back(order[i]);
      new_bytes_ += chunk.length;
    } else {
      equal_.emplace_back(order[i], order[first]);
      known_bytes += chunk.length;
    }
  }
  std::sort(new_.begin(), new_.end());  // written, and later read, in the order of the tensors
  progress.add(known_bytes);
}

void ChunkPlan::write_segments(WriteLock& lock, const CommitOptions& options, ProgressMeter& progress) {
  const std::uint32_t chunk_size = lock.database().chunk_size();
  const auto most = static_cast<unsigned>(std::max<std::uint64_t>(new_bytes_ / kBytesPerTurn, 1));
  const unsigned workers = std::min(workers_within(options, chunk_size), most);
  const std::vector<std::size_t> ends = cut_into_runs(chunks_, new_, new_bytes_ / workers + 1);
  std::mutex mutex;
  const auto take_segment = [&] {
    const std::lock_guard<std::mutex> guard(mutex);
    return lock.take_segment();
  };
  std::vector<std::string> files;
  run_workers(static_cast<unsigned>(ends.size()), [&](unsigned worker) {
    SegmentWriter writer(lock.database(), take_segment);
    ChunkBytes bytes;
    for (std::size_t i = worker == 0 ? 0 : ends[worker - 1]; i < ends[worker]; ++i) {
      PlannedChunk& chunk = chunks_[new_[i]];
      chunk.id = writer.add(bytes.of(chunk));
      progress.add(chunk.length);
    }
    std::vector<std::string> finished = writer.finish();
    const std::lock_guard<std::mutex> guard(mutex);
    files.insert(files.end(), std::make_move_iterator(finished.begin()), std::make_move_iterator(finished.end()));
  });
  ingest_segments(lock.database(), files);
  share_ids();
}

void ChunkPlan::put_small(WriteLock& lock, rocksdb::WriteBatch& batch, ProgressMeter& progress) {
  if (new_.empty()) return;
  rocksdb::ColumnFamilyHandle* family = lock.database().handles().family(Family::kSmallChunk);
  const std::uint64_t segment = lock.take_segment();
  ChunkBytes bytes;
  for (std::size_t i = 0; i < new_.size(); ++i) {
    PlannedChunk& chunk = chunks_[new_[i]];
    chunk.id = format::small_chunk_id(segment, i);
    const auto payload = bytes.of(chunk);
    const char codec = static_cast<char>(format::Codec::kRaw);
    const std::string key = format::number_key(chunk.id);
    const rocksdb::Slice key_slice(key);
    const rocksdb::Slice parts[] = {{reinterpret_cast<const char*>(payload.data()), payload.size()}, {&codec, 1}};
    check(batch.Put(family, rocksdb::SliceParts(&key_slice, 1), rocksdb::SliceParts(parts, 2)), "cannot put a chunk");
    progress.add(chunk.length);
  }
  share_ids();
}

void ChunkPlan::share_ids() {
  for (const auto& [place, first] : equal_) chunks_[place].id = chunks_[first].id;
}

void ChunkPlan::put_digest_rows(const Database& database, rocksdb::WriteBatch& batch) const {
  rocksdb::ColumnFamilyHandle* family = database.handles().family(Family::kDigest);
  for (const std::size_t place : new_) {
    const PlannedChunk& chunk = chunks_[place];
    check(batch.Put(family, format::digest_key(chunk.digest), format::encode_digest_row({chunk.id, chunk.length})),
          "cannot put a digest row");
  }
}

}  // namespace cairn::storage
