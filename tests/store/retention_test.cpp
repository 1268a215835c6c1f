// Retention and collection through the public API: pruning, pins, what follows a commit, readers, where the bytes are.
#include <atomic>
#include <chrono>
#include <thread>

#include <rocksdb/write_batch.h>

#include "storage/families.h"
#include "store/scratch_store.h"
#include "store_core.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;
using Catch::Matchers::ContainsSubstring;
using Versions = std::vector<std::uint64_t>;

namespace {

/// "frozen" never changes; "head" does with every step, by a segment.
StateDict state_at(std::int64_t step) {
  StateDict state;
  state.insert("frozen", certified(0, "frozen", {512, 1024}));
  state.insert("head", certified(step, "head", {600, 1024}));
  state.insert("small", certified(step, "small", {200}));
  return state;
}

Created create(Store& store, std::int64_t step, Metadata metadata = {}) {
  metadata.set("step", step);
  return store.create_checkpoint({{"state", state_at(step)}}, std::move(metadata));
}

void check_whole(const Checkpoint& checkpoint) {
  const std::int64_t step = checkpoint.metadata().at("step").as_int();
  const StateDict found = checkpoint.state_dict("state");
  for (const StateDict::Entry& entry : state_at(step)) CHECK(same_bits(found.tensor(entry.name), entry.tensor()));
}

Versions versions_of(const Store& store) {
  Versions versions;
  for (const CheckpointInfo& info : store.list()) versions.push_back(info.version);
  return versions;
}

Versions versions_of(const std::vector<CheckpointInfo>& infos) {
  Versions versions;
  for (const CheckpointInfo& info : infos) versions.push_back(info.version);
  return versions;
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    UNSCOPED_INFO(error.what());
    return error.code();
  }
  FAIL("expected an error");
  return ErrorCode::kFailed;
}

/// Through the rows themselves.
void damage_a_tag(const Store& store) {
  storage::Database& database = store.latest()->pinned().core->database();
  storage::WriteLock lock(database);
  rocksdb::WriteBatch batch;
  batch.Put(database.handles().family(storage::Family::kTag), "broken", "x");
  lock.commit(batch);
}

}  // namespace

