// The filter through which collection rewrites files of chunks: it lets live ids pass.
//
// RocksDB asks a family's factory at the start of each compaction. This one answers with no filter at all unless a
// collection is under way, and never for a compaction that RocksDB began by itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <rocksdb/compaction_filter.h>

#include "storage/chunk_set.h"

namespace cairn::storage {

/// Which chunks may go. A chunk of a segment that was begun after the marking is always kept.
struct DeadChunks {
  ChunkSet live;
  std::uint64_t first_unmarked_segment = 0;

  bool is_dead(std::uint64_t id) const;
};

/// Thread-safe.
class ChunkFilter : public rocksdb::CompactionFilterFactory {
 public:
  const char* Name() const override { return "CairnChunkFilter"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context& context) override;

  /// Null: everything passes.
  void set(std::shared_ptr<const DeadChunks> dead);
  /// Chunks removed since the last call.
  std::uint64_t take_removed_count() { return removed_count_->exchange(0); }

 private:
  std::mutex mutex_;
  std::shared_ptr<const DeadChunks> dead_;  // guarded by mutex_
  std::shared_ptr<std::atomic<std::uint64_t>> removed_count_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace cairn::storage
