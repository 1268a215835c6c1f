// Ascending ids make every reader move forward through its files; equal ids stand side by side and are read once.
#include "storage/chunk_reader.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include <rocksdb/db.h>

#include "format/chunk_codec.h"
#include "format/fail.h"
#include "format/keys.h"
#include "storage/families.h"
#include "storage/look_ahead.h"
#include "storage/progress_meter.h"
#include "storage/status.h"
#include "storage/verified_copy.h"
#include "storage/workers.h"

namespace cairn::storage {

namespace {

/// A chunk that was not what it must be.
struct Damage {
  std::uint64_t chunk = 0;
  bool is_missing = false;
  std::string message;
};

/// The bad chunks all workers met: the lowest is kept, the others are counted.
class DamageList {
 public:
  void add(Damage damage) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    has_missing_ |= damage.is_missing;
    if (!lowest_ || damage.chunk < lowest_->chunk) lowest_ = std::move(damage);
  }

  bool has_missing() const { return has_missing_; }

  void raise_if_any() const {
    if (!lowest_) return;
    const std::string others = count_ == 1 ? "" : fmt::format(" ({} chunks are bad)", count_);
    throw Error(ErrorCode::kCorruption, lowest_->message + others);
  }

 private:
  std::mutex mutex_;
  std::optional<Damage> lowest_;
  std::uint64_t count_ = 0;
  bool has_missing_ = false;
};

/// One worker's way through the families of chunks.
class ChunkCursor {
 public:
  // The digest is checked by whoever takes the bytes, and a block checksum beside it would take a third of the speed. A
  // caller that only checks pays for it: damage in the few bytes that RocksDB keeps around a payload then is an error,
  // where the distribution's builds, which have assertions, would end the process.
  ChunkCursor(const Handles& handles, DigestCheck check_mode)
      : handles_(handles), verifies_blocks_(check_mode == DigestCheck::kOnly) {}

  /// The row of a chunk; empty when there is none. Valid until the next call. Errors: kCorruption, kIo.
  std::optional<std::string_view> find(std::uint64_t id) {
    const Family family = format::is_small_chunk(id) ? Family::kSmallChunk : Family::kChunk;
    std::unique_ptr<rocksdb::Iterator>& iterator = family == Family::kChunk ? chunk_ : small_chunk_;
    if (!iterator) {
      rocksdb::ReadOptions options;
      options.verify_checksums = verifies_blocks_;
      options.fill_cache = false;
      iterator.reset(handles_.db().NewIterator(options, handles_.family(family)));
    }
    const std::string key = format::number_key(id);
    // The next row is nearly always the one wanted; stepping there spares the search.
    if (iterator->Valid() && iterator->key().compare(key) < 0) iterator->Next();
    if (!iterator->Valid() || iterator->key() != rocksdb::Slice(key)) iterator->Seek(key);
    check(iterator->status(), fmt::format("cannot read chunk {}", id));
    if (!iterator->Valid() || iterator->key() != rocksdb::Slice(key)) return std::nullopt;
    const rocksdb::Slice row = iterator->value();
    return std::string_view(row.data(), row.size());
  }

