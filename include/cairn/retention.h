// Which checkpoints a store keeps, and giving back the space of the others.
//
//   auto policy = cairn::RetentionPolicy().keep_last(5).keep_best("val_loss", cairn::Goal::kMin, 3).keep_every(10'000);
//   store.prune(policy);
//   store.gc();
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/checkpoint_info.h"
#include "cairn/progress.h"

namespace cairn {

enum class Goal { kMin, kMax };

/// Rules, each of which keeps some checkpoints: what any of them keeps stays. The newest checkpoint and tagged ones
/// always stay. A policy without a rule is refused, rather than taken for "keep nothing".
struct RetentionPolicy {
  struct Best {
    std::string metric;
    Goal goal = Goal::kMin;
    std::uint64_t count = 1;
  };

  /// Keeps the newest so many. Refused when 0, as all numbers below.
  std::optional<std::uint64_t> last{};
  /// Keeps the first checkpoint of every so many steps: with 1000, the one with the lowest `step` from 0 on, from 1000
  /// on, and so forth; of equal ones the newest. Goes by the metadata key `step`, an int or a double; a checkpoint
  /// without it, or with something else there, is not kept by this rule.
  std::optional<std::int64_t> every{};
  /// Keeps the so many with the lowest, or highest, number under a metadata key, ints and doubles alike; of equal ones
  /// the newest. NaN is never best, and a checkpoint without the key, or with no number there, is no candidate.
  std::vector<Best> best{};
  /// Keeps nothing but what has a tag (and the newest) when it is the only rule.
  bool tagged = false;
  /// Keeps what was created within this time before now.
  std::optional<std::chrono::microseconds> newer_than{};
  /// Keeps as many of the newest as fit: chunks and rows of all that is kept, shared ones counted once. What the other
  /// rules keep counts first, and stays also when it is more.
  std::optional<std::uint64_t> budget_bytes{};

  RetentionPolicy& keep_last(std::uint64_t count) { return last = count, *this; }
  RetentionPolicy& keep_every(std::int64_t steps) { return every = steps, *this; }
  RetentionPolicy& keep_best(std::string metric, Goal goal, std::uint64_t count = 1) {
    return best.push_back({std::move(metric), goal, count}), *this;
  }
  RetentionPolicy& keep_tagged() { return tagged = true, *this; }
  RetentionPolicy& keep_newer_than(std::chrono::microseconds age) { return newer_than = age, *this; }
  RetentionPolicy& keep_within(std::uint64_t bytes) { return budget_bytes = bytes, *this; }

  /// True when there is no rule.
  bool empty() const noexcept { return !last && !every && best.empty() && !tagged && !newer_than && !budget_bytes; }
};

struct PruneOptions {
  /// Remove nothing, and say what would go. Works on a read-only store. Default: false.
  bool dry_run = false;
};

struct PruneReport {
  std::vector<CheckpointInfo> removed{};       ///< Oldest first; with dry_run, what would go.
  std::vector<std::uint64_t> kept{};           ///< Versions that stay, oldest first; the pinned ones among them.
  std::vector<std::uint64_t> pinned{};         ///< Stay only because this process holds a Checkpoint of them.
  std::optional<std::uint64_t> freed_bytes{};  ///< With dry_run: chunks and rows that only what would go refers to.
};

struct GcOptions {
  /// Bytes of the files and rows that are looked after.
  Progress progress{};
};

struct GcReport {
  std::uint64_t freed_bytes = 0;  ///< By which the database's files became smaller.
  std::uint64_t bytes = 0;        ///< Of the database's files now.
  std::uint64_t live_chunks = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t removed_chunks = 0;
  std::uint64_t removed_digest_rows = 0;
  std::uint64_t dropped_segments = 0;  ///< Files that went whole.
  std::uint64_t rewritten_segments =
      0;                               ///< Files that were written anew, without what was dead or together with others.
  std::uint64_t skipped_segments = 0;  ///< Files that deserved it, but there was no room; the log says why.
};

/// Where the bytes of the objects of one name are, over all checkpoints.
struct ObjectUsage {
  std::string name{};
  std::uint64_t checkpoint_count = 0;
  std::uint64_t logical_bytes = 0;  ///< Tensor bytes of all checkpoints, as if nothing were shared.
  std::uint64_t stored_bytes = 0;   ///< Chunks and rows, each counted once.
  std::uint64_t own_bytes = 0;      ///< Of these, what no object of another name refers to.
};

struct CheckpointUsage {
  std::uint64_t version = 0;
  std::uint64_t logical_bytes = 0;
  std::uint64_t own_bytes = 0;  ///< Chunks and rows no other checkpoint refers to: what removing it alone would free.
};

struct UsageReport {
  std::vector<ObjectUsage> objects{};          ///< By name.
  std::vector<CheckpointUsage> checkpoints{};  ///< Oldest first.
  std::uint64_t logical_bytes = 0;
  std::uint64_t live_bytes = 0;     ///< Chunks and entry rows that checkpoints refer to.
  std::uint64_t garbage_bytes = 0;  ///< Chunks that no checkpoint refers to: what a collection can free.
  std::uint64_t disk_bytes = 0;     ///< Of the database's files.
};

}  // namespace cairn
