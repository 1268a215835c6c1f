// A compaction keeps the set it began with, also when the collection has ended meanwhile: what was dead stays dead.
#include "storage/chunk_filter.h"

#include <string>
#include <utility>

#include "format/keys.h"

namespace cairn::storage {

namespace {

class LiveChunksOnly : public rocksdb::CompactionFilter {
 public:
  LiveChunksOnly(std::shared_ptr<const DeadChunks> dead, std::shared_ptr<std::atomic<std::uint64_t>> removed_count)
      : dead_(std::move(dead)), removed_count_(std::move(removed_count)) {}
  const char* Name() const override { return "CairnLiveChunksOnly"; }

  Decision FilterV2(int, const rocksdb::Slice& key, ValueType, const rocksdb::Slice&, std::string*,
                    std::string*) const override {
    const auto id = format::number_from_key({key.data(), key.size()});
    if (!id || !dead_->is_dead(*id)) return Decision::kKeep;
    ++*removed_count_;
    return Decision::kRemove;
  }

 private:
  const std::shared_ptr<const DeadChunks> dead_;
  const std::shared_ptr<std::atomic<std::uint64_t>> removed_count_;
};

}  // namespace

bool DeadChunks::is_dead(std::uint64_t id) const {
  return format::segment_of(id) < first_unmarked_segment && !live.contains(id);
}

std::unique_ptr<rocksdb::CompactionFilter> ChunkFilter::CreateCompactionFilter(
    const rocksdb::CompactionFilter::Context& context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!dead_ || !context.is_manual_compaction) return nullptr;
  return std::make_unique<LiveChunksOnly>(dead_, removed_count_);
}

void ChunkFilter::set(std::shared_ptr<const DeadChunks> dead) {
  const std::lock_guard<std::mutex> lock(mutex_);
  dead_ = std::move(dead);
}

}  // namespace cairn::storage
