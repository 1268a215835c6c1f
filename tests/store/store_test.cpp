// The catalog: creating, listing, finding, removing, who may open what.
#include <chrono>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

#include "store/scratch_store.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;
namespace fs = std::filesystem;

namespace {

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    INFO(error.what());
    return error.code();
  }
  FAIL("no error was raised");
  return ErrorCode::kIo;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error was raised";
}

}  // namespace

TEST_CASE("an empty store has no latest checkpoint and resumes nothing", "[store]") {
  ScratchStore scratch;
  Store store = scratch.open();
  auto tensor = torch::ones({2});
  CHECK_FALSE(store.latest());
  CHECK_FALSE(store.checkpoint(1));
  CHECK(store.list().empty());
  CHECK_FALSE(store.resume({{"t", tensor}}));
  CHECK(tensor.equal(torch::ones({2})));
}

TEST_CASE("versions count up, and the newest is the one committed last", "[store]") {
  ScratchStore scratch;
  Store store = scratch.open();
  for (const int64_t step : {8, 9, 10, 11, -5, 1000, 999}) {
    store.create_checkpoint({{"t", certified(step, "t", {3})}}, {{"step", step}});
  }
  CHECK(store.latest()->version() == 7);
  CHECK(store.latest()->metadata().at("step").as_int() == 999);
  const auto infos = store.list();
  REQUIRE(infos.size() == 7);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    CHECK(infos[i].version == i + 1);
    CHECK(infos[i].parent == i);
  }
}

TEST_CASE("what was created is there after the store is opened again", "[store]") {
  ScratchStore scratch;
  const auto big = certified(1, "big", {300, 1000});
  {
    Store store = scratch.open();
    const Created created = store.create_checkpoint({{"model", StateDict{{"big", big}}}}, {{"step", 1}});
    CHECK(created.version == 1);
    CHECK(created.logical_bytes == 1200000);
    CHECK(created.chunk_count == 2);
    CHECK(created.new_chunk_count == 2);
  }
  Store store = scratch.open();
  CHECK(same_bits(store.latest()->tensor("model", "big"), big));
  CHECK(store.latest()->info().objects.at(0).bytes == 1200000);
  CHECK(store.latest()->info().created_at_us > 1'600'000'000'000'000);
}

TEST_CASE("metadata keeps every type, NaN, infinities and the extremes of int64", "[store][metadata]") {
  ScratchStore scratch;
  const Metadata metadata = {
      {"step", 5},
      {"ratio", 5.0},
      {"flag", true},
      {"name", "x"},
      {"nothing", nullptr},
      {"loss", std::numeric_limits<double>::quiet_NaN()},
      {"up", std::numeric_limits<double>::infinity()},
      {"down", -std::numeric_limits<double>::infinity()},
      {"zero", -0.0},
      {"tiny", 5e-324},
      {"most", std::numeric_limits<int64_t>::max()},
      {"least", std::numeric_limits<int64_t>::min()},
      {"bytes", std::string("\xff\x00\xfe", 3)},
      {"history", ValueList{}},
      {"config", ValueMap{{"lr", 0.1}, {"layers", ValueList{1, 2.5, "three", ValueMap{{"deep", nullptr}}}}}},
  };
  scratch.open().create_checkpoint({}, metadata);
  const Metadata read = scratch.open().latest()->metadata();
  REQUIRE(read.size() == metadata.size());
  for (const auto& [key, value] : metadata) {
    INFO(key);
    if (key == "loss") {
      CHECK(std::isnan(read.at(key).as_double()));
    } else {
      CHECK(read.at(key) == value);
    }
  }
  CHECK(std::signbit(read.at("zero").as_double()));
  CHECK(read.at("step").type() == Value::Type::kInt);
  CHECK(read.at("ratio").type() == Value::Type::kDouble);
}

TEST_CASE("an object name that is empty, given twice, or holds a slash or NUL is refused", "[store][names]") {
  ScratchStore scratch;
  Store store = scratch.open();
  const auto tensor = torch::ones({1});
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("a\0b", 3)}) {
    CHECK(code_of([&] { store.create_checkpoint({{name, tensor}}); }) == ErrorCode::kInvalidArgument);
  }
  CHECK(code_of([&] { store.create_checkpoint({{"a", tensor}, {"a", tensor}}); }) == ErrorCode::kInvalidArgument);
  CHECK(store.list().empty());
}

