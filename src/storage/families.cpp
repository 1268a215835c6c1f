// The measurements behind these options are summed up in src/README.md, "RocksDB".
#include "storage/families.h"

#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

namespace cairn::storage {

namespace {

constexpr std::size_t kWriteBufferBytes = std::size_t{4} << 20;

rocksdb::BlockBasedTableOptions table_options() {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 5;         // 6 is unreadable for RocksDB 7.8
  table.checksum = rocksdb::kXXH3;  // CRC32C is software in the distribution's builds
  return table;
}

rocksdb::ColumnFamilyOptions base_options() {
  rocksdb::ColumnFamilyOptions options;
  options.compaction_style = rocksdb::kCompactionStyleLevel;
  options.level_compaction_dynamic_level_bytes = false;  // the default differs between releases
  options.compression = rocksdb::kNoCompression;         // every build reads it
  options.write_buffer_size = kWriteBufferBytes;
  options.force_consistency_checks = true;
  options.ttl = 0;
  options.periodic_compaction_seconds = 0;
  return options;
}

/// Rows, fed by WriteBatch.
rocksdb::ColumnFamilyOptions row_options(const std::shared_ptr<rocksdb::Cache>& cache, bool with_filter) {
  rocksdb::ColumnFamilyOptions options = base_options();
  rocksdb::BlockBasedTableOptions table = table_options();
  table.block_cache = cache;
  table.block_size = 8 * 1024;
  if (with_filter) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

/// Payloads: no cache (mapped files are read in place), no filter (ids are never looked for in vain).
rocksdb::ColumnFamilyOptions payload_options() {
  rocksdb::ColumnFamilyOptions options = base_options();
  rocksdb::BlockBasedTableOptions table = table_options();
  table.no_block_cache = true;
  table.block_size = 16 * 1024;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::ColumnFamilyOptions options_of(Family family, const std::shared_ptr<rocksdb::Cache>& cache) {
  switch (family) {
    case Family::kDefault:
    case Family::kCheckpoint:
    case Family::kTag:
      return row_options(cache, /*with_filter=*/false);
    case Family::kEntry:
    case Family::kDigest:
      return row_options(cache, /*with_filter=*/true);
    case Family::kSmallChunk:
      return payload_options();
    case Family::kChunk: {
      // Segments go to the last level and stay as they are: any compaction would rewrite the whole store.
      rocksdb::ColumnFamilyOptions options = payload_options();
      options.disable_auto_compactions = true;
      return options;
    }
  }
  return base_options();
}

}  // namespace

const char* name_of(Family family) noexcept {
  switch (family) {
    case Family::kDefault:
      return "default";
    case Family::kCheckpoint:
      return "checkpoint";
    case Family::kEntry:
      return "entry";
    case Family::kTag:
      return "tag";
    case Family::kDigest:
      return "digest";
    case Family::kChunk:
      return "chunk";
    case Family::kSmallChunk:
      return "small_chunk";
  }
  return "";
}

std::vector<rocksdb::ColumnFamilyDescriptor> family_descriptors(const std::shared_ptr<rocksdb::Cache>& cache) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const Family family : kFamilies) descriptors.emplace_back(name_of(family), options_of(family, cache));
  return descriptors;
}

rocksdb::DBOptions database_options(rocksdb::Env* env, FileAccess access) {
  rocksdb::DBOptions options;
  options.env = env;
  options.max_open_files = -1;
  options.allow_mmap_reads = access == FileAccess::kMapped;
  options.advise_random_on_open = false;  // with mapped files the advice makes cold reads 10-40 times slower
  options.use_fsync = false;
  options.bytes_per_sync = std::uint64_t{8} << 20;
  options.wal_bytes_per_sync = 0;  // partial syncs can leave holes that recovery passes over
  options.recycle_log_file_num = 0;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  // The header row changes with every commit and its memtable never fills, so the log's size decides about flushes.
  options.max_total_wal_size = std::uint64_t{16} << 20;
  options.paranoid_checks = true;
  options.max_manifest_file_size = std::uint64_t{64} << 20;
  options.max_background_jobs = 2;
  options.skip_stats_update_on_db_open = true;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.max_log_file_size = std::size_t{1} << 20;
  options.keep_log_file_num = 2;
  // No SstFileManager: it would truncate files under a reader's mapping before it deletes them, and its recovery from a
  // full disk polls every five seconds, while WriteLock resumes at once.
  return options;
}

Handles::~Handles() {
  for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  db_->Close();
  delete db_;
}

}  // namespace cairn::storage
