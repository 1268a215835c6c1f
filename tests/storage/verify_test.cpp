// Damage of every kind: what a read says of it, and what verify says.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "format/keys.h"
#include "format/rows.h"
#include "storage/catalog.h"
#include "storage/chunk_reader.h"
#include "storage/families.h"
#include "storage/recovery.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::testing;
using Catch::Matchers::ContainsSubstring;
using storage::Family;

namespace {

/// Flips one bit of the file of the database that holds the first of these bytes: in them, or so many bytes before
/// them.
void flip_bit(const fs::path& directory, const Bytes& bytes, std::size_t before = 0) {
  const std::string wanted(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4096));
  for (const auto& entry : fs::directory_iterator(directory / "db")) {
    std::ostringstream stream;
    stream << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const std::string content = stream.str();
    const std::size_t place = content.find(wanted);
    if (place == std::string::npos) continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    const std::size_t damaged = before == 0 ? place + wanted.size() / 2 : place - before;
    file.seekp(static_cast<std::streamoff>(damaged));
    file.put(static_cast<char>(content[damaged] ^ 1));
    return;
  }
  FAIL("no file holds the bytes");
}

/// Writes behind the store's back.
void put(storage::Database& database, Family family, const std::string& key, const std::string& row) {
  const storage::Handles& handles = database.handles();
  REQUIRE(handles.db().Put(rocksdb::WriteOptions(), handles.family(family), key, row).ok());
}

void erase(storage::Database& database, Family family, const std::string& key) {
  const storage::Handles& handles = database.handles();
  REQUIRE(handles.db().Delete(rocksdb::WriteOptions(), handles.family(family), key).ok());
}

std::string get(storage::Database& database, Family family, const std::string& key) {
  const storage::Handles& handles = database.handles();
  std::string row;
  REQUIRE(handles.db().Get(rocksdb::ReadOptions(), handles.family(family), key, &row).ok());
  return row;
}

bool has_problem(const storage::Database& database, unsigned invariant, std::string_view text) {
  for (const storage::VerifyProblem& problem : storage::verify(database, 1, {}).problems) {
    if (problem.invariant == invariant && problem.message.find(text) != std::string::npos) return true;
  }
  UNSCOPED_INFO(problems_of(database));
  return false;
}

}  // namespace

TEST_CASE("verify counts what there is and tells how far it is") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  commit(*database, model_of(1, 4, 5 * kSmallChunkSize));
  commit(*database, model_of(2, 2, 100));
  std::uint64_t last = 1;
  std::uint64_t total = 0;
  const auto result = storage::verify(*database, 2, [&](std::uint64_t done, std::uint64_t all) {
    last = done;
    total = all;
  });
  CHECK(result.problems.empty());
  CHECK(result.checkpoint_count == 2);
  CHECK(result.entry_count == 6);
  CHECK(result.chunk_count == 20);
  CHECK(result.chunk_bytes == 20 * kSmallChunkSize);
  CHECK(last == total);
  CHECK(total == result.chunk_bytes);
}

TEST_CASE("a flipped bit in a chunk is named by reads and verify, and spares all other entries") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  const bool is_large = GENERATE(true, false);
  const std::size_t size = is_large ? 20 * kSmallChunkSize : 3 * kSmallChunkSize;
  TestState state = model_of(1, 3, size);
  commit(*scratch.open(), state);
  scratch.open();  // what the log held is in a table now
  flip_bit(scratch.path(), std::get<Bytes>(state[0].entries[1].second));
  const auto database = scratch.open();
  const std::string message = message_of(ErrorCode::kCorruption, [&] { read_back(*database, 1, 2); });
  CHECK_THAT(message, ContainsSubstring("model/layer.1.weight") && ContainsSubstring("chunk"));
  CHECK(has_problem(*database, 4, "layer.1.weight"));
  CHECK(storage::verify(*database, 2, {}).problems.size() == 1);

  const auto checkpoint = storage::latest_checkpoint(*database);
  for (const std::size_t index : {0u, 2u}) {
    const std::string name = state[0].entries[index].first;
    const auto entry = storage::find_entry(*database, checkpoint->row.objects[0].state, name);
    REQUIRE(entry);
    Bytes bytes(size);
    std::vector<storage::ChunkRead> reads;
    storage::plan_reads(std::get<format::TensorRow>(entry->payload), database->chunk_size(), bytes.data(), nullptr,
                        name, reads);
    storage::read_chunks(*database, std::move(reads), {});
    CHECK(bytes == std::get<Bytes>(state[0].entries[index].second));
  }
}

