// What Store and Checkpoint handles share: the open database, the pins, and the line of descent.
//
// Handles keep it alive by shared_ptr, so a checkpoint stays readable when its Store object is gone. Threads: all
// methods may be called at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "cairn/checkpoint_info.h"
#include "cairn/options.h"
#include "pending_commit.h"
#include "cairn/retention.h"
#include "storage/catalog.h"
#include "storage/database.h"

namespace cairn {
struct Created;  // cairn/created.h
}

namespace cairn::detail {

class StoreCore;
struct PinnedCheckpoint;

/// Store::prune (retention.cpp).
PruneReport prune(StoreCore& core, const RetentionPolicy& policy, const PruneOptions& options);

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
  /// Removes all of them in one step but those that a handle pins, which are returned, ascending. `lock` is taken
  /// before the pins are looked at, so that nobody waits for a pin longer than a removal takes.
  std::vector<std::uint64_t> remove_unpinned(storage::WriteLock& lock, std::vector<std::uint64_t> versions);

  bool is_pinned(std::uint64_t version) const;

  /// What is due after a commit: retention, collection, few files. Raises nothing: failures are logged; that of
  /// retention is also told in `created`.
  void keep_in_bounds(Created& created) noexcept;

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
  std::optional<RetentionPolicy> retention_;
  bool collects_ = true;
  std::atomic<std::uint64_t> removed_since_collection_{0};

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
