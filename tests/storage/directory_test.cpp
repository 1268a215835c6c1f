// Opening: what is a store and what is not, who may write, and what a reader sees.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "format/store_file.h"
#include "storage/catalog.h"
#include "storage/removal.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

void write_file(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Names, sizes and contents of everything below a directory.
std::string picture_of(const fs::path& directory) {
  std::vector<std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    lines.push_back(entry.path().string() + " " + (entry.is_regular_file() ? read_file(entry.path()) : "directory"));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// 0 when the store could be opened for writing, else 1 + the error's code.
int try_to_write(const fs::path& path) {
  try {
    commit(*storage::Database::open(path, ScratchDatabase::small_chunks()), model_of(7, 1, 10));
    return 0;
  } catch (const Error& error) {
    return 1 + static_cast<int>(error.code());
  }
}

constexpr int kIsBusy = 1 + static_cast<int>(ErrorCode::kBusy);

/// Starts this program anew for one hidden case: a fork alone has none of the threads RocksDB counts on.
pid_t start_child(const char* test_case, const fs::path& path) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("CAIRN_TEST_STORE", path.c_str(), 1);
    execl("/proc/self/exe", "storage_tests", test_case, static_cast<char*>(nullptr));
    _exit(98);
  }
  return child;
}

int result_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

int write_in_child(const fs::path& path) { return result_of(start_child("child that writes", path)); }

/// Runs in a fork, which ends with the number returned. Reads, and refusals that come before RocksDB is opened, only.
int in_fork(const std::function<int()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int result = 99;
    try {
      result = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(result);
  }
  return result_of(child);
}

}  // namespace

TEST_CASE("child that writes", "[.child]") {
  const char* path = std::getenv("CAIRN_TEST_STORE");
  if (path != nullptr) _exit(try_to_write(path));
}

TEST_CASE("child that is told who writes", "[.child]") {
  const char* path = std::getenv("CAIRN_TEST_STORE");
  if (path == nullptr) return;
  try {
    storage::Database::open(path, {});
  } catch (const Error& error) {
    const bool is_named = std::string(error.what()).find(fmt::format("process {}", getppid())) != std::string::npos;
    _exit(error.code() == ErrorCode::kBusy && is_named ? 0 : 1);
  }
  _exit(2);
}

TEST_CASE("a store is created with its parent directories, and keeps its chunk size and id") {
  ScratchDatabase scratch;
  const fs::path deep = scratch.beside("a") / "b" / "run.cairn";
  std::string id;
  {
    const auto database = storage::Database::open(deep, ScratchDatabase::small_chunks());
    id = database->id();
    CHECK(id.size() == 32);
    CHECK(database->chunk_size() == kSmallChunkSize);
    CHECK(database->free_bytes() > 0);
  }
  storage::DatabaseOptions other;
  other.chunk_size = 2u << 20;
  const auto database = storage::Database::open(deep, other);
  CHECK(database->id() == id);
  CHECK(database->chunk_size() == kSmallChunkSize);
  CHECK(problems_of(*database) == "");
}

TEST_CASE("a relative path, a path with a slash at its end and one through a link name the same store") {
  ScratchDatabase scratch;
  const fs::path before = fs::current_path();
  scratch.open();
  fs::current_path(scratch.path().parent_path());
  {
    const auto database = storage::Database::open("run.cairn/", {});
    fs::current_path("/");
    CHECK(commit(*database, model_of(1, 3, 10 * kSmallChunkSize)).info.version == 1);
    fs::create_directory_symlink(scratch.path(), scratch.beside("link"));
    message_of(ErrorCode::kBusy, [&] { storage::Database::open(scratch.beside("link"), {}); });
    message_of(ErrorCode::kBusy, [&] { storage::Database::open(scratch.path(), {}); });
    CHECK(write_in_child(scratch.beside("link")) == kIsBusy);
  }
  fs::current_path(before);
}