TEST_CASE("entry names are any bytes, as long as they are different", "[store][names]") {
  ScratchStore scratch;
  Store store = scratch.open();
  StateDict entries;
  const std::vector<std::string> names = {"a/b",
                                          "a//b",
                                          "../x",
                                          "/abs",
                                          "a.b_c",
                                          "a_b.c",
                                          "a%2Eb",
                                          "Weight",
                                          "weight",
                                          " ",
                                          std::string("nul\0inside", 10),
                                          std::string(10'000, 'n'),
                                          "\xff\xfe",
                                          "2",
                                          "10",
                                          ""};
  for (const std::string& name : names) entries.insert(name, certified(1, name, {100}));
  store.create_checkpoint({{"odd", entries}});
  const StateDict read = store.latest()->state_dict("odd");
  REQUIRE(read.size() == names.size());
  std::size_t place = 0;
  for (const StateDict::Entry& entry : read) {
    CHECK(entry.name == names[place++]);
    CHECK(same_bits(entry.tensor(), certified(1, entry.name, {100})));
    CHECK(same_bits(store.latest()->tensor("odd", entry.name), entry.tensor()));
  }
}

TEST_CASE("a removed checkpoint is gone, the others keep what they share with it", "[store][remove]") {
  ScratchStore scratch;
  Store store = scratch.open();
  const auto shared = certified(0, "shared", {500, 500});
  for (int64_t step = 1; step <= 3; ++step) {
    store.create_checkpoint({{"s", StateDict{{"shared", shared}, {"own", certified(step, "own", {400})}}}});
  }
  store.remove(1);
  store.remove(2);
  CHECK_FALSE(store.checkpoint(1));
  CHECK(store.list().size() == 1);
  CHECK(same_bits(store.checkpoint(3)->tensor("s", "shared"), shared));
  CHECK(code_of([&] { store.remove(2); }) == ErrorCode::kNotFound);
  CHECK(store.create_checkpoint({{"t", shared}}).version == 4);
}

TEST_CASE("invariant 9: the number of a removed newest checkpoint is not given again", "[store][remove]") {
  ScratchStore scratch;
  {
    Store store = scratch.open();
    store.create_checkpoint({{"t", torch::ones({1})}});
    store.create_checkpoint({{"t", torch::ones({2})}});
    store.remove(2);
  }
  Store store = scratch.open();
  CHECK(store.latest()->version() == 1);
  CHECK(store.create_checkpoint({{"t", torch::ones({3})}}).version == 3);
}

TEST_CASE("a checkpoint that a handle pins cannot be removed, and stays readable without its Store",
          "[store][remove]") {
  ScratchStore scratch;
  std::optional<Checkpoint> handle;
  {
    Store store = scratch.open();
    store.create_checkpoint({{"t", certified(1, "t", {1000})}});
    handle = store.latest();
    CHECK(code_of([&] { store.remove(1); }) == ErrorCode::kBusy);
  }
  CHECK(same_bits(handle->tensor("t", "value"), certified(1, "t", {1000})));
  CHECK(code_of([&] { scratch.open(); }) == ErrorCode::kBusy);
  handle.reset();
  scratch.open().remove(1);
}

TEST_CASE("a checkpoint created after an older one was applied descends from that one", "[store]") {
  ScratchStore scratch;
  Store store = scratch.open();
  auto tensor = certified(1, "t", {10});
  store.create_checkpoint({{"t", tensor}});
  tensor.add_(1);
  store.create_checkpoint({{"t", tensor}});
  apply_checkpoint(*store.checkpoint(1), {{"t", tensor}});
  tensor.add_(2);
  CHECK(store.create_checkpoint({{"t", tensor}}).version == 3);
  CHECK(store.latest()->info().parent == 1);
}

TEST_CASE("a file, a foreign directory and a missing store are refused by what they are", "[store][open]") {
  ScratchStore scratch;
  const fs::path file = scratch.root() / "file";
  std::ofstream(file) << "not a store";
  CHECK(code_of([&] { Store::open(file); }) == ErrorCode::kInvalidArgument);
  CHECK(code_of([&] { Store::open_read_only(file); }) == ErrorCode::kInvalidArgument);
  const fs::path foreign = scratch.root() / "photos";
  fs::create_directories(foreign / "db");
  std::ofstream(foreign / "db" / "a.jpg") << "x";
  CHECK(code_of([&] { Store::open(foreign); }) == ErrorCode::kInvalidArgument);
  CHECK(fs::exists(foreign / "db" / "a.jpg"));
  CHECK(code_of([&] { Store::open_read_only(scratch.root() / "nothing"); }) == ErrorCode::kNotFound);
  CHECK_FALSE(fs::exists(scratch.root() / "nothing"));
}

TEST_CASE("a read-only store reads beside the writer and refuses to write", "[store][open]") {
  ScratchStore scratch;
  Store writer = scratch.open();
  const auto tensor = certified(1, "t", {700, 700});
  writer.create_checkpoint({{"t", tensor}}, {{"step", 1}});
  Store reader = Store::open_read_only(scratch.path());
  CHECK(reader.is_read_only());
  CHECK(same_bits(reader.latest()->tensor("t", "value"), tensor));
  CHECK(code_of([&] { reader.create_checkpoint({{"t", tensor}}); }) == ErrorCode::kInvalidArgument);
  CHECK(code_of([&] { reader.remove(1); }) == ErrorCode::kInvalidArgument);
  CHECK(reader.verify().problems.empty());
  writer.create_checkpoint({{"t", tensor}}, {{"step", 2}});
  CHECK(Store::open_read_only(scratch.path()).latest()->version() == 2);
}

TEST_CASE("two threads that create at once both get a version of their own", "[store][threads]") {
  ScratchStore scratch;
  Store store = scratch.open();
  constexpr int kRounds = 10;
  std::vector<std::uint64_t> versions[2];
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 2; ++worker) {
    threads.emplace_back([&, worker] {
      for (int round = 0; round < kRounds; ++round) {
        const auto step = static_cast<int64_t>(worker * kRounds + round);
        versions[worker].push_back(
            store.create_checkpoint({{"t", certified(step, "t", {200, 300})}}, {{"step", step}}).version);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all(versions[0].begin(), versions[0].end());
  all.insert(versions[1].begin(), versions[1].end());
  CHECK(all.size() == 2 * kRounds);
  for (const CheckpointInfo& info : store.list()) {
    const int64_t step = info.metadata.at("step").as_int();
    CHECK(same_bits(store.checkpoint(info.version)->tensor("t", "value"), certified(step, "t", {200, 300})));
  }
}

TEST_CASE("messages name what was asked for and what is nearest", "[store][errors]") {
  ScratchStore scratch;
  Store store = scratch.open();
  store.create_checkpoint({{"model", StateDict{{"fc1.weight", torch::ones({2, 3})}, {"epoch", Value(3)}}}});
  const Checkpoint checkpoint = *store.latest();
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(message_of([&] { checkpoint.tensor("modle", "fc1.weight"); }),
             ContainsSubstring("'modle'") && ContainsSubstring("'model'"));
  CHECK_THAT(message_of([&] { checkpoint.tensor("model", "fc1.wieght"); }), ContainsSubstring("checkpoint 1") &&
                                                                                ContainsSubstring("'fc1.wieght'") &&
                                                                                ContainsSubstring("'fc1.weight'"));
  CHECK_THAT(message_of([&] { checkpoint.tensor("model", "epoch"); }),
             ContainsSubstring("model/epoch") && ContainsSubstring("plain value"));
  CHECK_THAT(message_of([&] { checkpoint.value("model", "fc1.weight"); }), ContainsSubstring("is a tensor"));
  CHECK_THAT(message_of([&] { checkpoint.rows("model", "fc1.weight", 1, 3); }),
             ContainsSubstring("[1, 3)") && ContainsSubstring("{2, 3}"));
  CHECK(checkpoint.value("model", "epoch").as_int() == 3);
}

TEST_CASE("progress runs from nothing to everything, and an exception from it ends the create", "[store][progress]") {
  ScratchStore scratch;
  Store store = scratch.open();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  CreateOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) { calls.emplace_back(done, total); };
  const auto tensor = certified(1, "t", {1000, 1000});
  store.create_checkpoint({{"t", tensor}}, {}, options);
  REQUIRE(calls.size() >= 2);
  CHECK(calls.front().first == 0);
  CHECK(calls.back().first == calls.back().second);
  CHECK(std::is_sorted(calls.begin(), calls.end()));
  options.progress = [](std::uint64_t done, std::uint64_t) {
    if (done > 0) throw std::runtime_error("stop");
  };
  CHECK_THROWS_AS(store.create_checkpoint({{"t", certified(2, "t", {1000, 1000})}}, {}, options), std::runtime_error);
  CHECK(store.list().size() == 1);
  CHECK(store.create_checkpoint({{"t", tensor}}).version > 1);
}

TEST_CASE("a tag finds its checkpoint, keeps it, and moves when it is told to", "[store][tags]") {
  ScratchStore scratch;
  Store store = scratch.open();
  for (const int64_t step : {1, 2}) store.create_checkpoint({{"t", certified(step, "t", {3})}}, {{"step", step}});
  store.tag(1, "best");
  CHECK(store.tagged("best")->metadata().at("step").as_int() == 1);
  CHECK(code_of([&] { store.tag(2, "best"); }) == ErrorCode::kAlreadyExists);
  CHECK(code_of([&] { store.remove(1); }) == ErrorCode::kBusy);
  store.move_tag(2, "best");
  store.remove(1);
  CHECK(store.tagged("best")->version() == 2);
  REQUIRE(store.tags().size() == 1);
  CHECK(store.tags()[0].name == "best");
  CHECK(store.untag("best"));
  CHECK_FALSE(store.untag("best"));
  CHECK_FALSE(store.tagged("best"));
}
