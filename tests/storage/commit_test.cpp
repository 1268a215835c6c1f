// What a create writes, what it shares, what it refuses.
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

namespace {

std::uint64_t state_of(const storage::Database& database, std::uint64_t version, std::string_view object) {
  const auto checkpoint = storage::find_checkpoint(database, version);
  REQUIRE(checkpoint);
  REQUIRE(checkpoint->find_object(object) != nullptr);
  return checkpoint->find_object(object)->state;
}

std::uint64_t rows_of(const storage::Database& database, storage::Family family) {
  const storage::Handles& handles = database.handles();
  const std::unique_ptr<rocksdb::Iterator> row(
      handles.db().NewIterator(rocksdb::ReadOptions(), handles.family(family)));
  std::uint64_t count = 0;
  for (row->SeekToFirst(); row->Valid(); row->Next()) ++count;
  return count;
}

}  // namespace

TEST_CASE("tensors of every size around the limits come back as they were") {
  ScratchDatabase scratch;
  TestState state = {{"model", {}}};
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{256}, std::size_t{257},
                                 kSmallChunkSize - 1, kSmallChunkSize, kSmallChunkSize + 1, 3 * kSmallChunkSize + 5}) {
    state[0].entries.emplace_back(fmt::format("size {}", size), bytes_of(size, size));
  }
  SECTION("by the batch") {}
  SECTION("by segments") { state[0].entries.emplace_back("large", bytes_of(5, 2u << 20)); }
  {
    const auto database = scratch.open();
    const auto result = commit(*database, state);
    CHECK(result.info.version == 1);
    CHECK(read_back(*database, 1) == state);
    CHECK(read_back(*database, 1, 3) == state);
  }
  CHECK(read_back(*scratch.open(), 1) == state);
  CHECK(read_back(*scratch.open_read_only(), 1) == state);
}

TEST_CASE("what a result says is what happened") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  TestState state = model_of(1, 4, kSmallChunkSize * 2);
  state[0].entries.emplace_back("step", Value(7));
  const auto first = commit(*database, state);
  CHECK(first.chunk_count == 8);
  CHECK(first.new_chunk_count == 8);
  CHECK(first.info.logical_bytes == 8 * kSmallChunkSize);
  CHECK(first.info.written_bytes > 8 * kSmallChunkSize);
  CHECK(first.info.written_bytes < 8 * kSmallChunkSize + 4096);
  CHECK(first.info.objects.at(0).entry_count == 5);
  CHECK(first.info.objects.at(0).bytes == 8 * kSmallChunkSize);

  state[0].entries[1].second = bytes_of(42, kSmallChunkSize * 2);
  const auto second = commit(*database, state);
  CHECK(second.chunk_count == 8);
  CHECK(second.new_chunk_count == 2);
  const auto libraries = storage::find_checkpoint(*database, 2)->row.libraries;
  CHECK(std::count_if(libraries.begin(), libraries.end(),
                      [](const std::string& library) { return library.rfind("rocksdb ", 0) == 0; }) == 1);
}

TEST_CASE("equal chunks are stored once, in one create and over creates") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const std::size_t size = GENERATE(std::size_t{kSmallChunkSize}, std::size_t{20 * kSmallChunkSize});
  const Bytes tensor = bytes_of(1, size);
  Bytes zeros(4 * kSmallChunkSize);  // four equal chunks
  const auto first = commit(*database, {{"model", {{"a", tensor}, {"b", tensor}, {"zeros", zeros}}}});
  CHECK(first.new_chunk_count == size / kSmallChunkSize + 1);
  const auto second = commit(*database, {{"copy", {{"c", tensor}}}});
  CHECK(second.new_chunk_count == 0);
  CHECK(read_back(*database, 1) == TestState{{"model", {{"a", tensor}, {"b", tensor}, {"zeros", zeros}}}});
  CHECK(read_back(*database, 2) == TestState{{"copy", {{"c", tensor}}}});
}

TEST_CASE("two entries on one memory are digested once and stored once") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const Bytes tensor = bytes_of(3, 40 * kSmallChunkSize);
  storage::NewCheckpoint checkpoint = checkpoint_of({{"model", {}}});
  for (const char* name : {"embedding", "head"}) {
    storage::NewTensor tied;
    tied.layout = {format::DType::kUInt8, {static_cast<std::int64_t>(tensor.size())}, {1}, false};
    tied.bytes.nbytes = tensor.size();
    tied.bytes.data = tensor.data();
    checkpoint.objects[0].entries.push_back({name, tied});
  }
  const auto result = storage::commit(*database, checkpoint, {});
  CHECK(result.chunk_count == 80);
  CHECK(result.new_chunk_count == 40);
  CHECK(read_back(*database, 1) == TestState{{"model", {{"embedding", tensor}, {"head", tensor}}}});
}

