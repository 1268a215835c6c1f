// A full disk: told before a byte is written where it can be told, survived where it cannot.
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "storage/catalog.h"
#include "storage/faulty_file_system.h"
#include "storage/removal.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

}  // namespace

TEST_CASE("a create that does not fit is refused before a byte is written, and fits when there is space again") {
  ScratchDatabase scratch;
  const auto files = std::make_shared<FaultyFileSystem>(scratch.path(), scratch.beside("saved"));
  storage::DatabaseOptions options = ScratchDatabase::small_chunks();
  options.file_system = files;
  const auto database = scratch.open(options);
  const TestState first = model_of(1, 4, 10 * kSmallChunkSize);
  commit(*database, first);
  files->limit_space(30 * kMiB);
  files->reset_counts();
  const TestState large = model_of(2, 4, 5 * kMiB);
  const std::string message = message_of(ErrorCode::kOutOfSpace, [&] { commit(*database, large); });
  CHECK_THAT(message, Catch::Matchers::ContainsSubstring("free"));
  CHECK(files->counts().changes == 0);
  CHECK(read_back(*database, 1) == first);
  files->heal();
  CHECK(commit(*database, large).info.version == 2);
  CHECK(read_back(*database, 2) == large);
}

TEST_CASE("a disk that runs full while segments are written or taken in loses nothing, and the next create works") {
  const std::string part = GENERATE(as<std::string>{}, "staging/", "MANIFEST");
  ScratchDatabase scratch;
  const auto files = std::make_shared<FaultyFileSystem>(scratch.path(), scratch.beside("saved"));
  storage::DatabaseOptions options = ScratchDatabase::small_chunks();
  options.file_system = files;
  const auto database = scratch.open(options);
  const TestState first = model_of(1, 4, 10 * kSmallChunkSize);
  const TestState second = model_of(2, 4, 10 * kSmallChunkSize);
  commit(*database, first);
  files->fail_for_space(part);
  message_of(ErrorCode::kOutOfSpace, [&] { commit(*database, second); });
  CHECK(files->has_failed());
  CHECK(storage::latest_checkpoint(*database)->version == 1);
  CHECK(read_back(*database, 1) == first);
  files->heal();
  const std::uint64_t version = commit(*database, second).info.version;
  CHECK(version > 1);
  CHECK(read_back(*database, version) == second);
  CHECK(problems_of(*database) == "");
}

TEST_CASE("invariant 8: after a commit that failed every write is refused until the store is opened again") {
  ScratchDatabase scratch;
  const auto files = std::make_shared<FaultyFileSystem>(scratch.path(), scratch.beside("saved"));
  storage::DatabaseOptions options = ScratchDatabase::small_chunks();
  options.file_system = files;
  const TestState first = model_of(1, 4, 10 * kSmallChunkSize);
  {
    const auto database = scratch.open(options);
    commit(*database, first);
    files->fail_once_after(0);
    const std::string message = message_of(ErrorCode::kIo, [&] { commit(*database, model_of(2, 2, 100)); });
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring("unknown"));
    files->heal();
    message_of(ErrorCode::kFailed, [&] { commit(*database, model_of(3, 2, 100)); });
    message_of(ErrorCode::kFailed, [&] { commit(*database, model_of(3, 4, 10 * kSmallChunkSize)); });
    message_of(ErrorCode::kFailed, [&] { storage::remove_checkpoint(*database, 1); });
    CHECK(read_back(*database, 1) == first);
  }
  const auto database = scratch.open(options);
  CHECK(read_back(*database, 1) == first);
  CHECK(commit(*database, model_of(3, 2, 100)).info.version >= 2);
}

TEST_CASE("a real file system of 32 MiB that runs full", "[mount]") {
  ScratchDirectory directory;
  if (geteuid() != 0 || mount("cairn", directory.path().c_str(), "tmpfs", 0, "size=32m") != 0) {
    WARN("skipped: a file system cannot be mounted here");
    return;
  }
  struct Unmount {
    fs::path path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } unmount{directory.path()};
  const fs::path path = directory.path() / "run.cairn";
  storage::DatabaseOptions options = ScratchDatabase::small_chunks();
  {
    const auto database = storage::Database::open(path, options);
    std::uint64_t committed = 0;
    std::string message;
    while (committed < 40 && message.empty()) {
      try {
        commit(*database, model_of(committed + 1, 4, 8 * kSmallChunkSize));
        ++committed;
      } catch (const Error& error) {
        REQUIRE(error.code() == ErrorCode::kOutOfSpace);
        message = error.what();
      }
    }
    INFO(message);
    CHECK(committed >= 2);
    CHECK(committed < 40);
    // Small ones go on until the reserve is reached, and never end the process.
    std::uint64_t small = 0;
    while (small < 2000) {
      try {
        commit(*database, model_of(1000 + small, 4, 2 * kSmallChunkSize));
        ++small;
      } catch (const Error& error) {
        REQUIRE(error.code() == ErrorCode::kOutOfSpace);
        break;
      }
    }
    CHECK(small < 2000);
    for (std::uint64_t version = 1; version <= committed; ++version) {
      CHECK(read_back(*database, version) == model_of(version, 4, 8 * kSmallChunkSize));
    }
    // Someone else fills the rest: still no abort.
    {
      std::ofstream filler(directory.path() / "filler", std::ios::binary);
      const std::string block(64 * 1024, 'x');
      while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
      }
    }
    message_of(ErrorCode::kOutOfSpace, [&] { commit(*database, model_of(5000, 1, 10)); });
    message_of(ErrorCode::kOutOfSpace, [&] { storage::remove_checkpoint(*database, 1); });
    CHECK(read_back(*database, 1) == model_of(1, 4, 8 * kSmallChunkSize));
    fs::remove(directory.path() / "filler");
    REQUIRE(mount("cairn", directory.path().c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0);
    const std::uint64_t version = commit(*database, model_of(6000, 4, 8 * kSmallChunkSize)).info.version;
    CHECK(read_back(*database, version) == model_of(6000, 4, 8 * kSmallChunkSize));
  }
  {
    std::ofstream filler(directory.path() / "filler", std::ios::binary);
    const std::string block(64 * 1024, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  // Opening needs space too, and says so.
  message_of(ErrorCode::kOutOfSpace, [&] { storage::Database::open(path, options); });
  fs::remove(directory.path() / "filler");
  CHECK(problems_of(*storage::Database::open(path, options)) == "");
}