TEST_CASE("what is not a store is refused and not touched") {
  ScratchDatabase scratch;
  const auto refused = [&](const fs::path& path, ErrorCode code = ErrorCode::kInvalidArgument) {
    const std::string before = picture_of(scratch.path().parent_path());
    const std::string message = message_of(code, [&] { storage::Database::open(path, {}); });
    storage::DatabaseOptions reading;
    reading.mode = storage::OpenMode::kReadOnly;
    message_of(code, [&] { storage::Database::open(path, reading); });
    CHECK(picture_of(scratch.path().parent_path()) == before);
    return message;
  };
  write_file(scratch.beside("file"), "hello");
  CHECK_THAT(refused(scratch.beside("file")), ContainsSubstring("file"));
  fs::create_directory(scratch.beside("photos"));
  write_file(scratch.beside("photos") / "cat.jpg", "meow");
  CHECK_THAT(refused(scratch.beside("photos")), ContainsSubstring("cat.jpg"));
  write_file(scratch.beside("photos") / "CAIRN", "a poem about stones");
  refused(scratch.beside("photos"));
  refused("");
  refused(fs::path(std::string("a\0b", 3)));
  storage::DatabaseOptions bad;
  bad.chunk_size = 100'000;
  message_of(ErrorCode::kInvalidArgument, [&] { scratch.open(bad); });
  CHECK(!fs::exists(scratch.path()));
}

TEST_CASE("a store of a newer format is refused, naming both versions, and not touched") {
  ScratchDatabase scratch;
  scratch.open();
  const std::string text = read_file(scratch.path() / "CAIRN");
  format::StoreFile file = format::decode_store_file(text);
  const auto rewrite = [&](std::uint32_t version, std::uint32_t reader) {
    std::string changed = text;
    changed.replace(changed.find("format 1"), 8, fmt::format("format {}", version));
    changed.replace(changed.find("reader 1"), 8, fmt::format("reader {}", reader));
    write_file(scratch.path() / "CAIRN", changed);
  };
  rewrite(2, 2);
  const std::string before = picture_of(scratch.path());
  const std::string message = message_of(ErrorCode::kUnsupportedVersion, [&] { scratch.open(); });
  CHECK_THAT(message, ContainsSubstring("1") && ContainsSubstring("2"));
  message_of(ErrorCode::kUnsupportedVersion, [&] { scratch.open_read_only(); });
  CHECK(picture_of(scratch.path()) == before);

  // A newer format that older readers may read is read, and not written.
  rewrite(2, 1);
  const std::string readable = picture_of(scratch.path());
  message_of(ErrorCode::kUnsupportedVersion, [&] { scratch.open(); });
  CHECK(!storage::latest_checkpoint(*scratch.open_read_only()));
  CHECK(picture_of(scratch.path()) == readable);
  write_file(scratch.path() / "CAIRN", text);
}

TEST_CASE("a damaged store is not taken for a new one") {
  ScratchDatabase scratch;
  commit(*scratch.open(), model_of(1, 1, 1000));
  SECTION("its database is gone") {
    fs::rename(scratch.path() / "db", scratch.beside("db"));
    CHECK_THAT(message_of(ErrorCode::kCorruption, [&] { scratch.open(); }), ContainsSubstring("db"));
    message_of(ErrorCode::kCorruption, [&] { scratch.open_read_only(); });
    CHECK(!fs::exists(scratch.path() / "db"));
    fs::rename(scratch.beside("db"), scratch.path() / "db");
  }
  SECTION("its file CAIRN is gone") {
    fs::rename(scratch.path() / "CAIRN", scratch.beside("CAIRN"));
    message_of(ErrorCode::kInvalidArgument, [&] { scratch.open(); });
    fs::rename(scratch.beside("CAIRN"), scratch.path() / "CAIRN");
  }
  SECTION("its file CAIRN is cut short") {
    const std::string text = read_file(scratch.path() / "CAIRN");
    for (std::size_t size = 0; size + 1 < text.size(); ++size) {
      write_file(scratch.path() / "CAIRN", text.substr(0, size));
      CHECK_THROWS_AS(scratch.open(), Error);
    }
    write_file(scratch.path() / "CAIRN", text);
  }
  CHECK(read_back(*scratch.open(), 1) == model_of(1, 1, 1000));
}