TEST_CASE("damage in what RocksDB keeps beside a payload is an error of a check, not the end of the process") {
  // Without block checksums these bytes run into assertions: they are key, lengths and sequence number.
  for (const std::size_t before : {1u, 2u, 8u, 9u, 16u, 17u, 18u, 20u, 21u}) {
    ScratchDatabase scratch;
    scratch.expect_damage();
    const Bytes tensor = bytes_of(1, 20 * kSmallChunkSize);
    commit(*scratch.open(), {{"model", {{"w", tensor}}}});
    flip_bit(scratch.path(), tensor, before);
    const auto database = scratch.open();
    INFO(before << " bytes before the payload");
    CHECK(has_problem(*database, 4, "model/w"));
    const auto checkpoint = storage::latest_checkpoint(*database);
    const auto entry = storage::find_entry(*database, checkpoint->row.objects[0].state, "w");
    Bytes bytes(tensor.size());
    std::vector<storage::ChunkRead> reads;
    storage::plan_reads(std::get<format::TensorRow>(entry->payload), database->chunk_size(), bytes.data(), nullptr,
                        "model/w", reads);
    storage::ReadOptions options;
    options.check = storage::DigestCheck::kOnly;
    const std::string message =
        message_of(ErrorCode::kCorruption, [&] { storage::read_chunks(*database, reads, options); });
    CHECK_THAT(message, ContainsSubstring("model/w"));
  }
}

TEST_CASE("every bad chunk is counted and the first is named") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  TestState state = model_of(1, 4, 10 * kSmallChunkSize);
  commit(*scratch.open(), state);
  for (const std::size_t index : {3u, 1u}) flip_bit(scratch.path(), std::get<Bytes>(state[0].entries[index].second));
  const auto database = scratch.open();
  CHECK_THAT(message_of(ErrorCode::kCorruption, [&] { read_back(*database, 1, 2); }),
             ContainsSubstring("layer.1.weight") && ContainsSubstring("2 chunks"));
  CHECK(storage::verify(*database, 2, {}).problems.size() == 2);
}

TEST_CASE("a flipped bit in an entry row is reported") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  TestState state = model_of(1, 3, 200);
  commit(*scratch.open(), state);
  scratch.open();
  flip_bit(scratch.path(), std::get<Bytes>(state[0].entries[1].second));
  try {
    const auto database = scratch.open();
    message_of(ErrorCode::kCorruption, [&] { read_back(*database, 1); });
    CHECK(problems_of(*database) != "");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kCorruption);
  }
}

