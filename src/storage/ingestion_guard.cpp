// Nothing but an ingestion links tables: the database is never copied by RocksDB's own means.
#include "storage/ingestion_guard.h"

#include <string_view>
#include <utility>

#include "format/fail.h"
#include "storage/status.h"

namespace cairn::storage {

namespace {

bool is_table(std::string_view name) { return name.ends_with(".sst"); }

/// Notes the first error.
class GuardedManifest : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  GuardedManifest(std::unique_ptr<rocksdb::FSWritableFile> file, std::shared_ptr<std::atomic<bool>> has_failed)
      : FSWritableFileOwnerWrapper(std::move(file)), has_failed_(std::move(has_failed)) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    return noted(target()->Append(data, options, context));
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& verification,
                           rocksdb::IODebugContext* context) override {
    return noted(target()->Append(data, options, verification, context));
  }
  rocksdb::IOStatus Flush(const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) override {
    return noted(target()->Flush(options, context));
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) override {
    return noted(target()->Sync(options, context));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) override {
    return noted(target()->Fsync(options, context));
  }

 private:
  rocksdb::IOStatus noted(rocksdb::IOStatus status) {
    if (!status.ok()) *has_failed_ = true;
    return status;
  }

  const std::shared_ptr<std::atomic<bool>> has_failed_;
};

}  // namespace

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

void IngestionGuard::sweep() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (*manifest_failed_) return;
  for (const std::string& name : unwanted_) {
    target()->DeleteFile(name, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
  }
  unwanted_.clear();
}

rocksdb::IOStatus IngestionGuard::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                                  std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                  rocksdb::IODebugContext* context) {
  rocksdb::IOStatus status = target()->NewWritableFile(name, options, result, context);
  if (status.ok() && name.find("/MANIFEST-") != std::string::npos) {
    *result = std::make_unique<GuardedManifest>(std::move(*result), manifest_failed_);
  }
  return status;
}

rocksdb::IOStatus IngestionGuard::RenameFile(const std::string& from, const std::string& to,
                                             const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) {
  const rocksdb::IOStatus status = target()->RenameFile(from, to, options, context);
  // CURRENT names the manifest: a new one, with everything in it, is in force.
  if (std::string_view(to).ends_with("/CURRENT")) *manifest_failed_ = !status.ok();
  return status;
}

rocksdb::IOStatus IngestionGuard::LinkFile(const std::string& from, const std::string& to,
                                           const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const rocksdb::IOStatus status = target()->LinkFile(from, to, options, context);
  if (status.ok() && is_table(to)) linked_.insert(to);
  return status;
}

rocksdb::IOStatus IngestionGuard::DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                                             rocksdb::IODebugContext* context) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (linked_.count(name) != 0) return rocksdb::IOStatus::OK();
    if (*manifest_failed_ && is_table(name)) {
      unwanted_.insert(name);
      return rocksdb::IOStatus::OK();
    }
  }
  return target()->DeleteFile(name, options, context);
}

}  // namespace cairn::storage
