// Collection: space comes back, what is referred to stays.
#include "storage/collection.h"

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "format/keys.h"
#include "storage/catalog.h"
#include "storage/chunk_reader.h"
#include "storage/families.h"
#include "storage/live_chunks.h"
#include "storage/removal.h"
#include "storage/scratch_database.h"
#include "storage/sparse_files.h"
#include "storage/table_files.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr std::size_t kBig = 5 * kSmallChunkSize;
constexpr std::uint64_t kMiB = 1u << 20;

void remove(storage::Database& database, const std::vector<std::uint64_t>& versions) {
  storage::WriteLock lock(database);
  storage::remove_checkpoints(lock, versions);
}

std::uint64_t bytes_on_disk(const fs::path& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

/// Ids in both families of chunks.
std::set<std::uint64_t> stored_chunks(const storage::Database& database) {
  std::set<std::uint64_t> ids;
  for (const storage::Family family : {storage::Family::kChunk, storage::Family::kSmallChunk}) {
    const std::unique_ptr<rocksdb::Iterator> row(
        database.handles().db().NewIterator(rocksdb::ReadOptions(), database.handles().family(family)));
    for (row->SeekToFirst(); row->Valid(); row->Next()) {
      ids.insert(*format::number_from_key({row->key().data(), row->key().size()}));
    }
    REQUIRE(row->status().ok());
  }
  return ids;
}

std::uint64_t count_rows(const storage::Database& database, storage::Family family) {
  std::uint64_t count = 0;
  const std::unique_ptr<rocksdb::Iterator> row(
      database.handles().db().NewIterator(rocksdb::ReadOptions(), database.handles().family(family)));
  for (row->SeekToFirst(); row->Valid(); row->Next()) ++count;
  return count;
}

std::uint64_t count_files(const storage::Database& database, storage::Family family) {
  return storage::table_files(database.handles(), family).size();
}

/// Tensors change at different paces, so that segments go in part: "0" never, "1" with every fourth, the rest always.
TestState state_at(std::uint64_t step, std::size_t tensors, std::size_t bytes) {
  TestState state = model_of(step, tensors, bytes);
  state[0].entries[0].second = bytes_of(999'983, bytes);
  state[0].entries[1].second = bytes_of(1'000'003 + step / 4, bytes);
  return state;
}

}  // namespace

TEST_CASE("invariant 5: a chunk is deleted only when no entry refers to it and no create is under way") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  std::vector<std::uint64_t> removed;
  for (std::uint64_t step = 1; step <= 24; ++step) {
    // Some by segments, some by the batch.
    commit(*database, state_at(step, step % 3 == 0 ? 2 : 6, step % 3 == 0 ? kSmallChunkSize : kBig));
    if (step % 5 != 0) removed.push_back(step);
  }
  remove(*database, removed);
  const std::set<std::uint64_t> before = stored_chunks(*database);

  SECTION("what entries refer to stays, all else goes") {
    const storage::CollectResult result = storage::collect(*database);
    const std::set<std::uint64_t> after = stored_chunks(*database);
    const storage::ChunkSet live = storage::live_chunks(*database);
    for (const std::uint64_t id : after) CHECK(before.count(id) == 1);  // ids never change
    std::uint64_t live_count = 0;
    for (const std::uint64_t id : before) {
      if (!live.contains(id)) continue;
      ++live_count;
      CHECK(after.count(id) == 1);
    }
    CHECK(live_count == live.total().count);
    CHECK(result.live_chunks == live_count);
    CHECK(result.removed_chunks == before.size() - after.size());
    CHECK(result.removed_digest_rows > 0);
    CHECK(result.dropped_files > 0);
    CHECK(result.rewritten_files > 0);
    CHECK(result.skipped_files == 0);
    CHECK(result.bytes_after < result.bytes_before);
    CHECK(count_rows(*database, storage::Family::kDigest) == live_count);
    for (std::uint64_t step = 5; step <= 20; step += 5) {
      CHECK(read_back(*database, step) ==
            state_at(step, step % 3 == 0 ? 2 : 6, step % 3 == 0 ? kSmallChunkSize : kBig));
    }
    CHECK(problems_of(*database) == "");
    // What was deleted can be committed again, under new ids.
    const TestState again = state_at(7, 6, kBig);
    const std::uint64_t version = commit(*database, again).info.version;
    CHECK(version == 25);
    CHECK(read_back(*database, version) == again);
    CHECK(problems_of(*database) == "");
  }

  SECTION("a create under way holds the collection off, so that nothing it has looked up can go") {
    // The create finds the chunks of version 7, which only digest rows know any more, and then waits in its progress.
    const TestState state = state_at(7, 6, kBig);
    std::atomic<bool> is_collected{false};
    std::thread collector;
    storage::CommitOptions options;
    bool was_collected_meanwhile = false;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      if (done != total) return;
      collector = std::thread([&] {
        storage::collect(*database);
        is_collected = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      was_collected_meanwhile = is_collected;
    };
    const storage::CommitResult created = commit(*database, state, options);
    collector.join();
    CHECK(created.new_chunk_count == 0);
    CHECK_FALSE(was_collected_meanwhile);
    CHECK(read_back(*database, created.info.version) == state);
    CHECK(problems_of(*database) == "");
  }
}

TEST_CASE("space of nine in ten of 200 checkpoints comes back: at most 1.3 times what the others need is left") {
  const bool is_small = GENERATE(true, false);
  const std::size_t bytes = is_small ? 9000 : 3 * kSmallChunkSize;
  const auto is_kept = [](std::uint64_t step) { return step % 10 == 7; };
  ScratchDatabase needed;
  {
    // A store in which only the others were ever committed.
    const auto database = needed.open();
    for (std::uint64_t step = 1; step <= 200; ++step) {
      if (is_kept(step)) commit(*database, state_at(step, 8, bytes));
    }
    storage::collect(*database);
  }
  ScratchDatabase scratch;
  const auto database = scratch.open();
  std::vector<std::uint64_t> removed;
  for (std::uint64_t step = 1; step <= 200; ++step) {
    commit(*database, state_at(step, 8, bytes));
    if (!is_kept(step)) removed.push_back(step);
  }
  remove(*database, removed);
  const std::uint64_t before = bytes_on_disk(scratch.path());
  const storage::CollectResult result = storage::collect(*database);
  const std::uint64_t after = bytes_on_disk(scratch.path());
  const std::uint64_t need = bytes_on_disk(needed.path());
  INFO(before << " before, " << after << " after, " << need << " needed, live " << result.live_bytes);
  CHECK(static_cast<double>(after) <= 1.3 * static_cast<double>(need));
  CHECK(after < before / 3);
  for (std::uint64_t step = 7; step <= 200; step += 10) CHECK(read_back(*database, step) == state_at(step, 8, bytes));
  CHECK(problems_of(*database) == "");
}

TEST_CASE("the number of files stays bounded however many small commits there are") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  constexpr std::uint64_t kCommits = 240;
  std::uint64_t merged = 0;
  for (std::uint64_t step = 1; step <= kCommits; ++step) {
    commit(*database, model_of(step, 17, kSmallChunkSize));  // just too much for the batch: a segment each
    if (step % 16 == 0) merged += storage::merge_small_files(*database);
  }
  CHECK(merged >= kCommits);
  CHECK(merged <= 3 * kCommits);  // a byte is rewritten a few times at most
  CHECK(count_files(*database, storage::Family::kChunk) <= 16);
  CHECK(stored_chunks(*database).size() == kCommits * 17);  // nothing was deleted
  CHECK(read_back(*database, 1) == model_of(1, 17, kSmallChunkSize));
  CHECK(read_back(*database, kCommits) == model_of(kCommits, 17, kSmallChunkSize));
  CHECK(problems_of(*database) == "");
}

