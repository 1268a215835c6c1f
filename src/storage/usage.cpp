// A chunk belongs to a checkpoint, or to an object's name, as long as only one of them has been seen to refer to it.
#include "storage/usage.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include <rocksdb/db.h>
#include <rocksdb/file_system.h>

#include "format/chunk_codec.h"
#include "format/fail.h"
#include "format/keys.h"
#include "storage/families.h"
#include "storage/live_chunks.h"
#include "storage/status.h"
#include "storage/store_directory.h"
#include "storage/table_files.h"

namespace cairn::storage {

namespace {

constexpr std::uint64_t kNone = 0;
constexpr std::uint64_t kMany = ~std::uint64_t{0};

/// One owner, or the fact that there are several.
struct Owner {
  std::uint64_t id = kNone;

  void add(std::uint64_t other) { id = id == kNone || id == other ? other : kMany; }
};

/// Something stored, and who refers to it: a state's rows, or a chunk.
struct Owned {
  std::uint64_t bytes = 0;
  Owner version;
  Owner object;  // place of the name in the report, from 1

  void add(const Owned& other) {
    version.add(other.version.id);
    object.add(other.object.id);
  }
};

class UsageCount {
 public:
  explicit UsageCount(const Database& database) : database_(database) {}

  UsageReport run() {
    const std::vector<StoredCheckpoint> checkpoints = all_checkpoints(database_);
    for (const StoredCheckpoint& checkpoint : checkpoints) take(checkpoint);
    scan_references(database_, [this](std::uint64_t state, std::uint64_t row_bytes, std::span<const ChunkUse> uses) {
      take_row(state, row_bytes, uses);
    });
    for (const auto& [id, state] : states_) settle(state.owned, state.names);
    for (const auto& [id, chunk] : chunks_) settle(chunk, {});
    for (std::size_t i = 0; i < chunk_sets_.size(); ++i)
      report_.objects[i].stored_bytes += chunk_sets_[i].total().bytes;
    const std::uint64_t stored = chunk_bytes();
    std::uint64_t live = 0;
    for (const auto& [id, chunk] : chunks_) live += chunk.bytes;
    report_.garbage_bytes = stored - std::min(stored, live);
    report_.disk_bytes = database_bytes(database_);
    std::sort(report_.objects.begin(), report_.objects.end(),
              [](const ObjectUsage& left, const ObjectUsage& right) { return left.name < right.name; });
    return std::move(report_);
  }

 private:
  struct State {
    Owned owned;
    std::vector<std::size_t> names;  // places in the report
  };

  void take(const StoredCheckpoint& checkpoint) {
    by_version_[checkpoint.version] = report_.checkpoints.size();
    report_.checkpoints.push_back({checkpoint.version, checkpoint.row.logical_bytes, 0});
    report_.logical_bytes += checkpoint.row.logical_bytes;
    for (const format::ObjectRow& object : checkpoint.row.objects) {
      const auto [place, is_new] = by_name_.try_emplace(object.info.name, report_.objects.size());
      if (is_new) {
        report_.objects.push_back({object.info.name, 0, 0, 0, 0});
        chunk_sets_.emplace_back();
      }
      ObjectUsage& usage = report_.objects[place->second];
      ++usage.checkpoint_count;
      usage.logical_bytes += object.info.bytes;
      State& state = states_[object.state];
      state.owned.version.add(checkpoint.version);
      state.owned.object.add(place->second + 1);
      if (std::find(state.names.begin(), state.names.end(), place->second) == state.names.end()) {
        state.names.push_back(place->second);
      }
    }
  }

  void take_row(std::uint64_t id, std::uint64_t row_bytes, std::span<const ChunkUse> uses) {
    const auto found = states_.find(id);
    if (found == states_.end()) return;  // of a commit that came in between
    State& state = found->second;
    state.owned.bytes += row_bytes;
    for (const ChunkUse& use : uses) {
      Owned& chunk = chunks_[use.id];
      chunk.bytes = use.length;
      chunk.add(state.owned);
      for (const std::size_t name : state.names) chunk_sets_[name].add(use.id, use.length);
    }
  }

  void settle(const Owned& owned, const std::vector<std::size_t>& names) {
    report_.live_bytes += owned.bytes;
    for (const std::size_t name : names) report_.objects[name].stored_bytes += owned.bytes;
    if (owned.version.id != kMany) {
      report_.checkpoints[by_version_.at(owned.version.id)].own_bytes += owned.bytes;
    }
    if (owned.object.id != kMany) report_.objects[owned.object.id - 1].own_bytes += owned.bytes;
  }

  /// Payloads of all chunks there are.
  std::uint64_t chunk_bytes() const {
    std::uint64_t bytes = 0;
    for (const TableFile& file : counted_table_files(database_.handles(), Family::kChunk)) bytes += file.payload_bytes;
    // Small chunks are partly in memory, and few enough to be walked.
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.verify_checksums = false;
    const Handles& handles = database_.handles();
    const std::unique_ptr<rocksdb::Iterator> row(
        handles.db().NewIterator(options, handles.family(Family::kSmallChunk)));
    for (row->SeekToFirst(); row->Valid(); row->Next()) {
      bytes += row->value().size() - std::min(row->value().size(), format::kChunkTrailerBytes);
    }
    check(row->status(), "cannot read the small chunks");
    return bytes;
  }

  const Database& database_;
  UsageReport report_;
  std::unordered_map<std::uint64_t, std::size_t> by_version_;  // places in the report
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::unordered_map<std::uint64_t, State> states_;
  std::unordered_map<std::uint64_t, Owned> chunks_;
  std::vector<ChunkSet> chunk_sets_;  // of each name
};

}  // namespace

std::uint64_t freed_bytes(const Database& database, std::span<const StoredCheckpoint> checkpoints,
                          const std::vector<bool>& is_kept) {
  ChunkSet chunks;
  std::unordered_set<std::uint64_t> states;
  std::uint64_t bytes = 0;
  for (const bool kept : {true, false}) {
    for (std::size_t i = 0; i < checkpoints.size(); ++i) {
      if (is_kept[i] != kept) continue;
      for (const format::ObjectRow& object : checkpoints[i].row.objects) {
        if (!states.insert(object.state).second) continue;
        const std::uint64_t added = add_state(database, object.state, chunks);
        if (!kept) bytes += added;
      }
    }
  }
  return bytes;
}

UsageReport usage(const Database& database) { return UsageCount(database).run(); }

std::uint64_t database_bytes(const Database& database) {
  const std::filesystem::path directory = database.path() / "db";
  std::uint64_t bytes = 0;
  for (const std::string& name : files_in(database.file_system(), directory)) {
    std::uint64_t size = 0;
    const std::string path = (directory / name).string();
    // RocksDB deletes files at any time.
    if (database.file_system().GetFileSize(path, rocksdb::IOOptions(), &size, nullptr).ok()) bytes += size;
  }
  return bytes;
}

}  // namespace cairn::storage
