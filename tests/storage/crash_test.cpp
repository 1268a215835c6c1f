// The crash sweep: an action is cut short after each of its changes to the file system, what was not synced is lost,
// and the store is opened again. Whatever was committed before must be whole; what was being done must be done, or not
// begun.
#include <filesystem>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "storage/catalog.h"
#include "storage/faulty_file_system.h"
#include "storage/removal.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::testing;

namespace {

using Action = std::function<void(storage::Database&)>;

constexpr std::size_t kBig = 5 * kSmallChunkSize;
constexpr std::size_t kTensors = 6;

/// Two checkpoints that share most chunks: by segments, then by the batch.
TestState first_state() { return model_of(1, kTensors, kBig); }
TestState second_state() {
  TestState state = first_state();
  state[0].entries[0].second = bytes_of(77, kBig);
  return state;
}
/// New chunks for two workers.
TestState large_state() { return model_of(2, kTensors, 22 * kSmallChunkSize); }
TestState small_state() {
  TestState state = second_state();
  state[0].entries[1].second = bytes_of(78, kBig);
  state[0].entries[2].second = bytes_of(79, 100);
  return state;
}

struct Sweep {
  std::string name;
  Action action;
  /// Checkpoints that are allowed beside those that were there: version, content.
  std::optional<std::pair<std::uint64_t, TestState>> added;
  std::optional<std::uint64_t> removed;
};

/// Opened on the real file system, as after a restart.
void check_after_crash(const ScratchDirectory& directory, const Sweep& sweep) {
  storage::DatabaseOptions options;
  options.chunk_size = kSmallChunkSize;
  const auto database = storage::Database::open(directory.path() / "run.cairn", options);
  CHECK(problems_of(*database) == "");
  if (sweep.removed != 1u) CHECK(read_back(*database, 1) == first_state());
  CHECK(read_back(*database, 2) == second_state());
  for (const storage::StoredCheckpoint& checkpoint : storage::all_checkpoints(*database)) {
    if (checkpoint.version <= 2) continue;
    REQUIRE(sweep.added);
    CHECK(checkpoint.version == sweep.added->first);
    CHECK(read_back(*database, checkpoint.version) == sweep.added->second);
  }
  const TestState next = model_of(9, 3, kBig);
  const std::uint64_t version = commit(*database, next).info.version;
  CHECK(version >= 3);
  CHECK(read_back(*database, version) == next);
  CHECK(problems_of(*database) == "");
}

void run(const Sweep& sweep, Loss loss, std::uint64_t stride) {
  ScratchDirectory base;
  {
    const auto database = storage::Database::open(base.path() / "run.cairn", ScratchDatabase::small_chunks());
    commit(*database, first_state());
    commit(*database, second_state());
  }
  std::uint64_t changes = 1;
  bool is_counted = false;
  for (std::uint64_t cut = 0; cut < changes; cut += stride) {
    ScratchDirectory work;
    const fs::path path = work.path() / "run.cairn";
    fs::copy(base.path() / "run.cairn", path, fs::copy_options::recursive);
    const auto files = std::make_shared<FaultyFileSystem>(path, work.path() / "saved");
    std::string what;
    {
      storage::DatabaseOptions options = ScratchDatabase::small_chunks();
      options.file_system = files;
      const auto database = storage::Database::open(path, options);
      files->reset_counts();
      if (is_counted) files->cut_power_after(cut);
      bool is_done = false;
      try {
        sweep.action(*database);
        is_done = true;
      } catch (const Error& error) {
        what = error.what();
      }
      if (!is_counted) {
        // The first pass is not cut: it counts.
        REQUIRE(is_done);
        changes = files->counts().changes;
        REQUIRE(changes > 1);
        is_counted = true;
        cut -= stride;
        continue;
      }
      const auto journal = files->journal();
      what = fmt::format("{}, cut at change {} of {} ({}): {}", sweep.name, cut, changes,
                         cut < journal.size() ? journal[cut] : "none", what);
    }
    INFO(what);
    files->crash(loss);
    try {
      check_after_crash(work, sweep);
    } catch (const Error& error) {
      FAIL_CHECK("after the crash: " << error.what());
    }
  }
}

Sweep sweep_of_segments() {
  return {"create by segments",
          [](storage::Database& database) {
            storage::CommitOptions options;
            options.threads = 2;
            commit(database, large_state(), options);
          },
          std::pair(std::uint64_t{3}, large_state()), std::nullopt};
}

Sweep sweep_of_small() {
  return {"create by the batch", [](storage::Database& database) { commit(database, small_state()); },
          std::pair(std::uint64_t{3}, small_state()), std::nullopt};
}

Sweep sweep_of_removal() {
  return {"removal", [](storage::Database& database) { storage::remove_checkpoint(database, 1); }, std::nullopt,
          std::uint64_t{1}};
}

}  // namespace

