// A database in a directory of its own, and states whose bytes follow from numbers: what comes back can be compared
// whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cairn/error.h"
#include "storage/commit.h"
#include "storage/database.h"
#include "storage/verify.h"

namespace cairn::testing {

using Bytes = std::vector<std::byte>;

/// Bytes that follow from a seed; equal seeds give equal bytes, others differ in every chunk.
Bytes bytes_of(std::uint64_t seed, std::size_t size);

/// A state dict of byte tensors and plain values.
struct TestObject {
  std::string name;
  std::vector<std::pair<std::string, std::variant<Bytes, Value>>> entries;

  friend bool operator==(const TestObject&, const TestObject&) = default;
};
using TestState = std::vector<TestObject>;

/// One object "model" of so many tensors, which follow from the seed.
TestState model_of(std::uint64_t seed, std::size_t tensors, std::size_t bytes);

/// Points into the state.
storage::NewCheckpoint checkpoint_of(const TestState& state);
storage::CommitResult commit(storage::Database& database, const TestState& state,
                             const storage::CommitOptions& options = {});
/// Every digest is checked.
TestState read_back(const storage::Database& database, std::uint64_t version, unsigned threads = 1);

/// Lines of all problems; empty: there are none.
std::string problems_of(const storage::Database& database);

/// Raises a test failure unless the call ends with this code; returns the message.
std::string message_of(ErrorCode code, const std::function<void()>& call);

/// True when CAIRN_TEST_LONG=1 asks for the long forms.
bool is_long_run();

class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// Opens the database once more at the end and checks that verify finds nothing, unless damage was done on purpose.
class ScratchDatabase {
 public:
  ScratchDatabase() = default;
  ~ScratchDatabase();

  std::filesystem::path path() const { return directory_.path() / "run.cairn"; }
  std::filesystem::path beside(std::string_view name) const { return directory_.path() / name; }
  /// With chunks of 64 KiB, the least there can be.
  std::unique_ptr<storage::Database> open(storage::DatabaseOptions options = small_chunks()) const;
  std::unique_ptr<storage::Database> open_read_only() const;
  static storage::DatabaseOptions small_chunks();

  void expect_damage() { is_damaged_ = true; }

 private:
  ScratchDirectory directory_;
  bool is_damaged_ = false;
};

inline constexpr std::size_t kSmallChunkSize = 64 * 1024;

}  // namespace cairn::testing
