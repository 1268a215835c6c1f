// Segments: where they lie, that nothing rewrites them, and what becomes of those nobody committed.
#include <algorithm>
#include <filesystem>
#include <map>

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

#include "format/keys.h"
#include "storage/catalog.h"
#include "storage/families.h"
#include "storage/recovery.h"
#include "storage/scratch_database.h"
#include "storage/segment_writer.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::testing;
using storage::Family;

namespace {

std::vector<rocksdb::LiveFileMetaData> segments_of(const storage::Database& database) {
  std::vector<rocksdb::LiveFileMetaData> files;
  database.handles().db().GetLiveFilesMetaData(&files);
  std::erase_if(files, [](const auto& file) { return file.column_family_name != storage::name_of(Family::kChunk); });
  std::sort(files.begin(), files.end(), [](auto& a, auto& b) { return a.smallestkey < b.smallestkey; });
  return files;
}

std::uint64_t compacted_bytes(const storage::Database& database) {
  std::map<std::string, std::string> stats;
  const storage::Handles& handles = database.handles();
  REQUIRE(handles.db().GetMapProperty(handles.family(Family::kChunk), rocksdb::DB::Properties::kCFStats, &stats));
  return stats.at("compaction.Sum.CompCount") == "0" || stats.at("compaction.Sum.WriteGB") == "0.000000" ? 0 : 1;
}

/// Enough for two workers.
TestState large(std::uint64_t seed) { return model_of(seed, 4, 33 * kSmallChunkSize); }

}  // namespace

TEST_CASE("segments go to the last level, without sequence numbers, and are never compacted") {
  ScratchDatabase scratch;
  auto database = scratch.open();
  storage::CommitOptions options;
  options.threads = 2;
  std::size_t count = 0;
  for (std::uint64_t round = 1; round <= 6; ++round) {
    {
      // A reader's view must not make a difference: a sequence number would mark a file for rewriting.
      const rocksdb::ManagedSnapshot view(&database->handles().db());
      commit(*database, large(round), options);
    }
    const auto files = segments_of(*database);
    REQUIRE(files.size() > count);
    count = files.size();
    for (const auto& file : files) {
      CHECK(file.level == 6);
      CHECK(file.largest_seqno == 0);
    }
    if (round == 3) {
      database.reset();
      database = scratch.open();
    }
  }
  CHECK(count == 12);
  CHECK(compacted_bytes(*database) == 0);
  CHECK(fs::is_empty(database->staging_path()));
  for (std::uint64_t round = 1; round <= 6; ++round) CHECK(read_back(*database, round) == large(round));
}

TEST_CASE("a held snapshot and a compaction lose nothing of a new store") {
  // RocksDB 7.8 drops files ingested before the first ordinary record when a snapshot has sequence number 0
  // (facebook/rocksdb#13155); every store begins with its header row.
  ScratchDatabase scratch;
  const auto database = scratch.open();
  rocksdb::ManagedSnapshot view(&database->handles().db());
  CHECK(view.snapshot()->GetSequenceNumber() > 0);
  commit(*database, large(1));
  const storage::Handles& handles = database->handles();
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  REQUIRE(handles.db().CompactRange(options, handles.family(Family::kChunk), nullptr, nullptr).ok());
  CHECK(read_back(*database, 1) == large(1));
}

TEST_CASE("segments that no checkpoint was committed with are dropped at the next open") {
  ScratchDatabase scratch;
  std::vector<std::string> messages;
  {
    const auto database = scratch.open();
    commit(*database, large(1));
    // A create up to its commit, then nothing.
    storage::WriteLock lock(*database);
    storage::SegmentWriter writer(*database, [&] { return lock.take_segment(); });
    const Bytes bytes = bytes_of(5, kSmallChunkSize);
    const std::uint64_t segment = lock.next_segment();
    CHECK(writer.add(bytes) == format::chunk_id(segment, 0));
    CHECK(writer.add(bytes) == format::chunk_id(segment, 1));
    storage::ingest_segments(*database, writer.finish());
    storage::SegmentWriter unfinished(*database, [&] { return lock.take_segment(); });
    unfinished.add(bytes);
    CHECK(segments_of(*database).size() == 2);
  }
  CHECK(!fs::is_empty(scratch.path() / "staging"));
  storage::DatabaseOptions options = ScratchDatabase::small_chunks();
  options.log = [&](storage::Severity, std::string_view message) { messages.emplace_back(message); };
  const auto database = scratch.open(options);
  CHECK(segments_of(*database).size() == 1);
  CHECK(fs::is_empty(scratch.path() / "staging"));
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], Catch::Matchers::ContainsSubstring("1 segment"));
  CHECK(read_back(*database, 1) == large(1));
}

TEST_CASE("invariant 5: dropping what was not committed spares every chunk that is referred to") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  for (std::uint64_t round = 1; round <= 3; ++round) commit(*database, large(round));
  storage::WriteLock lock(*database);
  CHECK(storage::drop_segments_from(database->handles(), lock.next_segment()) == 0);
  for (std::uint64_t round = 1; round <= 3; ++round) CHECK(read_back(*database, round) == large(round));
}

TEST_CASE("a thousand chunks fill one segment in order") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  TestState state = model_of(1, 1, 1000 * kSmallChunkSize);
  commit(*database, state);
  const auto files = segments_of(*database);
  REQUIRE(files.size() == 1);
  CHECK(format::number_from_key(files[0].smallestkey) == format::chunk_id(1, 0));
  CHECK(format::number_from_key(files[0].largestkey) == format::chunk_id(1, 999));
  CHECK(read_back(*database, 1, 2) == state);
}

TEST_CASE("a create of more than 1 GiB rolls its segments", "[.long]") {
  ScratchDatabase scratch;
  storage::DatabaseOptions options;
  options.chunk_size = 16u << 20;
  const auto database = scratch.open(options);
  const TestState state = model_of(1, 3, 400u << 20);
  commit(*database, state);
  CHECK(segments_of(*database).size() == 2);
  CHECK(read_back(*database, 1, 2) == state);
}
