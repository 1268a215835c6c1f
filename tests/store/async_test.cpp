// Creates in the background: training goes on at once, and nothing is lost, the errors included.
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "store/scratch_store.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Holds a commit up just before its batch, until it is opened.
class Gate {
 public:
  Progress progress() {
    return [this](std::uint64_t done, std::uint64_t total) {
      if (done == total) wait();
    };
  }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

void fails(std::uint64_t done, std::uint64_t total) {
  if (done == total) throw std::runtime_error("the disk is gone");
}

struct Log {
  std::mutex mutex;
  std::vector<std::string> errors;  // guarded by mutex

  StoreOptions options() {
    StoreOptions options;
    options.log = [this](LogLevel level, std::string_view message) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (level == LogLevel::kError) errors.emplace_back(message);
    };
    return options;
  }
};

}  // namespace

TEST_CASE("tensors may change the moment a create in the background returns", "[store][async]") {
  ScratchStore scratch;
  Store store = scratch.open();
  Gate gate;
  CreateOptions options;
  options.progress = gate.progress();
  auto large = certified(1, "large", {700, 1000});
  auto sparse_view = certified(1, "view", {500, 600}).slice(1, 0, 300);
  auto scalar = torch::tensor(3.5);
  const auto pending =
      store.create_checkpoint_async({{"l", large}, {"v", sparse_view}, {"s", scalar}}, {{"step", 1}}, options);
  CHECK_FALSE(pending.ready());
  CHECK_FALSE(pending.version());
  const at::Tensor expected = large.clone();
  const at::Tensor expected_view = sparse_view.clone();
  large.zero_();
  sparse_view.zero_();
  scalar.zero_();
  gate.open();
  const Created created = pending.wait();
  CHECK(pending.ready());
  CHECK(pending.version() == created.version);
  CHECK(pending.progress().done == pending.progress().total);
  CHECK(pending.progress().total == created.logical_bytes);
  const auto checkpoint = store.latest();
  CHECK(checkpoint->version() == created.version);
  CHECK(same_bits(checkpoint->tensor("l", "value"), expected));
  CHECK(same_bits(checkpoint->tensor("v", "value"), expected_view));
  CHECK(checkpoint->tensor("s", "value").item<float>() == 3.5f);
}

TEST_CASE("an overlapped create returns before it has read anything, and says when it has", "[store][async]") {
  ScratchStore scratch;
  Store store = scratch.open();
  Gate begin;
  CreateOptions options;
  options.staging = Staging::kOverlapped;
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    if (done == 0) begin.wait();
  };
  auto tensor = certified(1, "t", {600, 700});
  const auto pending = store.create_checkpoint_async({{"t", tensor}}, {}, options);
  CHECK_FALSE(pending.ready());
  begin.open();
  pending.wait_staged();
  tensor.zero_();
  pending.wait();
  CHECK(same_bits(store.latest()->tensor("t", "value"), certified(1, "t", {600, 700})));
}

TEST_CASE("closing a store waits for the create in the background, and its handle outlives the store",
          "[store][async]") {
  ScratchStore scratch;
  std::optional<PendingCheckpoint> pending;
  {
    Store store = scratch.open();
    pending = store.create_checkpoint_async({{"t", certified(1, "t", {600, 700})}});
  }
  CHECK(pending->ready());
  CHECK(pending->wait().version == 1);
  CHECK(scratch.open().latest()->version() == 1);
}

TEST_CASE("an exception of the trainer does not lose the create that is under way", "[store][async]") {
  ScratchStore scratch;
  const auto train = [&] {
    Store store = scratch.open();
    auto weights = certified(1, "t", {600, 700});
    store.create_checkpoint_async({{"t", weights}});
    weights.zero_();
    throw std::runtime_error("loss is NaN");
  };
  CHECK_THROWS_WITH(train(), "loss is NaN");
  Store store = scratch.open();
  CHECK(same_bits(store.latest()->tensor("t", "value"), certified(1, "t", {600, 700})));
}

