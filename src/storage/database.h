// RocksDB under the store's directory: opening, families, counters, and the lock under which all writing happens.
//
// Knows nothing of tensors. Keeps invariants 8 (no write after a commit of unknown outcome) and 9 (numbers grow,
// are never reused). Every option is chosen by measurement; the reasons stand beside them in families.cpp and
// database.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "format/rows.h"
#include "storage/file_access.h"
#include "storage/staging_memory.h"

namespace rocksdb {
class Env;
class FileSystem;
class WriteBatch;
}  // namespace rocksdb

namespace cairn::storage {

class ChunkFilter;     // chunk_filter.h
class DirectoryLock;   // store_directory.h
class Handles;         // families.h
class IngestionGuard;  // ingestion_guard.h

enum class OpenMode { kReadWrite, kReadOnly };

enum class Severity { kInfo, kWarning, kError };

struct DatabaseOptions {
  OpenMode mode = OpenMode::kReadWrite;
  /// For a store that is created now; an existing one keeps its own.
  std::uint32_t chunk_size = format::kDefaultChunkSize;
  FileAccess access = FileAccess::kAutomatic;
  bool drop_commits_behind_damage = false;  ///< As StoreOptions says.
  /// Seam for tests: every file of the store goes through it. Null: the real one.
  std::shared_ptr<rocksdb::FileSystem> file_system;
  /// Free bytes that a commit leaves beside what it writes, for RocksDB's own files.
  std::uint64_t space_reserve = std::uint64_t{16} << 20;
  std::function<void(Severity, std::string_view)> log;
};

class Database;

/// The right to write, held by one thread at a time; also the numbers that are handed out.
///
/// Numbers taken and not committed are burnt in this process. A crash gives them back, and that is safe: recovery
/// drops what carries them.
class WriteLock {
 public:
  /// Errors: kInvalidArgument when read-only; kFailed after a commit of unknown outcome, or when RocksDB does not
  /// recover from an error; kOutOfSpace when an earlier write met a full disk and it still is.
  explicit WriteLock(Database& database);

  std::uint64_t take_version() { return header().next_version++; }
  std::uint64_t take_state() { return header().next_state++; }
  std::uint64_t take_segment();  ///< Errors: kUnsupported past format::kMaxSegment.

  std::uint64_t next_version() const noexcept;
  std::uint64_t next_segment() const noexcept;
  /// As the last commit has it: what lies in segments from here on was never committed, and the next open drops it.
  std::uint64_t committed_next_segment() const noexcept;

  /// Adds the counters to the batch and writes it with sync: the only commit point. Errors: kOutOfSpace, kIo; after
  /// any, the outcome is unknown and the database refuses further writes.
  void commit(rocksdb::WriteBatch& batch);

  Database& database() noexcept { return database_; }
  StagingMemory& staging_memory() noexcept;

 private:
  format::StoreHeader& header();  // the database's, under its mutex

  Database& database_;
  std::unique_lock<std::mutex> lock_;
};

class Database {
 public:
  /// Opens, or creates when the directory is absent or empty (read-write only), and drops what a crash left behind
  /// (recovery.h). Errors: as cairn::Store::open.
  static std::unique_ptr<Database> open(const std::filesystem::path& path, DatabaseOptions options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path staging_path() const { return path_ / "staging"; }
  bool is_read_only() const noexcept { return options_.mode == OpenMode::kReadOnly; }
  const std::string& id() const noexcept { return id_; }
  /// Whether table files are read through a mapping.
  bool is_mapped() const noexcept { return access_ == FileAccess::kMapped; }
  std::uint32_t chunk_size() const noexcept { return chunk_size_; }
  const DatabaseOptions& options() const noexcept { return options_; }

  /// The open RocksDB. Valid as long as this; take it once per operation, since catch_up replaces it.
  const Handles& handles() const noexcept { return *handles_.load(std::memory_order_acquire); }
  rocksdb::FileSystem& file_system() const noexcept;
  IngestionGuard& ingestion_guard() const noexcept { return *ingestion_guard_; }
  ChunkFilter& chunk_filter() const noexcept { return *chunk_filter_; }
  /// Held shared by whoever reads rows and then chunks of checkpoints that nothing pins; alone by a collection. To be
  /// taken before the write lock.
  std::shared_mutex& collection_mutex() const noexcept { return collection_mutex_; }
  /// Opens a read-only database once more, to see what was committed since. What others still read stays open until the
  /// end. Errors: as open.
  void catch_up() const;

  /// Free bytes of the file system the store is on. Errors: kIo.
  std::uint64_t free_bytes() const;
  /// Raises nothing.
  void log(Severity severity, std::string_view message) const;

 private:
  friend class WriteLock;
  Database(std::filesystem::path path, DatabaseOptions options);
  void create();
  void open_existing();

  // Constant after open.
  std::filesystem::path path_;
  DatabaseOptions options_;
  std::string id_;
  std::uint32_t chunk_size_ = 0;
  FileAccess access_ = FileAccess::kMapped;
  std::unique_ptr<DirectoryLock> lock_;              // null when read-only
  std::shared_ptr<IngestionGuard> ingestion_guard_;  // the file system
  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<ChunkFilter> chunk_filter_;
  mutable std::shared_mutex collection_mutex_;

  mutable std::mutex opened_mutex_;
  mutable std::vector<std::unique_ptr<Handles>> opened_;  // guarded by opened_mutex_; the last one is handles_
  mutable std::atomic<const Handles*> handles_{nullptr};

  // Guarded by write_mutex_.
  std::mutex write_mutex_;
  format::StoreHeader header_;
  StagingMemory staging_memory_;
  std::uint64_t committed_next_segment_ = 1;
  std::string failure_;  // why writes are refused; empty: they are not
};

}  // namespace cairn::storage
