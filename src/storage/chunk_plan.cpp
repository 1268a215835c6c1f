// Look-ups go in the order of the digests: equal ones stand side by side, and the family is read in one direction.
#include "storage/chunk_plan.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <tuple>

#include <rocksdb/db.h>

#include "format/keys.h"
#include "storage/families.h"
#include "storage/status.h"
#include "storage/workers.h"

namespace cairn::storage {

namespace {

/// Bytes that a worker takes at a time: few enough to balance, enough not to contend.
constexpr std::uint64_t kBytesPerTurn = std::uint64_t{4} << 20;
/// Keys of one MultiGet.
constexpr std::size_t kLookUpBatch = 1024;

}  // namespace

std::span<const std::byte> ChunkBytes::of(const PlannedChunk& chunk) {
  if (chunk.staged != nullptr) return {chunk.staged, chunk.length};
  if (chunk.source->data != nullptr) return {chunk.source->data + chunk.offset, chunk.length};
  if (buffer_.size() < chunk.length) buffer_.resize(chunk.length);
  const std::span<std::byte> out(buffer_.data(), chunk.length);
  chunk.source->read(chunk.offset, out);
  return out;
}

unsigned workers_within_budget(const CommitOptions& options, std::uint32_t chunk_size) {
  const std::uint64_t affordable = std::max<std::uint64_t>(options.memory_budget / chunk_size, 1);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(options.threads, 1, affordable));
}

void ChunkPlan::add(const ByteSource& source, std::uint32_t chunk_size) {
  const std::size_t first = chunks_.size();
  const auto [known, is_new] = source.data == nullptr ? std::pair(memory_.end(), true)
                                                      : memory_.try_emplace({source.data, source.nbytes}, first);
  const std::uint64_t count = format::chunk_count(source.nbytes, chunk_size);
  for (std::uint64_t index = 0; index < count; ++index) {
    if (is_new) {
      to_digest_.push_back(chunks_.size());
    } else {
      same_memory_.emplace_back(chunks_.size(), known->second + index);
    }
    PlannedChunk& chunk = chunks_.emplace_back();
    chunk.source = &source;
    chunk.offset = index * chunk_size;
    chunk.length = format::chunk_length(source.nbytes, chunk_size, index);
  }
}

std::vector<std::size_t> ChunkPlan::runs(const std::vector<std::size_t>& places, std::uint64_t bytes_per_run) const {
  std::vector<std::size_t> ends;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    bytes += chunks_[places[i]].length;
    if (bytes < bytes_per_run && i + 1 < places.size()) continue;
    ends.push_back(i + 1);
    bytes = 0;
  }
  return ends;
}

std::vector<std::size_t> ChunkPlan::runs_of_new(std::uint64_t bytes_per_run) const { return runs(new_, bytes_per_run); }

void ChunkPlan::digest(const CommitOptions& options, ProgressMeter& progress) {
  std::vector<ChunkBytes> bytes(options.threads);
  digest_each(options, progress, [&](unsigned worker, PlannedChunk& chunk) {
    chunk.digest = format::digest_of(bytes[worker].of(chunk));
  });
}

void ChunkPlan::digest_each(const CommitOptions& options, ProgressMeter& progress,
                            const std::function<void(unsigned worker, PlannedChunk& chunk)>& task) {
  std::uint32_t largest = 1;
  for (const PlannedChunk& chunk : chunks_) largest = std::max(largest, chunk.length);
  const std::vector<std::size_t> ends = runs(to_digest_, kBytesPerTurn);
  std::atomic<std::size_t> next{0};
  const auto take_turns = [&](unsigned worker) {
    for (std::size_t turn = next++; turn < ends.size(); turn = next++) {
      std::uint64_t digested = 0;
      for (std::size_t i = turn == 0 ? 0 : ends[turn - 1]; i < ends[turn]; ++i) {
        PlannedChunk& chunk = chunks_[to_digest_[i]];
        task(worker, chunk);
        digested += chunk.length;
      }
      progress.add(digested);
    }
  };
  const std::size_t useful = std::max<std::size_t>(ends.size(), 1);
  const auto workers = static_cast<unsigned>(std::min<std::size_t>(workers_within_budget(options, largest), useful));
  run_workers(workers, [&](unsigned worker) {
    try {
      take_turns(worker);
    } catch (...) {
      next = ends.size();  // the others need not go on
      throw;
    }
  });
  std::uint64_t copied = 0;
  for (const auto& [place, same] : same_memory_) {
    chunks_[place].digest = chunks_[same].digest;
    copied += chunks_[place].length;
  }
  progress.add(copied);
}

void ChunkPlan::look_up(const Database& database, ProgressMeter& progress) {
  std::vector<std::size_t> order(chunks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key_of = [this](std::size_t place) {
    const PlannedChunk& chunk = chunks_[place];
    return std::tuple(chunk.digest.high, chunk.digest.low, chunk.length, place);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key_of(a) < key_of(b); });

  const Handles& handles = database.handles();
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
    handles.db().MultiGet(rocksdb::ReadOptions(), handles.family(Family::kDigest), count, slices.data(), rows.data(),
                          statuses.data(), /*sorted_input=*/true);
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
    if (chunk.id == 0 && first == i) {
      new_.push_back(order[i]);
      new_bytes_ += chunk.length;
    } else {
      if (chunk.id == 0) equal_.emplace_back(order[i], order[first]);
      known_bytes += chunk.length;
    }
  }
  std::sort(new_.begin(), new_.end());  // written, and later read, in the order of the tensors
  progress.add(known_bytes);
}

void ChunkPlan::share_ids() {
  for (const auto& [place, first] : equal_) chunks_[place].id = chunks_[first].id;
}

}  // namespace cairn::storage