TEST_CASE("invariant 3: a create by segments that loses power after any change leaves it whole or absent", "[crash]") {
  const Loss loss = GENERATE(Loss::kNames, Loss::kHalf, Loss::kNothing);
  run(sweep_of_segments(), loss, is_long_run() || loss == Loss::kNames ? 1 : 3);
}

TEST_CASE("invariant 2: a create by the batch that loses power after any change leaves it whole or absent", "[crash]") {
  const Loss loss = GENERATE(Loss::kNames, Loss::kHalf, Loss::kBytes);
  run(sweep_of_small(), loss, 1);
}

TEST_CASE("invariant 1: a removal that loses power after any change removes the checkpoint or leaves it whole",
          "[crash]") {
  const Loss loss = GENERATE(Loss::kNames, Loss::kHalf);
  run(sweep_of_removal(), loss, 1);
}

TEST_CASE("a creation of a store that loses power after any change can be begun again", "[crash]") {
  const Loss loss = GENERATE(Loss::kNames, Loss::kHalf, Loss::kNothing);
  const std::uint64_t stride = is_long_run() ? 1 : loss == Loss::kNames ? 2 : 7;
  std::uint64_t changes = 1;
  for (std::uint64_t cut = 0; cut <= changes; cut += stride) {
    ScratchDirectory work;
    const fs::path path = work.path() / "run.cairn";
    const auto files = std::make_shared<FaultyFileSystem>(path, work.path() / "saved");
    storage::DatabaseOptions options = ScratchDatabase::small_chunks();
    options.file_system = files;
    if (changes == 1) {
      storage::Database::open(path, options);
      changes = files->counts().changes;
      REQUIRE(changes > 1);
      continue;
    }
    files->cut_power_after(cut);
    std::string what;
    try {
      storage::Database::open(path, options);
    } catch (const Error& error) {
      what = error.what();
    }
    const auto journal = files->journal();
    INFO("cut at change " << cut << " of " << changes << " (" << (cut < journal.size() ? journal[cut] : "none")
                          << "): " << what);
    files->crash(loss);
    try {
      // A reader is told that there is nothing, and changes nothing.
      storage::DatabaseOptions reading;
      reading.mode = storage::OpenMode::kReadOnly;
      const auto reader = storage::Database::open(path, reading);
      CHECK(!storage::latest_checkpoint(*reader));
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(error.code() == ErrorCode::kNotFound);
    }
    try {
      const auto database = storage::Database::open(path, ScratchDatabase::small_chunks());
      const TestState state = model_of(3, 3, kBig);
      CHECK(commit(*database, state).info.version == 1);
      CHECK(read_back(*database, 1) == state);
      CHECK(problems_of(*database) == "");
    } catch (const Error& error) {
      FAIL_CHECK("after the crash: " << error.what());
    }
  }
}

TEST_CASE("a create that meets one I/O error anywhere leaves the earlier checkpoints and, reopened, a store that works",
          "[crash]") {
  const bool is_large = GENERATE(true, false);
  const TestState state = is_large ? large_state() : small_state();
  std::uint64_t changes = 1;
  for (std::uint64_t failing = 0; failing < changes; ++failing) {
    ScratchDirectory work;
    const fs::path path = work.path() / "run.cairn";
    const auto files = std::make_shared<FaultyFileSystem>(path, work.path() / "saved");
    storage::DatabaseOptions options = ScratchDatabase::small_chunks();
    options.file_system = files;
    bool is_committed = false;
    {
      const auto database = storage::Database::open(path, options);
      commit(*database, first_state());
      commit(*database, second_state());
      files->reset_counts();
      if (changes != 1) files->fail_once_after(failing);
      try {
        commit(*database, state);
        is_committed = true;
      } catch (const Error& error) {
        INFO(error.what());
        CHECK((error.code() == ErrorCode::kIo || error.code() == ErrorCode::kCorruption));
      }
      if (changes == 1) {
        changes = files->counts().changes;
        --failing;
        continue;
      }
      // Earlier checkpoints can be read without opening again.
      CHECK(read_back(*database, 2) == second_state());
    }
    INFO("failing change " << failing << " of " << changes << ": " << files->journal()[failing]);
    Sweep sweep{"one error", {}, std::pair(std::uint64_t{3}, state), std::nullopt};
    try {
      check_after_crash(work, sweep);
      if (is_committed) {
        const auto database = storage::Database::open(path, ScratchDatabase::small_chunks());
        CHECK(read_back(*database, 3) == state);
      }
    } catch (const Error& error) {
      FAIL_CHECK("after the error: " << error.what());
    }
  }
}
