// Rows by key and by scan.
#include "storage/catalog.h"

#include <algorithm>
#include <memory>

#include <rocksdb/db.h>

#include "format/fail.h"
#include "format/keys.h"
#include "storage/families.h"
#include "storage/status.h"

namespace cairn::storage {

namespace {

std::string_view view_of(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

std::unique_ptr<rocksdb::Iterator> iterate(const Handles& handles, Family family,
                                           const rocksdb::ReadOptions& options = {}) {
  return std::unique_ptr<rocksdb::Iterator>(handles.db().NewIterator(options, handles.family(family)));
}

StoredCheckpoint decode(std::string_view key, std::string_view bytes) {
  const auto version = format::number_from_key(key);
  if (!version || *version == 0) fail(ErrorCode::kCorruption, "a checkpoint row has a key of {} bytes", key.size());
  try {
    return {*version, format::decode_checkpoint(*version, bytes)};
  } catch (const Error& error) {
    fail(error.code(), "checkpoint {}: {}", *version, error.what());
  }
}

/// Reads a row; empty when there is none.
std::optional<std::string> get(const Handles& handles, Family family, const std::string& key, std::string_view what) {
  std::string bytes;
  const rocksdb::Status status = handles.db().Get(rocksdb::ReadOptions(), handles.family(family), key, &bytes);
  if (status.IsNotFound()) return std::nullopt;
  check(status, what);
  return bytes;
}

}  // namespace

CheckpointInfo StoredCheckpoint::info() const {
  CheckpointInfo info;
  info.version = version;
  info.parent = row.parent;
  info.created_at_us = row.created_at_us;
  info.metadata = row.metadata;
  info.objects.reserve(row.objects.size());
  for (const format::ObjectRow& object : row.objects) info.objects.push_back(object.info);
  info.logical_bytes = row.logical_bytes;
  info.written_bytes = row.written_bytes;
  return info;
}

const format::ObjectRow* StoredCheckpoint::find_object(std::string_view name) const {
  const auto found = std::find_if(row.objects.begin(), row.objects.end(),
                                  [&](const format::ObjectRow& object) { return object.info.name == name; });
  return found == row.objects.end() ? nullptr : &*found;
}

std::optional<StoredCheckpoint> latest_checkpoint(const Database& database) {
  const auto row = iterate(database.handles(), Family::kCheckpoint);
  row->SeekToLast();
  if (!row->Valid()) {
    check(row->status(), "cannot read the newest checkpoint");
    return std::nullopt;
  }
  return decode(view_of(row->key()), view_of(row->value()));
}

std::optional<StoredCheckpoint> find_checkpoint(const Database& database, std::uint64_t version) {
  const auto bytes = get(database.handles(), Family::kCheckpoint, format::number_key(version),
                         fmt::format("cannot read checkpoint {}", version));
  if (!bytes) return std::nullopt;
  return decode(format::number_key(version), *bytes);
}

std::optional<std::uint64_t> version_before(const Database& database, std::uint64_t version) {
  if (version == 0) return std::nullopt;
  const auto row = iterate(database.handles(), Family::kCheckpoint);
  row->SeekForPrev(format::number_key(version - 1));
  if (!row->Valid()) {
    check(row->status(), "cannot read the list of checkpoints");
    return std::nullopt;
  }
  return format::number_from_key(view_of(row->key()));
}

std::vector<StoredCheckpoint> all_checkpoints(const Database& database) {
  std::vector<StoredCheckpoint> checkpoints;
  const auto row = iterate(database.handles(), Family::kCheckpoint);
  for (row->SeekToFirst(); row->Valid(); row->Next()) {
    checkpoints.push_back(decode(view_of(row->key()), view_of(row->value())));
  }
  check(row->status(), "cannot read the list of checkpoints");
  return checkpoints;
}

std::optional<format::EntryRow> find_entry(const Database& database, std::uint64_t state, std::string_view name) {
  const auto bytes = get(database.handles(), Family::kEntry, format::entry_key(state, name),
                         fmt::format("cannot read entry '{}'", printable(name)));
  if (!bytes) return std::nullopt;
  try {
    return format::decode_entry(*bytes, database.chunk_size());
  } catch (const Error& error) {
    fail(error.code(), "entry '{}': {}", printable(name), error.what());
  }
}

std::vector<format::Entry> read_state(const Database& database, const format::ObjectRow& object) {
  const std::string begin = format::number_key(object.state);
  const std::string end = format::number_key(object.state + 1);
  const rocksdb::Slice end_slice(end);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &end_slice;
  std::vector<format::Entry> entries;
  const auto row = iterate(database.handles(), Family::kEntry, options);
  for (row->Seek(begin); row->Valid(); row->Next()) {
    const std::string_view name = view_of(row->key()).substr(begin.size());
    try {
      entries.push_back({std::string(name), format::decode_entry(view_of(row->value()), database.chunk_size())});
    } catch (const Error& error) {
      fail(error.code(), "entry '{}/{}': {}", printable(object.info.name), printable(name), error.what());
    }
  }
  check(row->status(), fmt::format("cannot read object '{}'", printable(object.info.name)));
  if (entries.size() != object.info.entry_count) {
    fail(ErrorCode::kCorruption, "object '{}': expected {} entries, found {}", printable(object.info.name),
         object.info.entry_count, entries.size());
  }
  std::sort(entries.begin(), entries.end(),
            [](const format::Entry& left, const format::Entry& right) { return left.row.ordinal < right.row.ordinal; });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].row.ordinal != i) {
      fail(ErrorCode::kCorruption, "entry '{}/{}': expected place {}, found {}", printable(object.info.name),
           printable(entries[i].name), i, entries[i].row.ordinal);
    }
  }
  return entries;
}

}  // namespace cairn::storage
