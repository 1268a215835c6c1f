// Commits in the background, with the real commit of the storage layer as their task.
#include "pending_commit.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "storage/catalog.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::testing;
using detail::BackgroundCommits;
using detail::PendingCommit;

namespace {

BackgroundCommits::Task commit_of(storage::Database& database, TestState& state) {
  return [&database, &state](PendingCommit& pending) {
    storage::CommitOptions options;
    options.threads = 2;
    options.progress = [&](std::uint64_t done, std::uint64_t total) { pending.set_progress(done, total); };
    options.staged = [&] { pending.set_staged(); };
    return Created{commit(database, state, options).info.version};
  };
}

BackgroundCommits::Task failure() {
  return [](PendingCommit& pending) -> Created {
    pending.set_staged();
    throw std::runtime_error("lost");
  };
}

}  // namespace

TEST_CASE("a state that is changed as soon as it is staged is committed as it was", "[background]") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  constexpr std::uint64_t kRounds = 6;
  {
    BackgroundCommits background;
    TestState state = model_of(0, 6, 7 * kSmallChunkSize);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      state = model_of(round, 6, 7 * kSmallChunkSize);
      const auto pending = background.start(commit_of(*database, state), /*may_wait=*/true);
      pending->wait_staged();
      state = {};
      state = model_of(1000, 6, 7 * kSmallChunkSize);  // over the same memory, as likely as not
    }
  }
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    CHECK(read_back(*database, round + 1) == model_of(round, 6, 7 * kSmallChunkSize));
  }
}

TEST_CASE("many threads may start, ask and wait at the same time", "[background]") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kRounds = 5;
  std::atomic<std::uint64_t> skipped{0};
  std::atomic<std::uint64_t> committed{0};
  {
    BackgroundCommits background;
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint64_t round = 0; round < kRounds; ++round) {
          TestState state = model_of(thread * 100 + round, 2, kSmallChunkSize + 9);
          const auto pending = background.start(commit_of(*database, state), /*may_wait=*/round % 2 == 0);
          while (round == 2 && !pending->is_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          pending->wait_staged();
          const Created created = pending->wait();
          pending->is_skipped() ? ++skipped : ++committed;
          if (created.version != 0 && pending->version() != created.version) throw std::logic_error("another version");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(committed + skipped == kThreads * kRounds);
  CHECK(committed >= kThreads * 3);
  CHECK(storage::latest_checkpoint(*database)->version == committed);
}

TEST_CASE("an error is told once to whoever asks next, and to every wait", "[background]") {
  BackgroundCommits background;
  const auto first = background.start(failure(), true);
  CHECK_THROWS_WITH(background.raise_untold(), "lost");
  CHECK_NOTHROW(background.raise_untold());
  CHECK_THROWS_WITH(first->wait(), "lost");
  CHECK_THROWS_WITH(first->wait(), "lost");

  const auto second = background.start(failure(), true);
  CHECK_THROWS_WITH(second->wait(), "lost");
  CHECK_NOTHROW(background.raise_untold());

  background.start(failure(), true);
  CHECK_THROWS_WITH(background.start(failure(), true), "lost");
  CHECK_NOTHROW(background.start([](PendingCommit&) { return Created{7}; }, true));
  CHECK_NOTHROW(background.raise_untold());
}

TEST_CASE("the end of the background waits for the commit", "[background]") {
  std::atomic<bool> has_ended{false};
  std::shared_ptr<PendingCommit> pending;
  {
    BackgroundCommits background;
    pending = background.start(
        [&](PendingCommit&) {
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          has_ended = true;
          return Created{1};
        },
        true);
    CHECK_FALSE(pending->is_ended());
  }
  CHECK(has_ended);
  CHECK(pending->version() == 1u);
}

TEST_CASE("what a task holds is let go before its end is told", "[background]") {
  BackgroundCommits background;
  const auto tensor = std::make_shared<int>(1);
  const auto pending = background.start([tensor](PendingCommit&) { return Created{1}; }, true);
  pending->wait();
  CHECK(tensor.use_count() == 1);
}