TEST_CASE("a resave of what did not change writes less than 64 KiB, and its state is shared") {
  ScratchDatabase scratch;
  const auto files = std::make_shared<FaultyFileSystem>(scratch.path(), scratch.beside("saved"));
  storage::DatabaseOptions options;
  options.file_system = files;
  const auto database = scratch.open(options);
  const TestState state = model_of(1, 32, 1u << 20);
  commit(*database, state);
  files->reset_counts();
  const auto result = commit(*database, state);
  CHECK(files->counts().appended_bytes < 64 * 1024);
  CHECK(files->counts().syncs == 1);
  CHECK(result.new_chunk_count == 0);
  CHECK(result.info.written_bytes == 0);
  CHECK(state_of(*database, 1, "model") == state_of(*database, 2, "model"));
}

TEST_CASE("a create with one changed tensor writes about that tensor") {
  ScratchDatabase scratch;
  const auto files = std::make_shared<FaultyFileSystem>(scratch.path(), scratch.beside("saved"));
  storage::DatabaseOptions options;
  options.file_system = files;
  const auto database = scratch.open(options);
  TestState state = model_of(1, 16, 3u << 20);
  commit(*database, state);
  state[0].entries[5].second = bytes_of(50, 3u << 20);
  files->reset_counts();
  const auto result = commit(*database, state);
  CHECK(result.new_chunk_count == 3);
  CHECK(files->counts().appended_bytes < (3u << 20) + 64 * 1024);
  CHECK(read_back(*database, 2) == state);
}

TEST_CASE("states are shared with the parent and the newest checkpoint, object by object") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const TestObject frozen{"frozen", {{"w", bytes_of(1, 1000)}, {"name", Value("x")}}};
  commit(*database, {frozen, {"head", {{"w", bytes_of(2, 100)}}}});
  commit(*database, {frozen, {"head", {{"w", bytes_of(3, 100)}}}});
  commit(*database, {{"other", {{"w", bytes_of(4, 100)}}}});
  CHECK(state_of(*database, 1, "frozen") == state_of(*database, 2, "frozen"));
  CHECK(state_of(*database, 1, "head") != state_of(*database, 2, "head"));

  // Checkpoint 3 has no object "frozen", so without a parent its rows are written again.
  const TestState again = {frozen};
  storage::commit(*database, checkpoint_of(again), {});
  CHECK(state_of(*database, 4, "frozen") != state_of(*database, 1, "frozen"));
  commit(*database, {{"other", {{"w", bytes_of(4, 100)}}}});
  storage::NewCheckpoint derived = checkpoint_of(again);
  derived.parent = 2;
  storage::commit(*database, derived, {});
  CHECK(state_of(*database, 6, "frozen") == state_of(*database, 2, "frozen"));
  CHECK(storage::find_checkpoint(*database, 6)->row.parent == 2);

  SECTION("a state goes with its last checkpoint") {
    storage::remove_checkpoint(*database, 1);
    CHECK(read_back(*database, 2).at(0) == frozen);
    storage::remove_checkpoint(*database, 2);
    CHECK(read_back(*database, 6) == again);
    storage::remove_checkpoint(*database, 6);
    storage::remove_checkpoint(*database, 4);
    CHECK(rows_of(*database, storage::Family::kEntry) == 2);  // of 3 and 5
    CHECK_THAT(message_of(ErrorCode::kNotFound, [&] { storage::remove_checkpoint(*database, 4); }),
               ContainsSubstring("4"));
  }
}

TEST_CASE("30,000 small entries are written and read in seconds") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  TestState state = {{"model", {}}};
  for (std::size_t i = 0; i < 30'000; ++i) {
    state[0].entries.emplace_back(fmt::format("block.{}.bias", i), bytes_of(i, 64 + i % 448));
  }
  const auto start = std::chrono::steady_clock::now();
  commit(*database, state);
  CHECK(read_back(*database, 1) == state);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("entry names may be any bytes, and keep the order of the state dict") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  TestState state = {{"model", {}}};
  const std::vector<std::string> names = {"z",
                                          "",
                                          std::string("\0", 1),
                                          "a/b/c",
                                          "\xff\xfe",
                                          "Weight",
                                          "weight",
                                          "a",
                                          std::string(10'000, 'n'),
                                          "\xc3\xa4",
                                          std::string("a\0b", 3)};
  for (const std::string& name : names) state[0].entries.emplace_back(name, bytes_of(name.size(), 300));
  state[0].entries.emplace_back("value", Value(ValueList{1, 2.5, "x", nullptr}));
  state.push_back({"\xff object", {{"w", bytes_of(1, 10)}}});
  commit(*database, state);
  CHECK(read_back(*database, 1) == state);
  for (const std::string& name : names) {
    CHECK(storage::find_entry(*database, state_of(*database, 1, "model"), name).has_value());
  }
  CHECK(!storage::find_entry(*database, state_of(*database, 1, "model"), "absent").has_value());
}

