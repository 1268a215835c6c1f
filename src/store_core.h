// What Store and Checkpoint handles share: the open database, the pins, and the line of descent.
//
// Handles keep it alive by shared_ptr, so a checkpoint stays readable when its Store object is gone. Threads: all
// methods may be called at any time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "cairn/checkpoint_info.h"
#include "cairn/options.h"
#include "pending_commit.h"
#include "storage/catalog.h"
#include "storage/database.h"

namespace cairn::detail {

struct PinnedCheckpoint;

class StoreCore : public std::enable_shared_from_this<StoreCore> {
 public:
  static std::shared_ptr<StoreCore> open(const std::filesystem::path& path, StoreOptions options,
                                         storage::OpenMode mode);

  storage::Database& database() const noexcept { return *database_; }
  BackgroundCommits& background() noexcept { return background_; }
  void log(LogLevel level, std::string_view message) const;

  /// Handles for a version, pinned from before the look-up on; null when there is none.
  std::shared_ptr<const PinnedCheckpoint> pin(std::uint64_t version);
  std::shared_ptr<const PinnedCheckpoint> pin_latest();
  /// Errors: kBusy while a handle pins the version.
  void remove(std::uint64_t version);

  /// Version that the next checkpoint descends from: the one this handle created or applied last, else the newest
  /// committed; 0 for none.
  std::uint64_t parent() const;
  void set_parent(std::uint64_t version);

 private:
  friend struct PinnedCheckpoint;
  StoreCore() = default;
  std::shared_ptr<const PinnedCheckpoint> pin_locked(storage::StoredCheckpoint stored);
  void unpin(std::uint64_t version) noexcept;

  std::shared_ptr<const LogCallback> log_;  // null: standard error
  std::unique_ptr<storage::Database> database_;

  // Guarded by mutex_.
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> pins_;  // version -> handles
  std::uint64_t parent_ = 0;                     // 0: the newest

  BackgroundCommits background_;  // last: its end waits for a commit, which uses all of the above
};

/// A checkpoint that cannot be removed while this lives.
struct PinnedCheckpoint {
  std::shared_ptr<StoreCore> core;
  storage::StoredCheckpoint stored;
  CheckpointInfo info;

  PinnedCheckpoint(std::shared_ptr<StoreCore> store, storage::StoredCheckpoint checkpoint);
  ~PinnedCheckpoint();
  PinnedCheckpoint(const PinnedCheckpoint&) = delete;
  PinnedCheckpoint& operator=(const PinnedCheckpoint&) = delete;
};

}  // namespace cairn::detail
