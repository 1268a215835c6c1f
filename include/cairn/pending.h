// A checkpoint that is committed while training goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "cairn/created.h"

namespace cairn {

namespace detail {
class PendingCommit;  // src/pending_commit.h
}

/// Handle to a create in the background: cheap to copy, usable from any thread, also when its store is closed. Dropping
/// it drops nothing else: the commit goes on, and its error reaches the log and the next create.
class PendingCheckpoint {
 public:
  struct Progress {
    std::uint64_t done = 0;
    std::uint64_t total = 0;  ///< Bytes; 0 until the work has begun.
  };

  /// True once the commit has ended, well or not. Never waits.
  bool ready() const;
  /// Waits until the state has been taken: from then on its tensors may change. At once unless the create was
  /// kOverlapped. Errors: what ended the create before that.
  void wait_staged() const;
  /// Waits for the end. What it returns is durable, as after create_checkpoint. For a create that was skipped: all
  /// zero. Errors: those of create_checkpoint, at every call.
  Created wait() const;
  /// Version, once it is committed; empty before that, after an error, and for a create that was skipped.
  std::optional<std::uint64_t> version() const;
  Progress progress() const;
  /// True when another create was under way and CreateOptions::when_busy said kSkip: nothing was taken.
  bool skipped() const;

  /// For the library's own use.
  explicit PendingCheckpoint(std::shared_ptr<detail::PendingCommit> commit) : commit_(std::move(commit)) {}

 private:
  std::shared_ptr<detail::PendingCommit> commit_;
};

}  // namespace cairn
