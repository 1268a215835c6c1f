// Random creates, tags, removals, prunes, collections, mergings, reopenings and crashes, against an in-memory
// reference.
//
// CAIRN_TEST_SEED repeats a run; CAIRN_TEST_LONG=1 makes more and longer ones.
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "format/keys.h"
#include "storage/catalog.h"
#include "storage/collection.h"
#include "storage/families.h"
#include "storage/faulty_file_system.h"
#include "storage/live_chunks.h"
#include "storage/removal.h"
#include "storage/retention.h"
#include "storage/scratch_database.h"
#include "storage/tags.h"
#include "storage/usage.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

struct Model {
  std::map<std::uint64_t, TestState> states;
  std::set<std::uint64_t> tagged;

  friend bool operator==(const Model&, const Model&) = default;
};

class Run {
 public:
  explicit Run(std::uint64_t seed) : random_(seed) { open(); }

  void step() {
    const std::uint64_t kind = below(100);
    if (kind < 45) {
      act("create", [this] { create(); });
    } else if (kind < 55) {
      act("tag", [this] { tag(); });
    } else if (kind < 65) {
      act("remove", [this] { remove(); });
    } else if (kind < 75) {
      act("prune", [this] { prune(); });
    } else if (kind < 87) {
      act("collect", [this] { storage::collect(*database_); });
    } else if (kind < 90) {
      act("merge", [this] { storage::merge_small_files(*database_); });
    } else if (kind < 95) {
      trace_ += "reopen\n";
      database_.reset();
      open();
      check_catalog();
    } else {
      crash_next_ = true;
    }
  }

