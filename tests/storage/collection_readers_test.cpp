// Readers beside a writer that removes and collects: they keep reading what they opened, or learn that it is gone.
#include <atomic>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "format/keys.h"
#include "storage/catalog.h"
#include "storage/collection.h"
#include "storage/families.h"
#include "storage/removal.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

/// By segments and by the batch; chunks are shared with neighbours.
TestState state_at(std::uint64_t step) {
  TestState state = model_of(step, step % 2 == 0 ? 4 : 8, step % 2 == 0 ? 20'000 : 4 * kSmallChunkSize);
  state[0].entries[0].second = bytes_of(1'000'003 + step / 4, 4 * kSmallChunkSize);
  return state;
}

void remove(storage::Database& database, const std::vector<std::uint64_t>& versions) {
  storage::WriteLock lock(database);
  storage::remove_checkpoints(lock, versions);
}

}  // namespace

TEST_CASE("a reader that opened before keeps reading what was removed and collected, until it catches up") {
  ScratchDatabase scratch;
  const auto writer = scratch.open();
  for (std::uint64_t step = 1; step <= 10; ++step) commit(*writer, state_at(step));
  const auto reader = scratch.open_read_only();
  remove(*writer, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const storage::CollectResult result = storage::collect(*writer);
  CHECK(result.dropped_files + result.rewritten_files > 0);
  for (std::uint64_t step = 1; step <= 10; ++step) CHECK(read_back(*reader, step) == state_at(step));
  CHECK(problems_of(*reader) == "");
  reader->catch_up();
  CHECK_FALSE(storage::find_checkpoint(*reader, 5));
  CHECK(read_back(*reader, 10) == state_at(10));
  CHECK(problems_of(*reader) == "");
}

TEST_CASE("an iterator that stands on a chunk of the writer's own process stays valid while its file goes") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  commit(*database, state_at(1));
  commit(*database, state_at(3));
  const std::unique_ptr<rocksdb::Iterator> row(database->handles().db().NewIterator(
      rocksdb::ReadOptions(), database->handles().family(storage::Family::kChunk)));
  row->SeekToFirst();
  REQUIRE(row->Valid());
  const std::string before = row->value().ToString();
  storage::remove_checkpoint(*database, 1);
  storage::collect(*database);
  CHECK(row->value() == rocksdb::Slice(before));
}

TEST_CASE("readers that open while a writer commits, removes and collects never see damage", "[slow]") {
  ScratchDatabase scratch;
  const auto writer = scratch.open();
  commit(*writer, state_at(1));
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> checkpoints_read{0};
  std::vector<std::string> complaints;
  const auto read = [&](const storage::Database& reader, std::uint64_t version) {
    try {
      if (read_back(reader, version) != state_at(version)) {
        complaints.push_back(fmt::format("checkpoint {} has other content", version));
      }
      ++checkpoints_read;
    } catch (const Error& error) {
      // A reader that opened in the middle of a commit catches up, and may learn that a checkpoint has gone meanwhile:
      // its rows and chunks may be missing then, and the catalog says why.
      if (storage::find_checkpoint(reader, version)) {
        complaints.push_back(fmt::format("{}: {}", to_string(error.code()), error.what()));
      }
    }
  };
  std::thread reading([&] {
    while (!is_over) {
      try {
        const auto reader = scratch.open_read_only();
        for (const auto& checkpoint : storage::all_checkpoints(*reader)) read(*reader, checkpoint.version);
      } catch (const Error& error) {
        complaints.push_back(fmt::format("{}: {}", to_string(error.code()), error.what()));
      }
    }
  });
  const std::uint64_t last = is_long_run() ? 400 : 80;
  for (std::uint64_t step = 2; step <= last; ++step) {
    commit(*writer, state_at(step));
    if (step > 5) storage::remove_checkpoint(*writer, step - 5);
    if (step % 3 == 0) storage::collect(*writer);
    if (step % 16 == 0) storage::merge_small_files(*writer);
  }
  while (checkpoints_read < 10) std::this_thread::yield();
  is_over = true;
  reading.join();
  for (const std::string& complaint : complaints) FAIL_CHECK(complaint);
}