TEST_CASE("invariant 1: verify finds missing, extra and foreign entry rows") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  const auto database = scratch.open();
  commit(*database, model_of(1, 3, 100));
  const std::uint64_t state = storage::latest_checkpoint(*database)->row.objects[0].state;
  const std::string key = format::entry_key(state, "layer.1.weight");
  const std::string row = get(*database, Family::kEntry, key);
  SECTION("missing") {
    erase(*database, Family::kEntry, key);
    CHECK(has_problem(*database, 1, "expected 3"));
    message_of(ErrorCode::kCorruption, [&] { read_back(*database, 1); });
  }
  SECTION("extra") {
    put(*database, Family::kEntry, format::entry_key(state, "stranger"), row);
    CHECK(has_problem(*database, 1, "found 4"));
    message_of(ErrorCode::kCorruption, [&] { read_back(*database, 1); });
  }
  SECTION("of no checkpoint") {
    put(*database, Family::kEntry, format::entry_key(state + 1, "stranger"), row);
    CHECK(has_problem(*database, 1, "stranger"));
  }
  SECTION("a checkpoint row that is garbage does not stop it") {
    put(*database, Family::kCheckpoint, format::number_key(1), "garbage");
    CHECK(has_problem(*database, 1, ""));
    message_of(ErrorCode::kCorruption, [&] { storage::latest_checkpoint(*database); });
  }
  SECTION("keys of the wrong length") {
    put(*database, Family::kCheckpoint, "abc", row);
    put(*database, Family::kEntry, "abc", row);
    put(*database, Family::kDigest, "abc", row);
    CHECK(storage::verify(*database, 1, {}).problems.size() == 3);
  }
}

TEST_CASE("invariant 4: verify finds a row that is not the one committed") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  const auto database = scratch.open();
  commit(*database, model_of(1, 3, 100));
  const std::uint64_t state = storage::latest_checkpoint(*database)->row.objects[0].state;
  format::EntryRow row = *storage::find_entry(*database, state, "layer.1.weight");
  std::get<format::TensorRow>(row.payload).inline_bytes[0] ^= std::byte{1};
  put(*database, Family::kEntry, format::entry_key(state, "layer.1.weight"), format::encode(row));
  CHECK(has_problem(*database, 4, "model"));
}

TEST_CASE("invariant 3: verify finds an entry whose chunk is missing, and a read names it") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  const auto database = scratch.open();
  const bool is_large = GENERATE(true, false);
  commit(*database, model_of(1, 3, is_large ? 20 * kSmallChunkSize : kSmallChunkSize));
  if (is_large) {
    CHECK(storage::drop_segments_from(database->handles(), 1) == 1);
  } else {
    erase(*database, Family::kSmallChunk, format::number_key(format::small_chunk_id(1, 1)));
  }
  CHECK(has_problem(*database, 3, "missing"));
  CHECK_THAT(message_of(ErrorCode::kCorruption, [&] { read_back(*database, 1); }), ContainsSubstring("missing"));
  const auto reader = scratch.open_read_only();
  CHECK_THAT(message_of(ErrorCode::kCorruption, [&] { read_back(*reader, 1); }), ContainsSubstring("missing"));
}

TEST_CASE("invariant 5: verify finds a digest row that leads nowhere or to another chunk") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  const auto database = scratch.open();
  const TestState state = model_of(1, 2, kSmallChunkSize);
  commit(*database, state);
  const format::Digest absent{1, 2};
  const std::uint64_t chunk = format::small_chunk_id(1, 0);
  put(*database, Family::kDigest, format::digest_key(absent),
      format::encode_digest_row({format::small_chunk_id(1, 9), 7}));
  CHECK(has_problem(*database, 5, "missing"));
  put(*database, Family::kDigest, format::digest_key(absent), format::encode_digest_row({chunk, kSmallChunkSize}));
  CHECK(has_problem(*database, 5, "layer.0.weight"));
  put(*database, Family::kDigest, format::digest_key(absent), "short");
  CHECK(has_problem(*database, 5, ""));
}

TEST_CASE("invariant 9: verify finds counters that are behind what is in use") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  const auto database = scratch.open();
  commit(*database, model_of(1, 2, kSmallChunkSize));
  format::StoreHeader header = format::decode_header(get(*database, Family::kDefault, "header"));
  const format::StoreHeader good = header;
  const auto with = [&](const format::StoreHeader& bad) {
    put(*database, Family::kDefault, "header", format::encode(bad));
    return has_problem(*database, 9, "");
  };
  header.next_version = 1;
  CHECK(with(header));
  header = good;
  header.next_state = 1;
  CHECK(with(header));
  header = good;
  header.next_segment = 1;
  CHECK(with(header));
}
