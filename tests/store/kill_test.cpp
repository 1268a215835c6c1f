// Real processes killed with SIGKILL while they commit: what they had acknowledged is there, the rest is whole or
// absent.
//
// The child runs this same executable with a hidden argument (main.cpp), so that no Torch thread is forked. It writes
// each version number to a pipe once its create has returned.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>

#include "store/scratch_store.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

extern char** environ;

namespace {

constexpr int kEntries = 6;

/// Sizes differ, so that some creates go by segments and some by the batch alone.
std::vector<int64_t> sizes_of(int64_t step) {
  return step % 3 == 0 ? std::vector<int64_t>{40, 50} : std::vector<int64_t>{400, 500};
}

StateDict state_at(int64_t step) {
  StateDict state;
  for (int i = 0; i < kEntries; ++i) {
    const std::string name = "layer." + std::to_string(i);
    // Two of six entries change with each step; the others with every fourth.
    state.insert(name,
                 certified(i < 2 ? step : step / 4, name, i < 2 ? sizes_of(step) : std::vector<int64_t>{300, 300}));
  }
  return state;
}

void check_whole(const Checkpoint& checkpoint) {
  const int64_t step = checkpoint.metadata().at("step").as_int();
  const StateDict expected = state_at(step);
  const StateDict found = checkpoint.state_dict("state");
  REQUIRE(found.size() == expected.size());
  for (const StateDict::Entry& entry : expected) CHECK(same_bits(found.tensor(entry.name), entry.tensor()));
}

std::uint64_t create(Store& store, int64_t step) {
  return store.create_checkpoint({{"state", state_at(step)}}, {{"step", step}}).version;
}

/// Overwrites the state while it is committed, as training does.
std::uint64_t create_in_background(Store& store, int64_t step) {
  StateDict state = state_at(step);
  const auto pending = store.create_checkpoint_async({{"state", state}}, {{"step", step}});
  for (const StateDict::Entry& entry : state) at::Tensor(entry.tensor()).zero_();
  return pending.wait().version;
}

}  // namespace

/// The child's side: commits without end. Called by main before Catch2.
int commit_until_killed(const char* path) {
  Store store = Store::open(path);
  const auto latest = store.latest();
  int64_t step = latest ? latest->metadata().at("step").as_int() + 1 : 1;
  for (;; ++step) {
    const std::uint64_t version = step % 2 == 0 ? create(store, step) : create_in_background(store, step);
    if (write(STDOUT_FILENO, &version, sizeof version) != sizeof version) return 1;
  }
}

TEST_CASE("50 kills at random moments lose nothing that was acknowledged", "[store][crash][slow]") {
  ScratchStore scratch;
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::uint64_t acknowledged = 0;
  std::uint64_t kills_with_progress = 0;
  for (int round = 0; round < 50; ++round) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    const std::string path = scratch.path().string();
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const char* arguments[] = {self.c_str(), "--commit-until-killed", path.c_str(), nullptr};
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, self.c_str(), &actions, nullptr, const_cast<char* const*>(arguments), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    // The kill comes a random time after a random number of acknowledged creates, so it may hit any phase, the
    // recovery at open included.
    const auto wanted = static_cast<unsigned>(random() % 4);
    std::uint64_t version = 0;
    for (unsigned seen = 0; seen < wanted; ++seen) {
      if (read(pipe_ends[0], &version, sizeof version) != sizeof version) break;
      acknowledged = std::max(acknowledged, version);
    }
    usleep(static_cast<useconds_t>(random() % 20'000));
    kill(child, SIGKILL);
    while (read(pipe_ends[0], &version, sizeof version) == sizeof version)
      acknowledged = std::max(acknowledged, version);
    close(pipe_ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == SIGKILL);
    if (!std::filesystem::exists(scratch.path() / "CAIRN")) continue;

    Store store = scratch.open();
    const auto latest = store.latest();
    const std::uint64_t newest = latest ? latest->version() : 0;
    INFO("round " << round << ", acknowledged " << acknowledged << ", newest " << newest);
    REQUIRE(newest >= acknowledged);
    REQUIRE(newest <= acknowledged + 1);  // at most the one whose acknowledgement the kill swallowed
    if (newest > kills_with_progress) kills_with_progress = newest;
    acknowledged = newest;
    if (latest) check_whole(*latest);
    REQUIRE(store.verify().problems.empty());
  }
  CHECK(kills_with_progress > 20);
  Store store = scratch.open();
  for (const CheckpointInfo& info : store.list()) check_whole(*store.checkpoint(info.version));
}
