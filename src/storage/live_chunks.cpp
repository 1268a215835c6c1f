// One scan of the entry rows; their numbers are compared with the catalog's, since a row that is lost would make the
// chunks it names look dead.
#include "storage/live_chunks.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <rocksdb/db.h>

#include "format/fail.h"
#include "format/keys.h"
#include "format/rows.h"
#include "storage/catalog.h"
#include "storage/families.h"
#include "storage/status.h"

namespace cairn::storage {

namespace {

std::string_view view_of(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

/// Replaces `uses` by the chunks of a row.
void read_uses(std::string_view bytes, std::uint32_t chunk_size, std::vector<ChunkUse>& uses) {
  uses.clear();
  const format::EntryRow row = format::decode_entry(bytes, chunk_size);
  const auto* tensor = std::get_if<format::TensorRow>(&row.payload);
  if (tensor == nullptr || tensor->chunks.empty()) return;
  const std::uint64_t nbytes = format::nbytes_of(tensor->layout);
  for (std::size_t i = 0; i < tensor->chunks.size(); ++i) {
    uses.push_back({tensor->chunks[i].id, format::chunk_length(nbytes, chunk_size, i)});
  }
}

using Take = std::function<void(std::uint64_t state, std::uint64_t row_bytes, std::span<const ChunkUse> uses)>;

/// Calls `take` for every entry row between two keys; an empty one is no bound.
void scan_between(const Database& database, const std::string& begin, const std::string& end, const Take& take) {
  const Handles& handles = database.handles();
  const rocksdb::Slice end_slice(end);
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.verify_checksums = true;
  if (!end.empty()) options.iterate_upper_bound = &end_slice;
  const std::unique_ptr<rocksdb::Iterator> row(handles.db().NewIterator(options, handles.family(Family::kEntry)));
  std::vector<ChunkUse> uses;
  for (row->Seek(begin); row->Valid(); row->Next()) {
    const auto key = format::entry_from_key(view_of(row->key()));
    if (!key) fail(ErrorCode::kCorruption, "an entry row has a key of {} bytes", row->key().size());
    try {
      read_uses(view_of(row->value()), database.chunk_size(), uses);
    } catch (const Error& error) {
      fail(error.code(), "entry '{}' of state {}: {}", printable(key->name), key->state, error.what());
    }
    take(key->state, row->value().size(), uses);
  }
  check(row->status(), "cannot read the entry rows");
}

}  // namespace

void scan_references(const Database& database, const Take& take) { scan_between(database, {}, {}, take); }

ChunkSet live_chunks(const Database& database, const std::function<void(std::uint64_t bytes)>& scanned) {
  ChunkSet chunks;
  std::unordered_map<std::uint64_t, std::uint64_t> rows;  // of each state
  scan_references(database, [&](std::uint64_t state, std::uint64_t row_bytes, std::span<const ChunkUse> uses) {
    ++rows[state];
    for (const ChunkUse& use : uses) chunks.add(use.id, use.length);
    if (scanned) scanned(row_bytes);
  });
  for (const StoredCheckpoint& checkpoint : all_checkpoints(database)) {
    for (const format::ObjectRow& object : checkpoint.row.objects) {
      const auto found = rows.find(object.state);
      const std::uint64_t count = found == rows.end() ? 0 : found->second;
      if (count == object.info.entry_count) continue;
      fail(ErrorCode::kCorruption, "checkpoint {}: object '{}': expected {} entries, found {}", checkpoint.version,
           printable(object.info.name), object.info.entry_count, count);
    }
  }
  return chunks;
}

std::uint64_t add_state(const Database& database, std::uint64_t state, ChunkSet& chunks) {
  std::uint64_t added = 0;
  scan_between(database, format::number_key(state), format::number_key(state + 1),
               [&](std::uint64_t, std::uint64_t row_bytes, std::span<const ChunkUse> uses) {
                 added += row_bytes;
                 for (const ChunkUse& use : uses) added += chunks.add(use.id, use.length) ? use.length : 0;
               });
  return added;
}

}  // namespace cairn::storage
