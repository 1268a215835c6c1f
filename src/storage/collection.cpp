// The order is what makes every crash harmless: digest rows of dead chunks go first, in synced batches under the write
// lock, so that no later create can refer to such a chunk; only then do the chunks go.
#include "storage/collection.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "format/fail.h"
#include "format/keys.h"
#include "storage/chunk_filter.h"
#include "storage/families.h"
#include "storage/free_space.h"
#include "storage/live_chunks.h"
#include "storage/progress_meter.h"
#include "storage/sparse_files.h"
#include "storage/status.h"
#include "storage/store_directory.h"
#include "storage/table_files.h"
#include "storage/usage.h"

namespace cairn::storage {

namespace {

constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxTableBytes = std::uint64_t{64} << 20;
/// Keys of one batch of deletions: a megabyte or two of the log, so that a disk that is nearly full can be freed.
constexpr std::size_t kDeletionsPerBatch = 32 * 1024;
/// Between two files a create that waits for the lock gets it.
constexpr std::chrono::microseconds kPause{200};

std::uint64_t max_file_bytes(Family family) { return family == Family::kChunk ? kMaxSegmentBytes : kMaxTableBytes; }

std::uint64_t bytes_of(std::span<const TableFile> files) {
  std::uint64_t bytes = 0;
  for (const TableFile& file : files) bytes += file.bytes;
  return bytes;
}

/// Takes the filter out again whatever happens.
class FilterInUse {
 public:
  FilterInUse(ChunkFilter& filter, std::shared_ptr<const DeadChunks> dead) : filter_(filter) {
    filter_.set(std::move(dead));
    filter_.take_removed_count();
  }
  ~FilterInUse() { filter_.set(nullptr); }
  FilterInUse(const FilterInUse&) = delete;
  FilterInUse& operator=(const FilterInUse&) = delete;

 private:
  ChunkFilter& filter_;
};

class Collection {
 public:
  Collection(Database& database, const CollectOptions& options) : database_(database), options_(options) {}

  CollectResult run() {
    std::unique_lock<std::shared_mutex> alone(database_.collection_mutex(), std::defer_lock);
    if (options_.waits) {
      alone.lock();
    } else if (!alone.try_lock()) {
      result_.is_done = false;
      return result_;
    }
    {
      WriteLock lock(database_);
      result_.bytes_before = database_bytes(database_);
      mark(lock);
      delete_digest_rows(lock);
      flush();
      drop_dead_files();
    }
    const FilterInUse filter(database_.chunk_filter(), dead_);
    rewrite_newest_small_chunks();
    rewrite_sparse_files(Family::kChunk);
    rewrite_sparse_files(Family::kSmallChunk);
    compact_rows();
    result_.rewritten_files += merge_small_files(database_);
    result_.removed_chunks += database_.chunk_filter().take_removed_count();
    wait_for_deletions();
    result_.bytes_after = database_bytes(database_);
    progress_->finish();
    return result_;
  }

 private:
  const Handles& handles() const { return database_.handles(); }

  /// Rows that are not in tables yet are not in the total.
  void advance(std::uint64_t bytes) {
    const std::uint64_t counted = std::min(bytes, left_bytes_);
    left_bytes_ -= counted;
    progress_->add(counted);
  }

  void mark(WriteLock& lock) {
    for (const Family family : {Family::kEntry, Family::kChunk, Family::kSmallChunk}) {
      left_bytes_ += bytes_of(table_files(handles(), family));
    }
    progress_.emplace(options_.progress, left_bytes_);
    auto dead = std::make_shared<DeadChunks>();
    dead->live = live_chunks(database_, [&](std::uint64_t bytes) { advance(bytes); });
    dead->first_unmarked_segment = lock.next_segment();
    result_.live_chunks = dead->live.total().count;
    result_.live_bytes = dead->live.total().bytes;
    dead_ = std::move(dead);
  }

  void delete_digest_rows(WriteLock& lock) {
    rocksdb::ColumnFamilyHandle* family = handles().family(Family::kDigest);
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    const std::unique_ptr<rocksdb::Iterator> row(handles().db().NewIterator(options, family));
    rocksdb::WriteBatch batch;
    std::size_t count = 0;
    const auto commit = [&] {
      require_space(database_, 0, batch.GetDataSize(), database_.options().space_reserve / 4, "the collection");
      lock.commit(batch);
      result_.removed_digest_rows += count;
      batch.Clear();
      count = 0;
    };
    for (row->SeekToFirst(); row->Valid(); row->Next()) {
      const rocksdb::Slice value = row->value();
      if (!dead_->is_dead(format::decode_digest_row({value.data(), value.size()}).chunk)) continue;
      check(batch.Delete(family, row->key()), "cannot delete a row");
      if (++count == kDeletionsPerBatch) commit();
    }
    check(row->status(), "cannot read the digest rows");
    if (count != 0) commit();
  }

