// One thread a commit: starting it costs microseconds, a commit at least the sync of the disk.
#include "pending_commit.h"

#include <system_error>
#include <utility>

#include "format/fail.h"

namespace cairn::detail {

void PendingCommit::advance_to(Stage stage) {
  stage_ = stage;
  changed_.notify_all();
}

void PendingCommit::set_progress(std::uint64_t done, std::uint64_t total) {
  const std::lock_guard<std::mutex> lock(mutex_);
  progress_ = {done, total};
}

void PendingCommit::set_staged() {
  const std::lock_guard<std::mutex> lock(mutex_);
  advance_to(Stage::kStaged);
}

void PendingCommit::set_committed(const Created& created) {
  const std::lock_guard<std::mutex> lock(mutex_);
  created_ = created;
  advance_to(Stage::kEnded);
}

void PendingCommit::set_failed(std::exception_ptr error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  error_ = std::move(error);
  advance_to(Stage::kEnded);
}

void PendingCommit::set_skipped() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_skipped_ = true;
  advance_to(Stage::kEnded);
}

bool PendingCommit::is_ended() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stage_ == Stage::kEnded;
}

bool PendingCommit::is_skipped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_skipped_;
}

void PendingCommit::wait_staged() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return stage_ != Stage::kBegun; });
  if (!error_) return;
  is_told_ = true;
  std::rethrow_exception(error_);
}

Created PendingCommit::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return stage_ == Stage::kEnded; });
  if (!error_) return created_.value_or(Created());
  is_told_ = true;
  std::rethrow_exception(error_);
}

std::optional<std::uint64_t> PendingCommit::version() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return created_ ? std::optional<std::uint64_t>(created_->version) : std::nullopt;
}

PendingCheckpoint::Progress PendingCommit::progress() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return progress_;
}

std::exception_ptr PendingCommit::take_untold() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return stage_ == Stage::kEnded; });
  return std::exchange(is_told_, true) ? nullptr : error_;
}

BackgroundCommits::~BackgroundCommits() {
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<PendingCommit> BackgroundCommits::newest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return newest_;
}

void BackgroundCommits::raise_untold() {
  const std::shared_ptr<PendingCommit> commit = newest();
  if (!commit) return;
  if (const std::exception_ptr error = commit->take_untold()) std::rethrow_exception(error);
}

std::shared_ptr<PendingCommit> BackgroundCommits::start(Task task, bool may_wait) {
  auto commit = std::make_shared<PendingCommit>();
  std::unique_lock<std::mutex> starting(start_mutex_, std::defer_lock);
  if (may_wait) {
    starting.lock();
  } else {
    const auto before = newest();
    if (!starting.try_lock() || (before && !before->is_ended())) {
      commit->set_skipped();
      return commit;
    }
  }
  raise_untold();
  if (thread_.joinable()) thread_.join();
  try {
    thread_ = std::thread([commit, task = std::move(task)]() mutable {
      try {
        const Created created = task(*commit);
        task = nullptr;  // lets go of the tensors before anybody hears of the end
        commit->set_committed(created);
      } catch (...) {
        task = nullptr;
        commit->set_failed(std::current_exception());
      }
    });
  } catch (const std::system_error& error) {
    fail(ErrorCode::kIo, "no thread can be started for a commit in the background: {}", error.what());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  newest_ = commit;
  return commit;
}

}  // namespace cairn::detail

namespace cairn {

bool PendingCheckpoint::ready() const { return commit_->is_ended(); }

void PendingCheckpoint::wait_staged() const { commit_->wait_staged(); }

Created PendingCheckpoint::wait() const { return commit_->wait(); }

std::optional<std::uint64_t> PendingCheckpoint::version() const { return commit_->version(); }

PendingCheckpoint::Progress PendingCheckpoint::progress() const { return commit_->progress(); }

bool PendingCheckpoint::skipped() const { return commit_->is_skipped(); }

}  // namespace cairn