TEST_CASE("a collection of a store that needs everything changes nothing") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  for (std::uint64_t step = 1; step <= 5; ++step) commit(*database, state_at(step, 6, kBig));
  const std::set<std::uint64_t> before = stored_chunks(*database);
  std::uint64_t last_done = 0;
  std::uint64_t last_total = 1;
  storage::CollectOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done >= last_done);
    CHECK(done <= total);
    last_done = done;
    last_total = total;
  };
  const storage::CollectResult result = storage::collect(*database, options);
  CHECK(last_done == last_total);
  CHECK(result.removed_chunks == 0);
  CHECK(result.removed_digest_rows == 0);
  CHECK(result.dropped_files + result.rewritten_files + result.skipped_files == 0);
  CHECK(stored_chunks(*database) == before);
}

TEST_CASE("a collection deletes nothing when it cannot tell what entries refer to") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  const auto database = scratch.open();
  for (std::uint64_t step = 1; step <= 3; ++step) commit(*database, state_at(step, 6, kBig));
  storage::remove_checkpoint(*database, 1);
  const auto checkpoint = storage::find_checkpoint(*database, 2);
  const std::string key = format::entry_key(checkpoint->row.objects[0].state, "layer.3.weight");
  {
    storage::WriteLock lock(*database);
    rocksdb::WriteBatch batch;
    SECTION("a row is lost") { batch.Delete(database->handles().family(storage::Family::kEntry), key); }
    SECTION("a row is damaged") { batch.Put(database->handles().family(storage::Family::kEntry), key, "damaged"); }
    lock.commit(batch);
  }
  const std::set<std::uint64_t> before = stored_chunks(*database);
  const std::uint64_t digests = count_rows(*database, storage::Family::kDigest);
  message_of(ErrorCode::kCorruption, [&] { storage::collect(*database); });
  CHECK(stored_chunks(*database) == before);
  CHECK(count_rows(*database, storage::Family::kDigest) == digests);
}
