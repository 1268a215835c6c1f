// Writing new chunks into segments: immutable files in staging/ that one ingestion moves into the database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/database.h"

namespace rocksdb {
class SstFileWriter;
}

namespace cairn::storage {

/// One worker's segments. A segment has at most 1 GiB and 2^20 chunks; the next one is begun as needed. Not
/// thread-safe.
class SegmentWriter {
 public:
  /// `take_segment` hands out segment numbers, rising from call to call.
  SegmentWriter(const Database& database, std::function<std::uint64_t()> take_segment);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  /// Appends a chunk and returns its id. Errors: kOutOfSpace, kIo.
  std::uint64_t add(std::span<const std::byte> payload);
  /// Completes the last segment: all are durable then. Returns their files. Errors: kOutOfSpace, kIo.
  std::vector<std::string> finish();

 private:
  void begin_segment();
  void finish_segment();

  const Database& database_;
  std::function<std::uint64_t()> take_segment_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;  // null between segments
  std::uint64_t segment_ = 0;
  std::uint64_t index_ = 0;
  std::uint64_t segment_bytes_ = 0;
  std::vector<char> row_;  // payload and codec byte; small enough to stay in the cache on its way into the block
  std::vector<std::string> files_;
};

/// Moves finished segments into the database in one durable step. Nothing refers to them yet.
/// Errors: kOutOfSpace, kIo.
void ingest_segments(const Database& database, const std::vector<std::string>& files);

}  // namespace cairn::storage