  /// Rows that were deleted, and rows of small chunks, are in files afterwards, which can be looked at and rewritten.
  void flush() {
    std::vector<rocksdb::ColumnFamilyHandle*> families;
    for (const Family family : kFamilies) {
      if (family != Family::kChunk) families.push_back(handles().family(family));
    }
    check(handles().db().Flush(rocksdb::FlushOptions(), families), "cannot write the rows to tables");
  }

  void drop_dead_files() {
    for (const Family family : {Family::kChunk, Family::kSmallChunk}) {
      const std::vector<TableFile> dead = dead_files(counted_table_files(handles(), family), *dead_);
      drop_files(handles(), family, dead);
      for (const TableFile& file : dead) {
        result_.removed_chunks += file.rows;
        advance(file.bytes);
      }
      result_.dropped_files += dead.size();
    }
  }

  /// Level 0 of the small chunks, which may overlap in other stores than ours, goes as one.
  void rewrite_newest_small_chunks() {
    std::vector<TableFile> files = counted_table_files(handles(), Family::kSmallChunk);
    std::erase_if(files, [](const TableFile& file) { return file.level != 0; });
    const bool has_dead = std::any_of(files.begin(), files.end(),
                                      [&](const TableFile& file) { return contents_of(file, *dead_).dead_rows != 0; });
    if (has_dead) rewrite(Family::kSmallChunk, files, /*output_level=*/1);
  }

  void rewrite_sparse_files(Family family) {
    const std::vector<TableFile> files = counted_table_files(handles(), family);
    for (const std::span<const TableFile> run : sparse_runs(files, *dead_)) rewrite(family, run, run.front().level);
  }

  void rewrite(Family family, std::span<const TableFile> files, int output_level) {
    const WriteLock lock(database_);
    std::uint64_t live_bytes = 0;
    for (const TableFile& file : files) live_bytes += contents_of(file, *dead_).live_bytes;
    const bool has_room = database_.free_bytes() >= live_bytes + database_.options().space_reserve;
    if (has_room && rewrite_files(handles(), family, files, output_level, max_file_bytes(family))) {
      result_.rewritten_files += files.size();
    } else {
      result_.skipped_files += files.size();
      database_.log(Severity::kInfo,
                    fmt::format("collection: {} file(s) of family '{}' stay as they are: {}", files.size(),
                                name_of(family), has_room ? "RocksDB is at work on them" : "there is no room"));
    }
    advance(bytes_of(files));
    std::this_thread::sleep_for(kPause);
  }

  /// Deletions in the families of rows hide what they delete; where they are many, both are taken out.
  void compact_rows() {
    for (const Family family : {Family::kCheckpoint, Family::kEntry, Family::kTag, Family::kDigest}) {
      const WriteLock lock(database_);
      const std::vector<TableFile> files = counted_table_files(handles(), family);
      std::uint64_t rows = 0;
      std::uint64_t deletions = 0;
      for (const TableFile& file : files) {
        rows += file.rows;
        deletions += file.deletions;
      }
      if (deletions == 0 || deletions * 10 < rows) continue;
      if (database_.free_bytes() < bytes_of(files) + database_.options().space_reserve) continue;
      rocksdb::CompactRangeOptions options;
      options.exclusive_manual_compaction = false;
      check(handles().db().CompactRange(options, handles().family(family), nullptr, nullptr),
            fmt::format("cannot compact family '{}'", name_of(family)));
    }
  }

  /// RocksDB's own threads delete the inputs of what they compacted a moment after they are done.
  void wait_for_deletions() const {
    for (int attempt = 0; attempt < 50; ++attempt) {
      std::vector<std::string> live;
      for (const Family family : kFamilies) {
        for (const TableFile& file : table_files(handles(), family)) live.push_back(file.name.substr(1));
      }
      const std::vector<std::string> present = files_in(database_.file_system(), database_.path() / "db");
      const auto tables =
          std::count_if(present.begin(), present.end(), [](const std::string& name) { return name.ends_with(".sst"); });
      if (std::cmp_less_equal(tables, live.size())) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  Database& database_;
  const CollectOptions& options_;
  std::optional<ProgressMeter> progress_;
  std::uint64_t left_bytes_ = 0;
  std::shared_ptr<const DeadChunks> dead_;
  CollectResult result_;
};

}  // namespace

CollectResult collect(Database& database, const CollectOptions& options) { return Collection(database, options).run(); }

std::uint64_t merge_small_files(Database& database) {
  std::uint64_t merged = 0;
  for (const Family family : kFamilies) {
    const WriteLock lock(database);
    const std::vector<TableFile> files = table_files(database.handles(), family);
    for (const std::span<const TableFile> run : small_neighbours(files, family, lock.committed_next_segment())) {
      if (database.free_bytes() < bytes_of(run) + database.options().space_reserve) continue;
      if (rewrite_files(database.handles(), family, run, run.front().level, max_file_bytes(family))) {
        merged += run.size();
      }
    }
  }
  return merged;
}

}  // namespace cairn::storage
