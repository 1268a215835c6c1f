// Nothing but an ingestion links tables: the database is never copied by RocksDB's own means.
#include "storage/ingestion_guard.h"

#include <string_view>

#include "format/fail.h"
#include "storage/status.h"

namespace cairn::storage {

void IngestionGuard::release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  linked_.clear();
}

void IngestionGuard::delete_kept() {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!linked_.empty()) {
    const std::string name = *linked_.begin();
    linked_.erase(linked_.begin());
    if (!target()->FileExists(name, rocksdb::IOOptions(), nullptr).ok()) continue;
    check(target()->DeleteFile(name, rocksdb::IOOptions(), nullptr), fmt::format("cannot delete '{}'", name));
  }
}

rocksdb::IOStatus IngestionGuard::LinkFile(const std::string& from, const std::string& to,
                                           const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const rocksdb::IOStatus status = target()->LinkFile(from, to, options, context);
  if (status.ok() && std::string_view(to).ends_with(".sst")) linked_.insert(to);
  return status;
}

rocksdb::IOStatus IngestionGuard::DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                                             rocksdb::IODebugContext* context) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (linked_.count(name) != 0) return rocksdb::IOStatus::OK();
  }
  return target()->DeleteFile(name, options, context);
}

}  // namespace cairn::storage
