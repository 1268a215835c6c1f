// Logs of RocksDB that a crash cut short, and logs that rotted: the first are whole as far as they go, the second lose
// commits.
#include <fstream>
#include <sstream>

#include "storage/catalog.h"
#include "storage/log_check.h"
#include "storage/recovery.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string contents_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// The largest log of a closed database: the one with its commits.
fs::path log_of(const fs::path& store) {
  fs::path largest;
  for (const auto& entry : fs::directory_iterator(store / "db")) {
    if (entry.path().extension() != ".log") continue;
    if (largest.empty() || entry.file_size() > fs::file_size(largest)) largest = entry.path();
  }
  REQUIRE_FALSE(largest.empty());
  return largest;
}

void flip(const fs::path& path, std::size_t place) {
  std::string bytes = contents_of(path);
  bytes.at(place) = static_cast<char>(bytes[place] ^ 0x10);
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Versions 1 to 20, some of them longer than a block of the log.
void fill(storage::Database& database) {
  for (std::uint64_t i = 1; i <= 20; ++i) commit(database, model_of(i, 3, i % 3 == 0 ? 40'000 : 700));
}

}  // namespace

TEST_CASE("a log that is whole, or cut short anywhere, has not rotted", "[storage][log]") {
  ScratchDatabase scratch;
  fill(*scratch.open());
  const std::string log = contents_of(log_of(scratch.path()));
  REQUIRE(log.size() > 100'000);
  CHECK_FALSE(storage::rot_in_log(log));
  CHECK_FALSE(storage::rot_in_log(""));
  for (std::size_t size = 0; size < log.size(); size += 997) {
    CHECK_FALSE(storage::rot_in_log(std::string_view(log).substr(0, size)));
  }
  CHECK_FALSE(storage::rot_in_log(log + std::string(50'000, '\0')));
}

TEST_CASE("a flipped bit is found wherever a whole record lies behind it", "[storage][log]") {
  ScratchDatabase scratch;
  fill(*scratch.open());
  std::string log = contents_of(log_of(scratch.path()));
  for (std::size_t place = 0; place < log.size() / 2; place += 1009) {
    log[place] = static_cast<char>(log[place] ^ 4);
    const auto found = storage::rot_in_log(log);
    INFO("byte " << place);
    REQUIRE(found);
    CHECK(*found <= place);
    log[place] = static_cast<char>(log[place] ^ 4);
  }
}

TEST_CASE("a store whose log rotted is not opened for writing unless it is told to go on", "[storage][log]") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  fill(*scratch.open());
  const fs::path log = log_of(scratch.path());
  flip(log, fs::file_size(log) / 2);
  const std::string message = message_of(ErrorCode::kCorruption, [&] { scratch.open(); });
  CHECK_THAT(message, ContainsSubstring(log.filename().string()));
  CHECK_THAT(message, ContainsSubstring("drop_commits_behind_damage"));

  {
    const auto reader = scratch.open_read_only();
    const std::uint64_t newest = storage::latest_checkpoint(*reader)->version;
    CHECK(newest < 20);
    CHECK(read_back(*reader, newest) == model_of(newest, 3, newest % 3 == 0 ? 40'000 : 700));
    CHECK_THAT(problems_of(*reader), ContainsSubstring("commits lie behind it"));
  }

  std::string told;
  storage::DatabaseOptions options = ScratchDatabase::small_chunks();
  options.drop_commits_behind_damage = true;
  options.log = [&](storage::Severity, std::string_view line) { told += line; };
  const auto database = scratch.open(options);
  CHECK_THAT(told, ContainsSubstring("lost"));
  const std::uint64_t newest = storage::latest_checkpoint(*database)->version;
  CHECK(newest < 20);
  CHECK(commit(*database, model_of(99, 3, 700)).info.version == newest + 1);
  CHECK(problems_of(*database) == "");
}
