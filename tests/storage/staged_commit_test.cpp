// Commits that take a copy first, so that the caller's memory may change while they are written.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "storage/catalog.h"
#include "storage/scratch_database.h"
#include "storage/staging_memory.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

/// Large and small tensors, equal ones, and one that is stored in its row.
TestState mixed_state(std::uint64_t seed) {
  const Bytes twice = bytes_of(seed + 1, 20 * kSmallChunkSize);
  return {{"model", {{"large", bytes_of(seed, 30 * kSmallChunkSize + 7)}, {"a", twice}, {"b", twice}}},
          {"optimizer", {{"step", bytes_of(seed + 2, 8)}, {"lr", Value(0.5)}, {"small", bytes_of(seed + 3, 5000)}}}};
}

/// Overwrites every tensor of the state: what a trainer does next.
void overwrite(TestState& state) {
  for (TestObject& object : state) {
    for (auto& [name, payload] : object.entries) {
      if (auto* bytes = std::get_if<Bytes>(&payload)) std::fill(bytes->begin(), bytes->end(), std::byte{0xEE});
    }
  }
}

std::size_t staging_kept(storage::Database& database) { return storage::WriteLock(database).staging_memory().kept(); }

}  // namespace

TEST_CASE("what changes after a commit has staged does not reach the checkpoint", "[storage][staged]") {
  const bool is_fetched = GENERATE(false, true);
  const unsigned threads = GENERATE(1u, 3u);
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const TestState expected = mixed_state(1);
  TestState state = expected;
  storage::NewCheckpoint checkpoint = checkpoint_of(state);
  if (is_fetched) {
    for (storage::NewObject& object : checkpoint.objects) {
      for (storage::NewEntry& entry : object.entries) {
        auto* tensor = std::get_if<storage::NewTensor>(&entry.payload);
        if (tensor == nullptr) continue;
        const std::byte* data = std::exchange(tensor->bytes.data, nullptr);
        tensor->bytes.read = [data](std::uint64_t offset, std::span<std::byte> out) {
          std::memcpy(out.data(), data + offset, out.size());
        };
      }
    }
  }
  storage::CommitOptions options;
  options.threads = threads;
  int calls = 0;
  options.staged = [&] {
    ++calls;
    overwrite(state);
  };
  const storage::CommitResult result = storage::commit(*database, checkpoint, options);
  CHECK(calls == 1);
  CHECK(read_back(*database, result.info.version) == expected);
}

TEST_CASE("only what is new is staged, and memory of large commits goes back after two small ones",
          "[storage][staged]") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  storage::CommitOptions options;
  options.staged = [] {};
  CHECK(staging_kept(*database) == 0);
  TestState state = model_of(1, 4, 100 * kSmallChunkSize);
  commit(*database, state, options);
  const std::size_t all = staging_kept(*database);
  CHECK(all >= 400 * kSmallChunkSize);
  std::get<Bytes>(state[0].entries[0].second)[0] ^= std::byte{1};
  commit(*database, state, options);
  CHECK(staging_kept(*database) == all);  // the next one may be large again
  std::get<Bytes>(state[0].entries[0].second)[0] ^= std::byte{2};
  commit(*database, state, options);
  CHECK(staging_kept(*database) < all / 4);
  CHECK(read_back(*database, 3) == state);
}

TEST_CASE("an exception of the one who waits for the staging ends the commit and leaves nothing", "[storage][staged]") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  commit(*database, mixed_state(1));
  storage::CommitOptions options;
  options.staged = [] { throw std::runtime_error("gone"); };
  CHECK_THROWS_WITH(commit(*database, mixed_state(2), options), "gone");
  CHECK(storage::latest_checkpoint(*database)->version == 1);
  options.staged = [] {};
  commit(*database, mixed_state(2), options);
  CHECK(read_back(*database, storage::latest_checkpoint(*database)->version) == mixed_state(2));
}

TEST_CASE("a stretch of known chunks among new ones is told apart", "[storage][staged]") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const unsigned threads = GENERATE(1u, 2u);
  TestState state = model_of(1, 40, 5 * kSmallChunkSize + 99);
  storage::CommitOptions options;
  options.threads = threads;
  options.staged = [] {};
  commit(*database, state, options);
  for (const std::size_t changed : {0u, 3u, 4u, 17u, 18u, 19u, 39u}) {
    auto& bytes = std::get<Bytes>(state[0].entries[changed].second);
    bytes[changed * 1000] ^= std::byte{1};
  }
  const storage::CommitResult result = commit(*database, state, options);
  CHECK(result.new_chunk_count == 7);
  CHECK(read_back(*database, result.info.version) == state);
}

TEST_CASE("staging memory grows without losing what is warm, and gives back what two uses did not need",
          "[storage][staged]") {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  storage::StagingMemory memory;
  CHECK(memory.reserve(0).empty());
  memory.keep(0);
  const auto first = memory.reserve(3 * kMiB);
  REQUIRE(first.size() == 3 * kMiB);
  std::fill(first.begin(), first.end(), std::byte{7});
  const auto large = memory.reserve(9 * kMiB);
  REQUIRE(large.size() == 9 * kMiB);
  CHECK(large[3 * kMiB - 1] == std::byte{7});
  memory.keep(9 * kMiB);
  CHECK(memory.kept() == 10 * kMiB);
  CHECK(memory.reserve(kMiB).data() == large.data());
  memory.keep(kMiB);
  CHECK(memory.kept() == 10 * kMiB);
  memory.reserve(20 * kMiB);
  memory.keep(3 * kMiB);
  CHECK(memory.kept() == 4 * kMiB);
}