  void check_all() {
    INFO(trace_);
    for (const auto& [version, state] : model_.states) REQUIRE(read_back(*database_, version) == state);
    REQUIRE(problems_of(*database_) == "");
    storage::collect(*database_);
    for (const auto& [version, state] : model_.states) REQUIRE(read_back(*database_, version) == state);
    REQUIRE(problems_of(*database_) == "");
    std::uint64_t digest_rows = 0;
    const std::unique_ptr<rocksdb::Iterator> row(database_->handles().db().NewIterator(
        rocksdb::ReadOptions(), database_->handles().family(storage::Family::kDigest)));
    for (row->SeekToFirst(); row->Valid(); row->Next()) ++digest_rows;
    REQUIRE(digest_rows == storage::live_chunks(*database_).total().count);
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void open() {
    files_ = std::make_shared<FaultyFileSystem>(scratch_.path(), scratch_.beside(fmt::format("saved{}", opened_++)));
    storage::DatabaseOptions options = ScratchDatabase::small_chunks();
    options.file_system = files_;
    database_ = scratch_.open(options);
  }

  /// Does it, or begins it and loses power.
  void act(const std::string& what, const std::function<void()>& action) {
    trace_ += what;
    INFO(trace_);
    wanted_ = model_;
    if (!crash_next_) {
      action();
      model_ = wanted_;
      trace_ += '\n';
      check_catalog();
      return;
    }
    crash_next_ = false;
    const std::uint64_t cut = below(below(2) == 0 ? 12 : 80);
    trace_ += fmt::format(" (crash after {} changes)\n", cut);
    files_->cut_power_after(cut);
    try {
      action();
    } catch (const Error&) {
      // Expected: most of the time the power is gone before the end.
    }
    database_.reset();
    files_->crash(below(2) == 0 ? Loss::kNames : Loss::kHalf);
    open();
    // What was being done is done or not begun.
    const Model found = found_in(*database_);
    if (found == wanted_) model_ = wanted_;
    REQUIRE(found == model_);
    check_catalog();
  }

  Model found_in(const storage::Database& database) const {
    Model found;
    for (const auto& checkpoint : storage::all_checkpoints(database)) {
      found.states.emplace(checkpoint.version, read_back(database, checkpoint.version));
    }
    for (const storage::StoredTag& tag : storage::all_tags(database)) found.tagged.insert(tag.version);
    return found;
  }

  void check_catalog() {
    std::set<std::uint64_t> expected;
    for (const auto& [version, state] : model_.states) expected.insert(version);
    std::set<std::uint64_t> found;
    for (const auto& checkpoint : storage::all_checkpoints(*database_)) found.insert(checkpoint.version);
    REQUIRE(found == expected);
    if (expected.empty()) return;
    const auto some = std::next(model_.states.begin(), static_cast<std::ptrdiff_t>(below(model_.states.size())));
    REQUIRE(read_back(*database_, some->first) == some->second);
  }

  void create() {
    // Content is drawn from a small pool, so that chunks die and are wanted again.
    TestState state = {{"model", {}}, {"optimizer", {}}};
    for (TestObject& object : state) {
      const std::size_t entries = 1 + below(5);
      for (std::size_t i = 0; i < entries; ++i) {
        static constexpr std::size_t kSizes[] = {100, 5000, kSmallChunkSize, 3 * kSmallChunkSize + 17,
                                                 9 * kSmallChunkSize};
        object.entries.emplace_back(fmt::format("w{}", i), bytes_of(below(25), kSizes[below(5)]));
      }
      object.entries.emplace_back("step", Value(static_cast<std::int64_t>(below(3))));
    }
    storage::NewCheckpoint checkpoint = checkpoint_of(state);
    checkpoint.metadata.set("loss", static_cast<double>(below(10)));
    // The reference takes it at the version that it will have: the greatest ever, plus one; a create that failed may
    // burn some.
    const auto latest = next_version();
    wanted_.states[latest] = std::move(state);
    const std::uint64_t version = storage::commit(*database_, checkpoint, {}).info.version;
    REQUIRE(version == latest);
  }

  std::uint64_t next_version() { return storage::WriteLock(*database_).next_version(); }

  std::uint64_t some_version() {
    if (model_.states.empty()) return 0;
    return std::next(model_.states.begin(), static_cast<std::ptrdiff_t>(below(model_.states.size())))->first;
  }

  void tag() {
    const std::uint64_t version = some_version();
    if (version == 0) return;
    wanted_.tagged.insert(version);
    storage::set_tag(*database_, version, fmt::format("tag-{}", version), /*may_move=*/false);
  }

  void remove() {
    const std::uint64_t version = some_version();
    if (version == 0 || model_.tagged.count(version) != 0) return;
    wanted_.states.erase(version);
    storage::remove_checkpoint(*database_, version);
  }

  void prune() {
    RetentionPolicy policy;
    policy.keep_last(1 + below(4));
    if (below(2) == 0) policy.keep_best("loss", Goal::kMin, 1 + below(3));
    const std::vector<storage::StoredCheckpoint> checkpoints = storage::all_checkpoints(*database_);
    std::vector<storage::RetentionCandidate> candidates;
    for (const auto& checkpoint : checkpoints) {
      candidates.push_back(
          {checkpoint.version, 0, &checkpoint.row.metadata, model_.tagged.count(checkpoint.version) != 0});
    }
    const std::vector<bool> is_kept = storage::kept_by(policy, candidates, 1, {});
    std::vector<std::uint64_t> going;
    for (std::size_t i = 0; i < is_kept.size(); ++i) {
      if (is_kept[i]) continue;
      going.push_back(checkpoints[i].version);
      wanted_.states.erase(checkpoints[i].version);
    }
    for (const std::uint64_t version : model_.tagged) REQUIRE(wanted_.states.count(version) == 1);
    storage::WriteLock lock(*database_);
    storage::remove_checkpoints(lock, going);
  }

  std::mt19937_64 random_;
  ScratchDatabase scratch_;
  std::uint64_t opened_ = 0;
  std::shared_ptr<FaultyFileSystem> files_;
  std::unique_ptr<storage::Database> database_;
  Model model_;
  Model wanted_;
  bool crash_next_ = false;
  std::string trace_;
};

}  // namespace

TEST_CASE("random work with crashes keeps exactly what the reference keeps", "[crash]") {
  const char* given = std::getenv("CAIRN_TEST_SEED");
  const int runs = given != nullptr ? 1 : is_long_run() ? 40 : 3;
  for (int i = 0; i < runs; ++i) {
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
    INFO("seed " << seed << " (CAIRN_TEST_SEED=" << seed << " repeats it)");
    Run run(seed);
    const int steps = is_long_run() ? 200 : 60;
    for (int step = 0; step < steps; ++step) run.step();
    run.check_all();
  }
}