TEST_CASE("prune removes what no rule keeps, and a dry run says what that is", "[store]") {
  ScratchStore scratch;
  Store store = scratch.open();
  const std::vector<double> losses = {3, 1, 2, 5, 4, 6};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    create(store, static_cast<std::int64_t>(100 * i), {{"loss", losses[i]}});
  }
  const RetentionPolicy policy = RetentionPolicy().keep_last(2).keep_best("loss", Goal::kMin);
  const PruneReport would = store.prune(policy, {/*dry_run=*/true});
  CHECK(versions_of(would.removed) == Versions{1, 3, 4});
  CHECK(would.kept == Versions{2, 5, 6});
  REQUIRE(would.freed_bytes);
  CHECK(*would.freed_bytes > 3 * 600 * 1024 * 4);
  CHECK(*would.freed_bytes < 3 * 600 * 1024 * 4 + 20'000);
  CHECK(versions_of(store).size() == 6);
  // A reader may ask as well.
  CHECK(versions_of(Store::open_read_only(scratch.path()).prune(policy, {true}).removed) == Versions{1, 3, 4});
  CHECK(code_of([&] { Store::open_read_only(scratch.path()).prune(policy); }) == ErrorCode::kInvalidArgument);

  const PruneReport did = store.prune(policy);
  CHECK(versions_of(did.removed) == Versions{1, 3, 4});
  CHECK(did.kept == Versions{2, 5, 6});
  CHECK_FALSE(did.freed_bytes);
  CHECK(versions_of(store) == Versions{2, 5, 6});
  CHECK(code_of([&] { store.prune({}); }) == ErrorCode::kInvalidArgument);
  CHECK(versions_of(store) == Versions{2, 5, 6});

  std::uint64_t last_done = 0;
  std::uint64_t last_total = 1;
  GcOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    last_done = done;
    last_total = total;
  };
  const std::uint64_t before = bytes_below(scratch.path());
  const GcReport report = store.gc(options);
  CHECK(last_done == last_total);
  CHECK(report.dropped_segments + report.rewritten_segments >= 3);
  CHECK(report.freed_bytes > *would.freed_bytes * 9 / 10);
  CHECK(bytes_below(scratch.path()) + *would.freed_bytes * 9 / 10 < before);
  for (const std::uint64_t version : Versions{2, 5, 6}) check_whole(*store.checkpoint(version));
  CHECK(code_of([&] { Store::open_read_only(scratch.path()).gc(); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("a checkpoint that this process holds is kept by prune and reported", "[store]") {
  ScratchStore scratch;
  Store store = scratch.open();
  for (std::int64_t step = 1; step <= 4; ++step) create(store, step);
  std::optional<Checkpoint> held = store.checkpoint(2);
  CHECK(store.prune(RetentionPolicy().keep_last(1), {true}).pinned == Versions{2});
  const PruneReport report = store.prune(RetentionPolicy().keep_last(1));
  CHECK(versions_of(report.removed) == Versions{1, 3});
  CHECK(report.kept == Versions{2, 4});
  CHECK(report.pinned == Versions{2});
  store.gc();
  check_whole(*held);
  held.reset();
  CHECK(versions_of(store.prune(RetentionPolicy().keep_last(1)).removed) == Versions{2});
}

TEST_CASE("a store with a retention policy keeps itself in bounds", "[store]") {
  ScratchStore scratch;
  StoreOptions options;
  options.retention = RetentionPolicy().keep_last(3).keep_every(10);
  std::uint64_t largest = 0;
  {
    Store store = scratch.open(options);
    for (std::int64_t step = 1; step <= 40; ++step) {
      const Created created = create(store, step);
      CHECK(created.retention_error.empty());
      if (step > 10) CHECK(created.pruned_count == ((step - 3) % 10 == 0 || step - 3 == 1 ? 0 : 1));
      largest = std::max(largest, bytes_below(scratch.path()));
    }
    CHECK(versions_of(store) == Versions{1, 10, 20, 30, 38, 39, 40});
    for (const CheckpointInfo& info : store.list()) check_whole(*store.checkpoint(info.version));
  }
  // At most 7 heads of 2.4 MB are needed, and a quarter as many more, and what RocksDB itself takes.
  CHECK(largest < 30'000'000);
}

TEST_CASE("retention that fails is reported and logged, and the checkpoint stays committed", "[store]") {
  ScratchStore scratch;
  scratch.expect_damage();
  StoreOptions options;
  options.retention = RetentionPolicy().keep_last(1);
  std::vector<std::string> warnings;
  options.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  };
  CHECK(code_of([&] {
          StoreOptions bad;
          bad.retention = RetentionPolicy();
          scratch.open(bad);
        }) == ErrorCode::kInvalidArgument);
  Store store = scratch.open(options);
  create(store, 1);
  CHECK(create(store, 2).pruned_count == 1);
  CHECK(warnings.empty());
  // A tag that cannot be read stops retention, not the commit.
  damage_a_tag(store);
  const Created created = create(store, 3);
  CHECK(created.version == 3);
  CHECK(created.pruned_count == 0);
  CHECK_THAT(created.retention_error, ContainsSubstring("tag"));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], ContainsSubstring("checkpoint 3 is committed, but retention failed"));
  CHECK(versions_of(store) == Versions{2, 3});
  check_whole(*store.latest());
}

