// A state is deleted when no checkpoint points to it; pointers are counted by a scan of the catalog, which is short
// beside the sync of the batch.
#include "storage/removal.h"

#include <unordered_set>

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

void remove_checkpoint(Database& database, std::uint64_t version) {
  WriteLock lock(database);
  std::unordered_set<std::uint64_t> going;
  std::unordered_set<std::uint64_t> staying;
  bool is_found = false;
  for (const StoredCheckpoint& checkpoint : all_checkpoints(database)) {
    is_found |= checkpoint.version == version;
    for (const format::ObjectRow& object : checkpoint.row.objects) {
      (checkpoint.version == version ? going : staying).insert(object.state);
    }
  }
  if (!is_found) fail(ErrorCode::kNotFound, "there is no checkpoint {}", version);
  if (const auto tag = a_tag_of(database, version)) {
    fail(ErrorCode::kBusy, "checkpoint {} is tagged '{}': it can be removed once it has no tag", version,
         printable(*tag));
  }

  const Handles& handles = database.handles();
  rocksdb::WriteBatch batch;
  check(batch.Delete(handles.family(Family::kCheckpoint), format::number_key(version)), "cannot delete a row");
  for (const std::uint64_t state : going) {
    if (staying.count(state) != 0) continue;
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
  // A create leaves its whole reserve free: a removal is still possible when creates are refused.
  require_space(database, 0, batch.GetDataSize(), database.options().space_reserve / 4, "the removal");
  lock.commit(batch);
}

}  // namespace cairn::storage