 private:
  const Handles& handles_;
  const bool verifies_blocks_;
  std::unique_ptr<rocksdb::Iterator> chunk_;
  std::unique_ptr<rocksdb::Iterator> small_chunk_;
};

void deliver(const ChunkRead& read, std::span<const std::byte> payload) {
  const auto range = payload.subspan(read.begin, read.end - read.begin);
  if (read.write != nullptr) {
    (*read.write)(read.offset, range);
  } else {
    streaming_copy(range, read.data);
  }
}

/// Checks and delivers one chunk to all reads of it, which stand side by side. Errors: kCorruption, without the chunk's
/// name.
void take(std::span<const ChunkRead> reads, std::string_view row, DigestCheck check_mode,
          format::DigestStream& stream) {
  const ChunkRead& first = reads.front();
  const auto payload = format::chunk_payload(row, first.length);
  const auto fail_digest = [&](const format::Digest& found) {
    fail(ErrorCode::kCorruption, "expected digest {}, found {}", format::to_hex(first.chunk.digest),
         format::to_hex(found));
  };
  const bool is_whole = first.begin == 0 && first.end == first.length && first.data != nullptr;
  std::size_t delivered = 0;
  if (check_mode == DigestCheck::kWhileCopying && is_whole) {
    const format::Digest found = verified_copy(payload, first.data, stream);
    if (found != first.chunk.digest) fail_digest(found);
    delivered = 1;
  } else if (check_mode != DigestCheck::kNone) {
    const format::Digest found = format::digest_of(payload);
    if (found != first.chunk.digest) fail_digest(found);
  }
  if (check_mode == DigestCheck::kOnly) return;
  for (const ChunkRead& read : reads.subspan(delivered)) deliver(read, payload);
}

/// Reads that follow each other in the list and want the same chunk.
std::span<const ChunkRead> run_of_equal(std::span<const ChunkRead> reads) {
  std::size_t count = 1;
  while (count < reads.size() && reads[count].chunk == reads[0].chunk && reads[count].length == reads[0].length)
    ++count;
  return reads.first(count);
}

/// Bytes of all reads from the first one on whose chunks lie in its segment without a gap.
std::uint64_t bytes_of_run(std::span<const ChunkRead> reads) {
  std::uint64_t id = reads.front().chunk.id;
  std::uint64_t bytes = reads.front().length;
  for (const ChunkRead& read : reads) {
    if (read.chunk.id == id) continue;
    if (read.chunk.id != id + 1) break;
    id = read.chunk.id;
    bytes += read.length;
  }
  return bytes;
}

void read_part(const Database& database, const Handles& handles, std::span<const ChunkRead> reads,
               DigestCheck check_mode, ProgressMeter& progress, DamageList& damages) {
  ChunkCursor cursor(handles, check_mode);
  LookAhead look_ahead;
  std::uint64_t next_of_run = 0;
  std::uint64_t left_of_run = 0;
  format::DigestStream stream;
  while (!reads.empty()) {
    const std::span<const ChunkRead> equal = run_of_equal(reads);
    const ChunkRead& read = equal.front();
    const auto damaged = [&](std::string_view how, bool is_missing) {
      damages.add({read.chunk.id, is_missing, fmt::format("chunk {} of '{}': {}", read.chunk.id, read.owner, how)});
    };
    try {
      if (const auto row = cursor.find(read.chunk.id)) {
        if (database.is_mapped() && !format::is_small_chunk(read.chunk.id)) {
          if (read.chunk.id != next_of_run) left_of_run = bytes_of_run(reads);
          next_of_run = read.chunk.id + 1;
          left_of_run -= read.length;
          look_ahead.reading(std::as_bytes(std::span(*row)), left_of_run);
        }
        take(equal, *row, check_mode, stream);
      } else {
        damaged("it is missing", /*is_missing=*/true);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCorruption) throw;
      damaged(error.what(), /*is_missing=*/false);
    }
    for (const ChunkRead& done : equal) progress.add(done.end - done.begin);
    reads = reads.subspan(equal.size());
  }
}

/// Ends of `parts` runs of about equal bytes.
std::vector<std::size_t> split(const std::vector<ChunkRead>& reads, std::uint64_t total, unsigned parts) {
  std::vector<std::size_t> ends;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < reads.size() && ends.size() + 1 < parts; ++i) {
    bytes += reads[i].length;
    if (bytes >= total / parts * (ends.size() + 1)) ends.push_back(i + 1);
  }
  ends.resize(parts, reads.size());
  return ends;
}

}  // namespace

void plan_reads(const format::TensorRow& row, std::uint32_t chunk_size, std::byte* data,
                const std::function<void(std::uint64_t, std::span<const std::byte>)>* write, std::string_view owner,
                std::vector<ChunkRead>& reads) {
  if (row.chunks.empty()) {
    if (row.inline_bytes.empty()) return;
    if (write != nullptr) {
      (*write)(0, row.inline_bytes);
    } else {
      std::copy(row.inline_bytes.begin(), row.inline_bytes.end(), data);
    }
    return;
  }
  const std::uint64_t nbytes = format::nbytes_of(row.layout);
  for (std::size_t index = 0; index < row.chunks.size(); ++index) {
    ChunkRead& read = reads.emplace_back();
    read.chunk = row.chunks[index];
    read.length = format::chunk_length(nbytes, chunk_size, index);
    read.end = read.length;
    read.offset = std::uint64_t{index} * chunk_size;
    read.write = write;
    if (write == nullptr) read.data = data + read.offset;
    read.owner = owner;
  }
}

void read_chunks(const Database& database, std::vector<ChunkRead> reads, const ReadOptions& options) {
  std::uint64_t range_bytes = 0;
  std::uint64_t chunk_bytes = 0;
  for (const ChunkRead& read : reads) {
    range_bytes += read.end - read.begin;
    chunk_bytes += read.length;
  }
  std::stable_sort(reads.begin(), reads.end(),
                   [](const ChunkRead& left, const ChunkRead& right) { return left.chunk.id < right.chunk.id; });
  ProgressMeter progress(options.progress, range_bytes);
  const auto read_all = [&](DamageList& damages) {
    const std::vector<std::size_t> ends = split(reads, chunk_bytes, options.threads);
    const Handles& handles = database.handles();
    run_workers(options.threads, [&](unsigned worker) {
      const std::size_t begin = worker == 0 ? 0 : ends[worker - 1];
      read_part(database, handles, std::span(reads).subspan(begin, ends[worker] - begin), options.check, progress,
                damages);
    });
  };
  DamageList damages;
  read_all(damages);
  if (damages.has_missing() && database.is_read_only()) {
    // RocksDB reads its manifest before its log, so a reader that opened during a commit may know rows whose segments
    // it has not seen. Once more on a fresh view tells.
    database.catch_up();
    DamageList again;
    read_all(again);
    again.raise_if_any();
  } else {
    damages.raise_if_any();
  }
  progress.finish();
}

}  // namespace cairn::storage