TEST_CASE("a reader whose checkpoint is pruned and collected keeps reading it, or is told that it is gone", "[store]") {
  ScratchStore scratch;
  Store store = scratch.open();
  for (std::int64_t step = 1; step <= 4; ++step) create(store, step);
  Store reader = Store::open_read_only(scratch.path());
  const std::optional<Checkpoint> first = reader.checkpoint(1);
  const std::optional<Checkpoint> last = reader.checkpoint(4);
  store.prune(RetentionPolicy().keep_last(1));
  store.gc();
  check_whole(*first);
  check_whole(*last);
  first->pinned().core->database().catch_up();
  CHECK(code_of([&] { first->tensor("state", "head"); }) == ErrorCode::kNotFound);
  CHECK(code_of([&] { first->state_dict("state"); }) == ErrorCode::kNotFound);
  CHECK(code_of([&] { first->entries("state"); }) == ErrorCode::kNotFound);
  CHECK(code_of([&] { first->read(); }) == ErrorCode::kNotFound);
  StateDict target = state_at(9);
  CHECK(code_of([&] { apply_checkpoint(*first, {{"state", target}}); }) == ErrorCode::kNotFound);
  CHECK(same_bits(target.tensor("head"), state_at(9).tensor("head")));
  check_whole(*last);
}

TEST_CASE("creates, reads, prunes and collections may run at the same time", "[store]") {
  ScratchStore scratch;
  Store store = scratch.open();
  create(store, 1);
  std::atomic<bool> is_over{false};
  std::atomic<int> failures{0};
  const auto guarded = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const std::exception& error) {
      ++failures;
      std::fprintf(stderr, "%s\n", error.what());
    }
  };
  std::thread collecting([&] {
    while (!is_over) {
      guarded([&] {
        store.prune(RetentionPolicy().keep_last(3));
        store.gc();
      });
    }
  });
  std::thread reading([&] {
    while (!is_over) {
      guarded([&] {
        const std::optional<Checkpoint> checkpoint = store.latest();
        const std::int64_t step = checkpoint->metadata().at("step").as_int();
        if (!same_bits(checkpoint->tensor("state", "head"), state_at(step).tensor("head"))) ++failures;
      });
    }
  });
  for (std::int64_t step = 2; step <= 40; ++step) create(store, step);
  is_over = true;
  collecting.join();
  reading.join();
  CHECK(failures == 0);
  CHECK(store.latest()->version() == 40);
  CHECK(store.verify().problems.empty());
}

TEST_CASE("usage says where the bytes are", "[store]") {
  ScratchStore scratch;
  Store store = scratch.open();
  for (std::int64_t step = 1; step <= 3; ++step) {
    StateDict other;
    other.insert("copy", certified(0, "frozen", {512, 1024}));  // the same chunks as state/frozen
    other.insert("own", certified(7, "own", {300, 1024}));
    store.create_checkpoint({{"state", state_at(step)}, {"other", other}}, {{"step", step}});
  }
  store.remove(2);
  const UsageReport report = store.usage();
  const std::uint64_t frozen = 512 * 1024 * 4;
  const std::uint64_t head = 600 * 1024 * 4;
  const std::uint64_t own = 300 * 1024 * 4;
  REQUIRE(report.objects.size() == 2);
  const auto about = [](std::uint64_t found, std::uint64_t expected) {
    return found >= expected && found < expected + 10'000;
  };
  CHECK(report.objects[0].name == "other");
  CHECK(report.objects[0].checkpoint_count == 2);
  CHECK(report.objects[0].logical_bytes == 2 * (frozen + own));
  CHECK(about(report.objects[0].stored_bytes, frozen + own));
  CHECK(about(report.objects[0].own_bytes, own));
  CHECK(report.objects[1].name == "state");
  CHECK(about(report.objects[1].stored_bytes, frozen + 2 * head));
  CHECK(about(report.objects[1].own_bytes, 2 * head));
  REQUIRE(report.checkpoints.size() == 2);
  CHECK(report.checkpoints[0].version == 1);
  CHECK(about(report.checkpoints[0].own_bytes, head));
  CHECK(about(report.checkpoints[1].own_bytes, head));
  CHECK(about(report.live_bytes, frozen + 2 * head + own));
  CHECK(about(report.garbage_bytes, head));
  CHECK(report.disk_bytes > report.live_bytes + report.garbage_bytes);
  store.gc();
  CHECK(store.usage().garbage_bytes == 0);
  CHECK(about(store.usage().live_bytes, frozen + 2 * head + own));
}
