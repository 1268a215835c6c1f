// Creates in the background: what one of them and its handles share, and the thread that runs them for a store.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cairn/created.h"
#include "cairn/pending.h"

namespace cairn::detail {

/// From "begun" by "staged" to "ended", never back. Threads: any.
class PendingCommit {
 public:
  void set_progress(std::uint64_t done, std::uint64_t total);
  void set_staged();
  void set_committed(const Created& created);
  void set_failed(std::exception_ptr error);
  void set_skipped();

  bool is_ended() const;
  bool is_skipped() const;
  void wait_staged();
  /// Both rethrow what ended the commit, and count that as told.
  Created wait();
  std::optional<std::uint64_t> version() const;
  PendingCheckpoint::Progress progress() const;

  /// Waits for the end; the error, when there was one that nobody has been told. It counts as told then.
  std::exception_ptr take_untold();

 private:
  enum class Stage { kBegun, kStaged, kEnded };

  void advance_to(Stage stage);  // requires mutex_

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  Stage stage_ = Stage::kBegun;
  bool is_skipped_ = false;
  bool is_told_ = false;
  std::optional<Created> created_;
  std::exception_ptr error_;
  PendingCheckpoint::Progress progress_;
};

/// The background of one store: at most one commit at a time. Ends only when that has ended.
class BackgroundCommits {
 public:
  /// Runs on the thread: calls set_staged once the tensors may change, returns what was committed.
  using Task = std::function<Created(PendingCommit& commit)>;

  ~BackgroundCommits();

  /// Starts a commit; waits for the one before, or skips it when that is under way and `may_wait` is false.
  /// Errors: those of raise_untold; kIo when there is no thread to be had.
  std::shared_ptr<PendingCommit> start(Task task, bool may_wait);
  /// Waits for the commit that is under way, and raises its error when nobody has been told: it must not be lost, also
  /// when the handle was dropped. Once: the next call goes through.
  void raise_untold();

 private:
  std::shared_ptr<PendingCommit> newest() const;

  std::mutex start_mutex_;  // held while one is started
  mutable std::mutex mutex_;
  std::shared_ptr<PendingCommit> newest_;  // guarded by mutex_
  std::thread thread_;                     // guarded by start_mutex_
};

}  // namespace cairn::detail
