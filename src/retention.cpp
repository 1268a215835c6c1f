// Store::prune, gc and usage, and what a commit is followed by: the store keeps itself in bounds.
#include "storage/retention.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "cairn/error.h"
#include "cairn/store.h"
#include "format/fail.h"
#include "storage/collection.h"
#include "storage/live_chunks.h"
#include "storage/removal.h"
#include "storage/tags.h"
#include "storage/usage.h"
#include "store_core.h"

namespace cairn {

namespace {

/// Looking for small files takes a millisecond in a large store, so not every commit does it.
constexpr std::uint64_t kCommitsPerMerging = 16;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::vector<bool> select_kept(const storage::Database& database, const RetentionPolicy& policy,
                              const std::vector<storage::StoredCheckpoint>& checkpoints) {
  std::unordered_set<std::uint64_t> is_tagged;
  for (const storage::StoredTag& tag : storage::all_tags(database)) is_tagged.insert(tag.version);
  std::vector<storage::RetentionCandidate> candidates;
  for (const storage::StoredCheckpoint& checkpoint : checkpoints) {
    candidates.push_back({checkpoint.version, checkpoint.row.created_at_us, &checkpoint.row.metadata,
                          is_tagged.count(checkpoint.version) != 0});
  }
  storage::ChunkSet chunks;
  std::unordered_set<std::uint64_t> states;
  return storage::kept_by(policy, candidates, now_us(), [&](std::size_t candidate) {
    std::uint64_t bytes = 0;
    for (const format::ObjectRow& object : checkpoints[candidate].row.objects) {
      if (states.insert(object.state).second) bytes += storage::add_state(database, object.state, chunks);
    }
    return bytes;
  });
}

PruneReport report_of(const std::vector<storage::StoredCheckpoint>& checkpoints, const std::vector<bool>& is_kept,
                      std::vector<std::uint64_t> pinned) {
  PruneReport report;
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    const std::uint64_t version = checkpoints[i].version;
    if (is_kept[i] || std::binary_search(pinned.begin(), pinned.end(), version)) {
      report.kept.push_back(version);
    } else {
      report.removed.push_back(checkpoints[i].info());
    }
  }
  report.pinned = std::move(pinned);
  return report;
}

}  // namespace

namespace detail {

PruneReport prune(StoreCore& core, const RetentionPolicy& policy, const PruneOptions& options) {
  storage::check_policy(policy);
  storage::Database& database = core.database();
  if (options.dry_run) {
    const std::vector<storage::StoredCheckpoint> checkpoints = storage::all_checkpoints(database);
    std::vector<bool> is_kept = select_kept(database, policy, checkpoints);
    std::vector<std::uint64_t> pinned;
    for (std::size_t i = 0; i < checkpoints.size(); ++i) {
      if (is_kept[i] || !core.is_pinned(checkpoints[i].version)) continue;
      pinned.push_back(checkpoints[i].version);
      is_kept[i] = true;
    }
    PruneReport report = report_of(checkpoints, is_kept, std::move(pinned));
    report.freed_bytes = storage::freed_bytes(database, checkpoints, is_kept);
    return report;
  }
  storage::WriteLock lock(database);
  const std::vector<storage::StoredCheckpoint> checkpoints = storage::all_checkpoints(database);
  const std::vector<bool> is_kept = select_kept(database, policy, checkpoints);
  std::vector<std::uint64_t> going;
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    if (!is_kept[i]) going.push_back(checkpoints[i].version);
  }
  return report_of(checkpoints, is_kept, core.remove_unpinned(lock, std::move(going)));
}

void StoreCore::keep_in_bounds(Created& created) noexcept {
  try {
    if (retention_) {
      const PruneReport report = prune(*this, *retention_, {});
      created.pruned_count = report.removed.size();
      removed_since_collection_ += report.removed.size();
      if (collects_ && removed_since_collection_ * 4 >= report.kept.size() && removed_since_collection_ != 0) {
        storage::CollectOptions options;
        options.waits = false;  // for a verify, which may take minutes
        if (storage::collect(*database_, options).is_done) removed_since_collection_ = 0;
      }
    }
  } catch (const std::exception& error) {
    created.retention_error = error.what();
    database_->log(storage::Severity::kWarning,
        fmt::format("checkpoint {} is committed, but retention failed: {}", created.version, error.what()));
  }
  if (created.version % kCommitsPerMerging != 0) return;
  try {
    storage::merge_small_files(*database_);
  } catch (const std::exception& error) {
    database_->log(storage::Severity::kWarning, fmt::format("small files stay apart: {}", error.what()));
  }
}

}  // namespace detail

PruneReport Store::prune(const RetentionPolicy& policy, const PruneOptions& options) {
  return detail::prune(*core_, policy, options);
}

GcReport Store::gc(const GcOptions& options) {
  storage::CollectOptions collect_options;
  collect_options.progress = options.progress;
  const storage::CollectResult result = storage::collect(core_->database(), collect_options);
  GcReport report;
  report.freed_bytes = result.bytes_before - std::min(result.bytes_before, result.bytes_after);
  report.bytes = result.bytes_after;
  report.live_chunks = result.live_chunks;
  report.live_bytes = result.live_bytes;
  report.removed_chunks = result.removed_chunks;
  report.removed_digest_rows = result.removed_digest_rows;
  report.dropped_segments = result.dropped_files;
  report.rewritten_segments = result.rewritten_files;
  report.skipped_segments = result.skipped_files;
  return report;
}

UsageReport Store::usage() const { return storage::usage(core_->database()); }

}  // namespace cairn