TEST_CASE("what cannot be stored is refused before anything is written") {
  ScratchDatabase scratch;
  const auto files = std::make_shared<FaultyFileSystem>(scratch.path(), scratch.beside("saved"));
  storage::DatabaseOptions options = ScratchDatabase::small_chunks();
  options.file_system = files;
  const auto database = scratch.open(options);
  const Bytes bytes = bytes_of(1, 1000);
  files->reset_counts();
  const auto refused = [&](const storage::NewCheckpoint& checkpoint) {
    return message_of(ErrorCode::kInvalidArgument, [&] { storage::commit(*database, checkpoint, {}); });
  };
  CHECK_THAT(refused(checkpoint_of({{"", {}}})), ContainsSubstring("object"));
  refused(checkpoint_of({{"a/b", {}}}));
  refused(checkpoint_of({{std::string("a\0b", 3), {}}}));
  CHECK_THAT(refused(checkpoint_of({{"model", {}}, {"model", {}}})), ContainsSubstring("model"));
  CHECK_THAT(refused(checkpoint_of({{"model", {{"w", bytes}, {"w", bytes}}}})), ContainsSubstring("model/w"));
  CHECK_THAT(refused(checkpoint_of({{"model", {{std::string(70'000, 'x'), bytes}}}})), ContainsSubstring("model"));
  CHECK_THAT(refused(checkpoint_of({{"model", {{"v", Value(std::string(65u << 20, 'x'))}}}})),
             ContainsSubstring("model/v"));
  Value deep = 1;
  for (int i = 0; i < 100; ++i) deep = Value(ValueList{deep});
  refused(checkpoint_of({{"model", {{"v", deep}}}}));
  storage::NewCheckpoint wrong_size = checkpoint_of({{"model", {{"w", bytes}}}});
  std::get<storage::NewTensor>(wrong_size.objects[0].entries[0].payload).layout.sizes = {999};
  CHECK_THAT(refused(wrong_size), ContainsSubstring("model/w"));
  storage::NewCheckpoint orphan = checkpoint_of({});
  orphan.parent = 5;
  refused(orphan);
  CHECK(files->counts().changes == 0);
  CHECK(!storage::latest_checkpoint(*database));
}

TEST_CASE("metadata comes back bit by bit") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  storage::NewCheckpoint checkpoint = checkpoint_of({});
  checkpoint.metadata.set("min", std::numeric_limits<std::int64_t>::min());
  checkpoint.metadata.set("infinity", std::numeric_limits<double>::infinity());
  checkpoint.metadata.set("nan", std::numeric_limits<double>::quiet_NaN());
  checkpoint.metadata.set("bytes", std::string("\xff\0x", 3));
  checkpoint.metadata.set("nested", ValueMap{{"list", ValueList{1, 1.0, true, nullptr}}});
  storage::commit(*database, checkpoint, {});
  const auto read = storage::latest_checkpoint(*database)->row;
  CHECK(read.metadata.at("min") == checkpoint.metadata.at("min"));
  CHECK(read.metadata.at("infinity") == checkpoint.metadata.at("infinity"));
  CHECK(std::isnan(read.metadata.at("nan").as_double()));
  CHECK(read.metadata.at("bytes") == checkpoint.metadata.at("bytes"));
  CHECK(read.metadata.at("nested") == checkpoint.metadata.at("nested"));
  CHECK(read.created_at_us == checkpoint.created_at_us);
}

TEST_CASE("invariant 9: versions, states and segments grow and are never used again") {
  ScratchDatabase scratch;
  std::set<std::uint64_t> states;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    const auto database = scratch.open();
    const auto result = commit(*database, model_of(round, 2, round % 2 == 0 ? 300 : 20 * kSmallChunkSize));
    CHECK(result.info.version == round);
    CHECK(states.insert(state_of(*database, round, "model")).second);
    storage::remove_checkpoint(*database, round);
  }
  CHECK(commit(*scratch.open(), model_of(9, 1, 10)).info.version == 5);
}

TEST_CASE("invariant 4: a later create changes no row and no chunk of an earlier one") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const auto dump = [&] {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const storage::Family family :
         {storage::Family::kCheckpoint, storage::Family::kEntry, storage::Family::kDigest, storage::Family::kChunk,
          storage::Family::kSmallChunk}) {
      const std::unique_ptr<rocksdb::Iterator> row(
          database->handles().db().NewIterator(rocksdb::ReadOptions(), database->handles().family(family)));
      for (row->SeekToFirst(); row->Valid(); row->Next()) {
        rows.emplace_back(row->key().ToString(), row->value().ToString());
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  TestState state = model_of(1, 6, 5 * kSmallChunkSize);
  commit(*database, state);
  const auto before = dump();
  state[0].entries[0].second = bytes_of(99, 5 * kSmallChunkSize);
  commit(*database, state);
  commit(*database, model_of(2, 6, 5 * kSmallChunkSize));
  const auto after = dump();
  CHECK(after.size() > before.size());
  CHECK(std::includes(after.begin(), after.end(), before.begin(), before.end()));
}