TEST_CASE("a reader of nothing is told so, and creates nothing") {
  ScratchDatabase scratch;
  message_of(ErrorCode::kNotFound, [&] { scratch.open_read_only(); });
  CHECK(!fs::exists(scratch.path()));
  fs::create_directory(scratch.path());
  message_of(ErrorCode::kNotFound, [&] { scratch.open_read_only(); });
  CHECK(fs::is_empty(scratch.path()));
  // A creation that was cut short.
  format::StoreFile file{1, 1, std::string(32, 'a'), false};
  write_file(scratch.path() / "CAIRN", format::encode(file));
  fs::create_directory(scratch.path() / "db");
  write_file(scratch.path() / "db" / "CURRENT", "garbage");
  CHECK_THAT(message_of(ErrorCode::kNotFound, [&] { scratch.open_read_only(); }), ContainsSubstring("no checkpoint"));
  CHECK(commit(*scratch.open(), model_of(1, 1, 1000)).info.version == 1);
}

TEST_CASE("a second writer is refused and the first one's lock survives") {
  ScratchDatabase scratch;
  auto database = scratch.open();
  for (int round = 0; round < 2; ++round) {
    CHECK_THAT(message_of(ErrorCode::kBusy, [&] { scratch.open(); }), ContainsSubstring(fmt::format("{}", getpid())));
  }
  // The first one's lock would have fallen with any descriptor of the lock's file (facebook/rocksdb#1780).
  CHECK(write_in_child(scratch.path()) == kIsBusy);
  CHECK(result_of(start_child("child that is told who writes", scratch.path())) == 0);
  CHECK(commit(*database, model_of(1, 2, 1000)).info.version == 1);
  database.reset();
  CHECK(write_in_child(scratch.path()) == 0);
  CHECK(storage::latest_checkpoint(*scratch.open())->version == 2);
}

TEST_CASE("processes that create one store at the same time end with one store") {
  ScratchDatabase scratch;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) children.push_back(start_child("child that writes", scratch.path()));
  std::uint64_t committed = 0;
  for (const pid_t child : children) {
    const int result = result_of(child);
    CHECK((result == 0 || result == kIsBusy));
    if (result == 0) ++committed;
  }
  CHECK(committed >= 1);
  CHECK(storage::all_checkpoints(*scratch.open()).size() == committed);
}

TEST_CASE("a directory that may not be written can be read by a user without rights") {
#if defined(__SANITIZE_THREAD__)
  WARN("skipped: ThreadSanitizer cannot follow threads that are started after a fork");
  return;
#endif
  if (geteuid() != 0) {
    WARN("skipped: only root can become another user");
    return;
  }
  ScratchDatabase scratch;
  const TestState state = model_of(1, 3, 10 * kSmallChunkSize);
  commit(*scratch.open(), state);
  fs::permissions(scratch.path().parent_path(), fs::perms(0755));
  const auto as_nobody = [](const std::function<int()>& body) {
    return in_fork([&] { return setgid(65534) != 0 || setuid(65534) != 0 ? 98 : body(); });
  };
  const std::string before = picture_of(scratch.path());
  CHECK(as_nobody([&] { return read_back(*scratch.open_read_only(), 1) == state ? 0 : 1; }) == 0);
  CHECK(picture_of(scratch.path()) == before);
  CHECK(as_nobody([&] { return try_to_write(scratch.path()); }) == 1 + static_cast<int>(ErrorCode::kIo));
  CHECK(as_nobody([&] { return try_to_write(scratch.beside("new.cairn")); }) == 1 + static_cast<int>(ErrorCode::kIo));
  CHECK(picture_of(scratch.path()) == before);
  // One that may not even be listed is neither empty nor absent.
  fs::permissions(scratch.path(), fs::perms(0700));
  CHECK(as_nobody([&] {
          try {
            scratch.open_read_only();
          } catch (const Error& error) {
            return error.code() == ErrorCode::kIo ? 0 : 1 + static_cast<int>(error.code());
          }
          return 97;
        }) == 0);
  fs::permissions(scratch.path(), fs::perms(0755));
}