TEST_CASE("a second create waits for the one in the background, or is skipped when it may not wait", "[store][async]") {
  ScratchStore scratch;
  Store store = scratch.open();
  Gate gate;
  CreateOptions held;
  held.progress = gate.progress();
  const auto first = store.create_checkpoint_async({{"t", certified(1, "t", {30})}}, {}, held);

  CreateOptions impatient;
  impatient.when_busy = WhenBusy::kSkip;
  const auto skipped = store.create_checkpoint_async({{"t", certified(2, "t", {30})}}, {}, impatient);
  CHECK(skipped.skipped());
  CHECK(skipped.ready());
  CHECK(skipped.wait().version == 0);
  CHECK_FALSE(skipped.version());
  skipped.wait_staged();

  std::atomic<bool> has_returned{false};
  std::thread patient([&] {
    store.create_checkpoint({{"t", certified(3, "t", {30})}});
    has_returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(has_returned);
  CHECK_FALSE(first.ready());
  gate.open();
  patient.join();
  CHECK(first.wait().version == 1);
  CHECK_FALSE(first.skipped());
  CHECK(store.list().size() == 2);
  CHECK(store.latest()->info().parent == 1);
}

TEST_CASE("an error in the background is raised by wait, every time, and logged", "[store][async]") {
  ScratchStore scratch;
  Log log;
  Store store = scratch.open(log.options());
  CreateOptions failing;
  failing.progress = fails;
  const auto pending = store.create_checkpoint_async({{"t", certified(1, "t", {600, 700})}}, {}, failing);
  CHECK_THROWS_WITH(pending.wait(), "the disk is gone");
  CHECK_THROWS_WITH(pending.wait(), "the disk is gone");
  CHECK(pending.ready());
  CHECK_FALSE(pending.version());
  REQUIRE(log.errors.size() == 1);
  CHECK_THAT(log.errors[0], ContainsSubstring("the disk is gone"));
  CHECK(store.create_checkpoint({{"t", certified(2, "t", {5})}}).version >= 1);  // it was told once
}

TEST_CASE("an error that nobody has waited for is raised by the next create, once", "[store][async]") {
  const bool is_next_async = GENERATE(false, true);
  ScratchStore scratch;
  Log log;
  Store store = scratch.open(log.options());
  CreateOptions failing;
  failing.progress = fails;
  store.create_checkpoint_async({{"t", certified(1, "t", {600, 700})}}, {}, failing);  // the handle is dropped
  const auto create = [&] {
    if (!is_next_async) return store.create_checkpoint({{"t", certified(2, "t", {5})}});
    return store.create_checkpoint_async({{"t", certified(2, "t", {5})}}).wait();
  };
  CHECK_THROWS_WITH(create(), "the disk is gone");
  CHECK(store.list().empty());
  create();
  CHECK(store.list().size() == 1);
  CHECK(log.errors.size() == 1);
}

TEST_CASE("an error before the state was taken is raised by the create itself", "[store][async]") {
  ScratchStore scratch;
  Log log;
  Store store = scratch.open(log.options());
  CreateOptions failing;
  failing.progress = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("stop"); };
  CHECK_THROWS_WITH(store.create_checkpoint_async({{"t", certified(1, "t", {600, 700})}}, {}, failing), "stop");
  CHECK(log.errors.empty());
  CHECK_THROWS_AS(store.create_checkpoint_async({{"a/b", certified(1, "t", {5})}}), Error);
  CHECK_THROWS_AS(scratch.open(), Error);  // kBusy: this store is open
  store.create_checkpoint_async({{"t", certified(1, "t", {5})}}).wait();
  CHECK(store.list().size() == 1);
}

TEST_CASE("a reader's store takes no create in the background", "[store][async]") {
  ScratchStore scratch;
  scratch.open().create_checkpoint({{"t", certified(1, "t", {5})}});
  Store store = Store::open_read_only(scratch.path());
  CHECK_THROWS_AS(store.create_checkpoint_async({{"t", certified(1, "t", {5})}}), Error);
}

TEST_CASE("threads that create at once, in the background and not, get versions one after the other",
          "[store][async]") {
  ScratchStore scratch;
  Store store = scratch.open();
  constexpr int64_t kRounds = 8;
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int64_t round = 0; round < kRounds; ++round) {
        const int64_t step = thread * 100 + round;
        auto tensor = certified(step, "t", {300, round % 2 == 0 ? 10 : 2000});
        if (thread == 0) {
          store.create_checkpoint({{"t", tensor}}, {{"step", step}, {"odd", round % 2}});
        } else {
          store.create_checkpoint_async({{"t", tensor}}, {{"step", step}, {"odd", round % 2}});
          tensor.zero_();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  store.create_checkpoint({{"t", certified(999, "t", {300, 10})}}, {{"step", 999}, {"odd", 0}});
  const auto infos = store.list();
  REQUIRE(infos.size() == 3 * kRounds + 1);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    CHECK(infos[i].version == i + 1);
    const auto checkpoint = store.checkpoint(infos[i].version);
    const int64_t columns = infos[i].metadata.at("odd").as_int() == 0 ? 10 : 2000;
    CHECK(same_bits(checkpoint->tensor("t", "value"),
                    certified(infos[i].metadata.at("step").as_int(), "t", {300, columns})));
  }
}

TEST_CASE("a disk that runs full in the background is an error of wait, and the next create works",
          "[store][async][mount]") {
  ScratchStore scratch;
  std::filesystem::create_directories(scratch.path());
  if (geteuid() != 0 || mount("cairn", scratch.path().c_str(), "tmpfs", 0, "size=64m") != 0) {
    WARN("skipped: a file system cannot be mounted here");
    return;
  }
  struct Unmount {
    std::filesystem::path path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } unmount{scratch.path()};
  Log log;
  Store store = scratch.open(log.options());
  const auto filler = scratch.path() / "filler";
  CreateOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done * 2 < total || std::filesystem::exists(filler)) return;  // the space was checked, the writing begins
    std::ofstream file(filler, std::ios::binary);
    const std::string block(64 * 1024, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  };
  const auto tensor = certified(1, "t", {2000, 3000});  // 24 MB
  ErrorCode code = ErrorCode::kFailed;
  try {
    store.create_checkpoint_async({{"t", tensor}}, {}, options).wait();
  } catch (const Error& error) {
    code = error.code();
  }
  CHECK(code == ErrorCode::kOutOfSpace);
  CHECK(store.list().empty());
  std::filesystem::remove(filler);
  store.create_checkpoint_async({{"t", tensor}}).wait();
  CHECK(same_bits(store.latest()->tensor("t", "value"), tensor));
  CHECK(store.verify().problems.empty());
}
