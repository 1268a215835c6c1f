// How a create behaves for its caller: memory it stages in, progress, several threads at once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "format/keys.h"
#include "storage/catalog.h"
#include "storage/chunk_reader.h"
#include "storage/families.h"
#include "storage/faulty_file_system.h"
#include "storage/removal.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("bytes that have to be fetched are fetched in pieces that keep to the budget") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const Bytes bytes = bytes_of(8, 40 * kSmallChunkSize + 9);
  const Bytes small = bytes_of(9, 100);
  std::atomic<std::size_t> largest{0};
  const TestState state = {{"model", {{"w", bytes}, {"b", small}}}};
  storage::NewCheckpoint checkpoint = checkpoint_of(state);
  for (storage::NewEntry& entry : checkpoint.objects[0].entries) {
    auto& source = std::get<storage::NewTensor>(entry.payload).bytes;
    const std::byte* data = std::exchange(source.data, nullptr);
    source.read = [data, &largest](std::uint64_t offset, std::span<std::byte> out) {
      std::memcpy(out.data(), data + offset, out.size());
      if (out.size() > largest) largest = out.size();
    };
  }
  storage::CommitOptions options;
  options.threads = 4;
  options.memory_budget = 2 * kSmallChunkSize;
  storage::commit(*database, checkpoint, options);
  CHECK(largest <= kSmallChunkSize);
  CHECK(read_back(*database, 1) == state);

  SECTION("an exception of the source ends the create and leaves nothing") {
    std::get<storage::NewTensor>(checkpoint.objects[0].entries[0].payload).bytes.read = [](std::uint64_t offset,
                                                                                           std::span<std::byte> out) {
      std::fill(out.begin(), out.end(), std::byte{1});
      if (offset > 10 * kSmallChunkSize) throw std::runtime_error("the device is gone");
    };
    CHECK_THROWS_WITH(storage::commit(*database, checkpoint, options), "the device is gone");
    CHECK(storage::latest_checkpoint(*database)->version == 1);
    CHECK(commit(*database, model_of(4, 3, kSmallChunkSize)).info.version == 2);
  }
}

TEST_CASE("progress begins at nothing, grows, and ends with everything") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const TestState state = model_of(1, 8, 10 * kSmallChunkSize);
  std::vector<std::uint64_t> done;
  std::uint64_t total = 0;
  storage::CommitOptions options;
  options.threads = 2;
  options.progress = [&](std::uint64_t now, std::uint64_t all) {
    done.push_back(now);
    total = all;
  };
  commit(*database, state, options);
  REQUIRE(done.size() >= 2);
  CHECK(done.front() == 0);
  CHECK(done.back() == total);
  CHECK(std::is_sorted(done.begin(), done.end()));
  CHECK(total == 80 * kSmallChunkSize);

  SECTION("an exception of the callback ends the create and leaves nothing") {
    const auto segments = [&] {
      std::vector<rocksdb::LiveFileMetaData> live;
      database->handles().db().GetLiveFilesMetaData(&live);
      return std::count_if(live.begin(), live.end(), [](auto& file) { return file.column_family_name == "chunk"; });
    };
    const auto before = segments();
    options.progress = [](std::uint64_t now, std::uint64_t all) {
      if (now == all) throw std::runtime_error("enough");
    };
    CHECK_THROWS_WITH(commit(*database, model_of(2, 8, 10 * kSmallChunkSize), options), "enough");
    CHECK(storage::latest_checkpoint(*database)->version == 1);
    CHECK(segments() == before);
  }
}

TEST_CASE("two threads that create at the same time get versions one after the other") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  constexpr std::uint64_t kRounds = 6;
  std::atomic<bool> is_over{false};
  std::thread reader([&] {
    while (!is_over) {
      if (const auto latest = storage::latest_checkpoint(*database)) read_back(*database, latest->version);
    }
  });
  std::vector<std::thread> writers;
  for (std::uint64_t writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        commit(*database, model_of(writer * 100 + round, 3, (round % 2 == 0 ? 1 : 8) * kSmallChunkSize));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  is_over = true;
  reader.join();
  const auto all = storage::all_checkpoints(*database);
  REQUIRE(all.size() == 2 * kRounds);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].version == i + 1);
  CHECK(storage::version_before(*database, 5) == 4u);
  CHECK(!storage::version_before(*database, 1));
}