TEST_CASE("a reader beside a live writer sees whole checkpoints, and new ones when it catches up") {
  ScratchDatabase scratch;
  const auto writer = scratch.open();
  commit(*writer, model_of(1, 4, 6 * kSmallChunkSize));
  const auto reader = scratch.open_read_only();
  CHECK(reader->is_read_only());
  CHECK(read_back(*reader, 1) == model_of(1, 4, 6 * kSmallChunkSize));
  message_of(ErrorCode::kInvalidArgument, [&] { commit(*reader, model_of(1, 1, 10)); });
  message_of(ErrorCode::kInvalidArgument, [&] { storage::remove_checkpoint(*reader, 1); });

  commit(*writer, model_of(2, 4, 6 * kSmallChunkSize));
  CHECK(storage::latest_checkpoint(*reader)->version == 1);
  reader->catch_up();
  CHECK(storage::latest_checkpoint(*reader)->version == 2);
  CHECK(read_back(*reader, 2) == model_of(2, 4, 6 * kSmallChunkSize));
  CHECK(problems_of(*reader) == "");

  // What a reader has open stays readable when the writer removes it.
  storage::remove_checkpoint(*writer, 1);
  CHECK(read_back(*reader, 1) == model_of(1, 4, 6 * kSmallChunkSize));
}

TEST_CASE("readers that open while a writer commits read what they see") {
  ScratchDatabase scratch;
  const int rounds = is_long_run() ? 300 : 25;
  {
    const auto database = scratch.open();
    commit(*database, model_of(0, 3, 8 * kSmallChunkSize));
  }
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    const auto database = scratch.open();
    for (std::uint64_t seed = 1; !is_over; ++seed) {
      commit(*database, model_of(seed, 3, (seed % 2 == 0 ? 1 : 8) * kSmallChunkSize));
      if (seed > 3) storage::remove_checkpoint(*database, seed - 2);
    }
  });
  std::string failure;
  for (int round = 0; round < rounds && failure.empty(); ++round) {
    try {
      const auto reader = scratch.open_read_only();
      const auto latest = storage::latest_checkpoint(*reader);
      const std::uint64_t version = latest ? latest->version : 0;
      // The first checkpoint was committed before any reader opened.
      if (version == 0) throw std::runtime_error("a reader sees nothing");
      const std::uint64_t seed = version - 1;
      if (read_back(*reader, version) != model_of(seed, 3, (seed % 2 == 0 && seed != 0 ? 1 : 8) * kSmallChunkSize)) {
        failure = fmt::format("version {} reads wrong", version);
      }
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }
  is_over = true;
  writer.join();
  CHECK(failure == "");
}

TEST_CASE("a log that was cut short opens, and what was committed before is whole") {
  for (const std::size_t cut : {std::size_t{1}, std::size_t{7}, std::size_t{33}, std::size_t{64}}) {
    ScratchDatabase scratch;
    const TestState first = model_of(1, 4, 6 * kSmallChunkSize);
    {
      const auto database = scratch.open();
      commit(*database, first);
      commit(*database, model_of(2, 4, 300));
    }
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(scratch.path() / "db")) {
      if (entry.path().extension() == ".log" && (newest.empty() || entry.path() > newest)) newest = entry.path();
    }
    REQUIRE(fs::file_size(newest) > cut);
    fs::resize_file(newest, fs::file_size(newest) - cut);
    const auto database = scratch.open();
    CHECK(read_back(*database, 1) == first);
    CHECK(!storage::find_checkpoint(*database, 2));
    CHECK(commit(*database, model_of(3, 1, 1000)).info.version == 2);
  }
}

TEST_CASE("a path through a link leads where the system would go") {
  ScratchDirectory directory;
  fs::create_directories(directory.path() / "runs" / "deep");
  fs::create_directory_symlink(directory.path() / "runs" / "deep", directory.path() / "link");
  const fs::path plain = directory.path() / "runs" / "run.cairn";
  commit(*storage::Database::open(plain, ScratchDatabase::small_chunks()), model_of(1, 1, 10));
  const fs::path through = directory.path() / "link" / ".." / "run.cairn";
  CHECK(read_back(*storage::Database::open(through, ScratchDatabase::small_chunks()), 1) == model_of(1, 1, 10));
  CHECK_FALSE(fs::exists(directory.path() / "run.cairn"));
}
