// Tags are few: what is asked by version scans them all.
#include "storage/tags.h"

#include <algorithm>
#include <memory>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "format/fail.h"
#include "format/keys.h"
#include "format/tag_name.h"
#include "storage/catalog.h"
#include "storage/families.h"
#include "storage/free_space.h"
#include "storage/status.h"

namespace cairn::storage {

namespace {

std::uint64_t version_of(std::string_view name, std::string_view row) {
  const auto version = format::number_from_key(row);
  if (!version) {
    fail(ErrorCode::kCorruption, "tag '{}': expected 8 bytes, found {}", printable(name), row.size());
  }
  return *version;
}

/// A log that meets a full disk makes the outcome unknown: the space is asked for first, out of the reserve that
/// creates leave.
void commit(WriteLock& lock, rocksdb::WriteBatch& batch) {
  Database& database = lock.database();
  require_space(database, 0, batch.GetDataSize(), database.options().space_reserve / 4, "the tag");
  lock.commit(batch);
}

}  // namespace

std::vector<StoredTag> all_tags(const Database& database) {
  const Handles& handles = database.handles();
  const std::unique_ptr<rocksdb::Iterator> row(
      handles.db().NewIterator(rocksdb::ReadOptions(), handles.family(Family::kTag)));
  std::vector<StoredTag> tags;
  for (row->SeekToFirst(); row->Valid(); row->Next()) {
    tags.push_back({row->key().ToString(), version_of(row->key().ToStringView(), row->value().ToStringView())});
  }
  check(row->status(), "cannot read the tags");
  return tags;
}

std::optional<std::uint64_t> find_tag(const Database& database, std::string_view name) {
  const Handles& handles = database.handles();
  std::string row;
  const rocksdb::Status status = handles.db().Get(rocksdb::ReadOptions(), handles.family(Family::kTag),
                                                  rocksdb::Slice(name.data(), name.size()), &row);
  if (status.IsNotFound()) return std::nullopt;
  check(status, fmt::format("cannot read tag '{}'", printable(name)));
  return version_of(name, row);
}

std::optional<std::string> a_tag_of(const Database& database, std::uint64_t version) {
  const std::vector<StoredTag> tags = all_tags(database);
  const auto found =
      std::find_if(tags.begin(), tags.end(), [version](const StoredTag& tag) { return tag.version == version; });
  return found == tags.end() ? std::nullopt : std::optional<std::string>(found->name);
}

void set_tag(Database& database, std::uint64_t version, std::string_view name, bool may_move) {
  format::check_tag_name(name);
  WriteLock lock(database);
  const Handles& handles = database.handles();
  if (!find_checkpoint(database, version)) fail(ErrorCode::kNotFound, "there is no checkpoint {}", version);
  const std::optional<std::uint64_t> before = find_tag(database, name);
  if (before == version) return;
  if (before && !may_move) {
    fail(ErrorCode::kAlreadyExists, "tag '{}' stands for checkpoint {} already; it is moved on request only",
         printable(name), *before);
  }
  rocksdb::WriteBatch batch;
  check(batch.Put(handles.family(Family::kTag), rocksdb::Slice(name.data(), name.size()), format::number_key(version)),
        "cannot write a row");
  commit(lock, batch);
}

bool delete_tag(Database& database, std::string_view name) {
  WriteLock lock(database);
  if (!find_tag(database, name)) return false;
  rocksdb::WriteBatch batch;
  check(batch.Delete(database.handles().family(Family::kTag), rocksdb::Slice(name.data(), name.size())),
        "cannot delete a row");
  commit(lock, batch);
  return true;
}

}  // namespace cairn::storage
