// A file system that keeps the tables of a failed ingestion, flush or compaction on disk until it is known that the
// manifest does not name them.
//
// When the sync of the manifest fails during an ingestion, RocksDB deletes the tables it had linked in, although the
// record that names them may be on the disk: the database would not open again. Kept, they are either unknown to the
// manifest and swept at the next open, or known and dropped by recovery.h. The same goes for the tables that a flush or
// a compaction wrote: no table is deleted from the first error of the manifest until another manifest has taken its
// place. Everything else passes through.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <rocksdb/file_system.h>

namespace cairn::storage {

/// Thread-safe; one ingestion at a time.
class IngestionGuard : public rocksdb::FileSystemWrapper {
 public:
  explicit IngestionGuard(const std::shared_ptr<rocksdb::FileSystem>& files) : FileSystemWrapper(files) {}
  const char* Name() const override { return "CairnIngestionGuard"; }

  /// The ingestion is over and durable: its tables are RocksDB's to delete.
  void release();
  /// The ingestion failed and the manifest is known not to name its tables: deletes those that were kept. Errors: kIo.
  void delete_kept();
  /// Deletes the tables that were kept because of an error of a manifest which has been replaced. Raises nothing: what
  /// cannot be deleted is swept at the next open.
  void sweep() noexcept;

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;

 private:
  std::mutex mutex_;
  std::set<std::string> linked_;    // guarded by mutex_; tables of the ingestion under way, or of one that failed
  std::set<std::string> unwanted_;  // guarded by mutex_; tables that RocksDB asked to delete meanwhile
  const std::shared_ptr<std::atomic<bool>> manifest_failed_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace cairn::storage
