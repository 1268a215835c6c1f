// The crash sweep over removal of many, over collection and over merging: each is cut short after each of its changes
// to the file system, what was not synced is lost, and the store is opened again. What is left must be whole, and a
// collection that runs to its end must find everything the one that was cut short left behind.
#include <filesystem>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "storage/catalog.h"
#include "storage/collection.h"
#include "storage/families.h"
#include "storage/faulty_file_system.h"
#include "storage/live_chunks.h"
#include "storage/removal.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr std::uint64_t kCheckpoints = 12;

/// Segments and small chunks, shared in part: "0" by all, "1" by four in a row.
TestState state_at(std::uint64_t step) {
  const std::size_t bytes = step % 3 == 0 ? kSmallChunkSize : 4 * kSmallChunkSize;
  TestState state = model_of(step, step % 3 == 0 ? 4 : 7, bytes);
  state[0].entries[0].second = bytes_of(999'983, bytes);
  state[0].entries[1].second = bytes_of(1'000'003 + step / 4, bytes);
  return state;
}

const std::vector<std::uint64_t> kRemoved = {1, 2, 3, 4, 6, 8, 9, 10};

std::set<std::uint64_t> versions_of(const storage::Database& database) {
  std::set<std::uint64_t> versions;
  for (const auto& checkpoint : storage::all_checkpoints(database)) versions.insert(checkpoint.version);
  return versions;
}

void remove(storage::Database& database) {
  storage::WriteLock lock(database);
  storage::remove_checkpoints(lock, kRemoved);
}

std::uint64_t count_rows(const storage::Database& database, storage::Family family) {
  std::uint64_t count = 0;
  const std::unique_ptr<rocksdb::Iterator> row(
      database.handles().db().NewIterator(rocksdb::ReadOptions(), database.handles().family(family)));
  for (row->SeekToFirst(); row->Valid(); row->Next()) ++count;
  return count;
}

enum class Removed { kNothing, kAll, kEither };

/// Opened on the real file system, as after a restart.
void check_after(const fs::path& path, Removed removed) {
  const auto database = storage::Database::open(path, ScratchDatabase::small_chunks());
  CHECK(problems_of(*database) == "");
  std::set<std::uint64_t> all;
  for (std::uint64_t version = 1; version <= kCheckpoints; ++version) all.insert(version);
  std::set<std::uint64_t> kept = all;
  for (const std::uint64_t version : kRemoved) kept.erase(version);
  const std::set<std::uint64_t> found = versions_of(*database);
  if (removed != Removed::kEither) CHECK(found == (removed == Removed::kAll ? kept : all));
  CHECK((found == kept || found == all));  // one batch
  for (const std::uint64_t version : found) CHECK(read_back(*database, version) == state_at(version));
  // What it left is taken up by the next one, to the last chunk.
  storage::collect(*database);
  const storage::ChunkSet live = storage::live_chunks(*database);
  CHECK(count_rows(*database, storage::Family::kDigest) == live.total().count);
  for (const std::uint64_t version : found) CHECK(read_back(*database, version) == state_at(version));
  const std::uint64_t next = commit(*database, state_at(1)).info.version;
  CHECK(next == kCheckpoints + 1);
  CHECK(read_back(*database, next) == state_at(1));
  CHECK(problems_of(*database) == "");
}

struct Sweep {
  std::function<void(storage::Database&)> prepare;
  std::function<void(storage::Database&)> action;
  Removed removed;
};

enum class Fault { kPowerCut, kOneError };

void run(const Sweep& sweep, Fault fault, Loss loss, std::uint64_t stride) {
  ScratchDirectory base;
  {
    const auto database = storage::Database::open(base.path() / "run.cairn", ScratchDatabase::small_chunks());
    for (std::uint64_t step = 1; step <= kCheckpoints; ++step) commit(*database, state_at(step));
    sweep.prepare(*database);
  }
  std::uint64_t changes = 0;  // of one that is not cut short
  for (std::uint64_t cut = 0; changes == 0 || cut < changes; cut += changes == 0 ? 0 : stride) {
    ScratchDirectory work;
    const fs::path path = work.path() / "run.cairn";
    fs::copy(base.path() / "run.cairn", path, fs::copy_options::recursive);
    const auto files = std::make_shared<FaultyFileSystem>(path, work.path() / "saved");
    std::string what;
    bool is_counting = changes == 0;
    {
      storage::DatabaseOptions options = ScratchDatabase::small_chunks();
      options.file_system = files;
      const auto database = storage::Database::open(path, options);
      files->reset_counts();
      if (!is_counting) fault == Fault::kPowerCut ? files->cut_power_after(cut) : files->fail_once_after(cut);
      try {
        sweep.action(*database);
        if (is_counting) changes = files->counts().changes;
      } catch (const Error& error) {
        what = error.what();
      }
      REQUIRE(changes > 1);
      const auto journal = files->journal();
      what = fmt::format("cut at change {} of {} ({}): {}", cut, changes, cut < journal.size() ? journal[cut] : "none",
                         what);
      if (fault == Fault::kOneError) {
        // All that is left can be read without opening again.
        INFO(what);
        for (const std::uint64_t version : versions_of(*database)) {
          CHECK(read_back(*database, version) == state_at(version));
        }
      }
    }
    INFO(what);
    if (fault == Fault::kPowerCut) files->crash(loss);
    try {
      check_after(path,
                  is_counting ? (sweep.removed == Removed::kEither ? Removed::kAll : sweep.removed) : sweep.removed);
    } catch (const Error& error) {
      FAIL_CHECK("after the crash: " << error.what());
    }
  }
}

const Sweep kRemoval = {[](storage::Database&) {}, remove, Removed::kEither};
const Sweep kCollection = {remove, [](storage::Database& database) { storage::collect(database); }, Removed::kAll};
const Sweep kMerging = {[](storage::Database&) {},
                        [](storage::Database& database) { storage::merge_small_files(database); }, Removed::kNothing};

std::uint64_t stride_of(std::uint64_t stride) { return is_long_run() ? 1 : stride; }

}  // namespace

TEST_CASE("invariant 1: a removal of many that loses power after any change removes all of them or none", "[crash]") {
  const Loss loss = GENERATE(Loss::kNames, Loss::kHalf);
  run(kRemoval, Fault::kPowerCut, loss, 1);
}

TEST_CASE("invariant 5: a collection that loses power after any change leaves every checkpoint whole", "[crash]") {
  const Loss loss = GENERATE(Loss::kNames, Loss::kHalf, Loss::kNothing);
  run(kCollection, Fault::kPowerCut, loss, stride_of(loss == Loss::kNames ? 2 : 5));
}

TEST_CASE("invariant 5: a collection that meets one I/O error anywhere leaves every checkpoint whole", "[crash]") {
  run(kCollection, Fault::kOneError, Loss::kNothing, stride_of(3));
}

TEST_CASE("invariant 4: a merging that loses power after any change leaves every checkpoint whole", "[crash]") {
  const Loss loss = GENERATE(Loss::kNames, Loss::kHalf);
  run(kMerging, Fault::kPowerCut, loss, stride_of(2));
}
