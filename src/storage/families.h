// Column families and the options of each, with their reasons.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "storage/file_access.h"

namespace cairn::storage {

/// All created with the store. Each is fed by ingestion or by WriteBatch, never by both (facebook/rocksdb#10922).
enum class Family { kDefault, kCheckpoint, kEntry, kTag, kDigest, kChunk, kSmallChunk };

inline constexpr std::array<Family, 7> kFamilies = {Family::kDefault,   Family::kCheckpoint, Family::kEntry,
                                                    Family::kTag,       Family::kDigest,     Family::kChunk,
                                                    Family::kSmallChunk};

const char* name_of(Family family) noexcept;
/// All families, in the order of kFamilies.
std::vector<rocksdb::ColumnFamilyDescriptor> family_descriptors(const std::shared_ptr<rocksdb::Cache>& cache);
/// Options of the database itself; `env` decides the file system, `access` is resolved.
rocksdb::DBOptions database_options(rocksdb::Env* env, FileAccess access);

/// An open RocksDB with its families.
class Handles {
 public:
  Handles(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> families)
      : db_(db), families_(std::move(families)) {}
  ~Handles();
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  rocksdb::DB& db() const noexcept { return *db_; }
  rocksdb::ColumnFamilyHandle* family(Family family) const noexcept {
    return families_[static_cast<std::size_t>(family)];
  }

 private:
  rocksdb::DB* db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

}  // namespace cairn::storage
