// A state is deleted when no checkpoint points to it; pointers are counted by a scan of the catalog, which is short
// beside the sync of the batch.
#include "storage/removal.h"

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "format/fail.h"
#include "format/keys.h"
#include "storage/catalog.h"
#include "storage/families.h"
#include "storage/free_space.h"
#include "storage/status.h"
#include "storage/tags.h"

namespace cairn::storage {

namespace {

constexpr std::size_t kMaxBatchBytes = std::size_t{256} << 20;

void delete_state(const Handles& handles, std::uint64_t state, rocksdb::WriteBatch& batch) {
  const std::string begin = format::number_key(state);
  const std::string end = format::number_key(state + 1);
  const rocksdb::Slice end_slice(end);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &end_slice;
  const std::unique_ptr<rocksdb::Iterator> row(handles.db().NewIterator(options, handles.family(Family::kEntry)));
  for (row->Seek(begin); row->Valid(); row->Next()) {
    check(batch.Delete(handles.family(Family::kEntry), row->key()), "cannot delete a row");
  }
  check(row->status(), "cannot read the entries of a state");
}

}  // namespace

void remove_checkpoints(WriteLock& lock, std::span<const std::uint64_t> versions) {
  Database& database = lock.database();
  std::map<std::uint64_t, std::vector<std::uint64_t>> going;  // version -> states
  for (const std::uint64_t version : versions) going[version];
  std::unordered_map<std::uint64_t, std::uint64_t> pointers;  // state -> objects that point to it
  std::size_t found = 0;
  for (const StoredCheckpoint& checkpoint : all_checkpoints(database)) {
    const auto goes = going.find(checkpoint.version);
    if (goes != going.end()) ++found;
    for (const format::ObjectRow& object : checkpoint.row.objects) {
      ++pointers[object.state];
      if (goes != going.end()) goes->second.push_back(object.state);
    }
  }
  if (found != going.size()) {
    for (const auto& [version, states] : going) {
      if (!find_checkpoint(database, version)) fail(ErrorCode::kNotFound, "there is no checkpoint {}", version);
    }
  }
  for (const StoredTag& tag : all_tags(database)) {
    if (going.count(tag.version) == 0) continue;
    fail(ErrorCode::kBusy, "checkpoint {} is tagged '{}': it can be removed once it has no tag", tag.version,
         printable(tag.name));
  }

  const Handles& handles = database.handles();
  rocksdb::WriteBatch batch;
  const auto commit = [&] {
    // A create leaves its whole reserve free: a removal is still possible when creates are refused.
    require_space(database, 0, batch.GetDataSize(), database.options().space_reserve / 4, "the removal");
    lock.commit(batch);
    batch.Clear();
  };
  for (const auto& [version, states] : going) {
    if (batch.GetDataSize() > kMaxBatchBytes) commit();
    check(batch.Delete(handles.family(Family::kCheckpoint), format::number_key(version)), "cannot delete a row");
    for (const std::uint64_t state : states) {
      if (--pointers[state] == 0) delete_state(handles, state, batch);
    }
  }
  if (batch.Count() != 0) commit();
}

void remove_checkpoint(Database& database, std::uint64_t version) {
  WriteLock lock(database);
  remove_checkpoints(lock, std::span(&version, 1));
}

}  // namespace cairn::storage
