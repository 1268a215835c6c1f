// Pins are counted under the mutex that removal takes as well: a version cannot go between its look-up and its pin.
#include "store_core.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "cairn/error.h"
#include "format/fail.h"
#include "storage/removal.h"
#include "storage/retention.h"

namespace cairn::detail {

namespace {

void log_to_standard_error(LogLevel level, std::string_view message) {
  if (level == LogLevel::kInfo) return;
  const std::string line = fmt::format("cairn: {}{}\n", level == LogLevel::kWarning ? "warning: " : "error: ", message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

LogLevel level_of(storage::Severity severity) {
  switch (severity) {
    case storage::Severity::kInfo:
      return LogLevel::kInfo;
    case storage::Severity::kWarning:
      return LogLevel::kWarning;
    case storage::Severity::kError:
      return LogLevel::kError;
  }
  return LogLevel::kError;
}

storage::FileAccess access_of(FileAccess io) {
  switch (io) {
    case FileAccess::kAutomatic:
      return storage::FileAccess::kAutomatic;
    case FileAccess::kMapped:
      return storage::FileAccess::kMapped;
    case FileAccess::kRead:
      return storage::FileAccess::kRead;
  }
  fail(ErrorCode::kInvalidArgument, "StoreOptions::io has the value {}, which has no meaning", static_cast<int>(io));
}

/// One call at a time, whichever thread it comes from.
std::shared_ptr<const LogCallback> serialised(LogCallback callback) {
  if (!callback) callback = log_to_standard_error;
  auto mutex = std::make_shared<std::mutex>();
  return std::make_shared<const LogCallback>(
      [mutex, callback = std::move(callback)](LogLevel level, std::string_view message) {
        const std::lock_guard<std::mutex> lock(*mutex);
        callback(level, message);
      });
}

}  // namespace

std::shared_ptr<StoreCore> StoreCore::open(const std::filesystem::path& path, StoreOptions options,
                                           storage::OpenMode mode) {
  if (options.retention) storage::check_policy(*options.retention);
  std::shared_ptr<StoreCore> core(new StoreCore);
  core->retention_ = std::move(options.retention);
  core->collects_ = options.collects;
  core->log_ = serialised(std::move(options.log));
  storage::DatabaseOptions database_options;
  database_options.mode = mode;
  database_options.chunk_size = options.chunk_size;
  database_options.access = access_of(options.io);
  database_options.drop_commits_behind_damage = options.drop_commits_behind_damage;
  database_options.log = [log = core->log_](storage::Severity severity, std::string_view message) {
    (*log)(level_of(severity), message);
  };
  core->database_ = storage::Database::open(path, std::move(database_options));
  return core;
}

void StoreCore::log(LogLevel level, std::string_view message) const { (*log_)(level, message); }

std::shared_ptr<const PinnedCheckpoint> StoreCore::pin(std::uint64_t version) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<storage::StoredCheckpoint> stored = storage::find_checkpoint(*database_, version);
  return stored ? pin_locked(std::move(*stored)) : nullptr;
}

std::shared_ptr<const PinnedCheckpoint> StoreCore::pin_latest() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<storage::StoredCheckpoint> stored = storage::latest_checkpoint(*database_);
  return stored ? pin_locked(std::move(*stored)) : nullptr;
}

std::shared_ptr<const PinnedCheckpoint> StoreCore::pin_locked(storage::StoredCheckpoint stored) {
  std::uint64_t& handles = pins_.try_emplace(stored.version, 0).first->second;
  auto pinned = std::make_shared<const PinnedCheckpoint>(shared_from_this(), std::move(stored));
  ++handles;  // last, so that nothing can throw while the handle exists and the mutex is held
  return pinned;
}

void StoreCore::unpin(std::uint64_t version) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto pin = pins_.find(version);
  if (pin != pins_.end() && --pin->second == 0) pins_.erase(pin);
}

bool StoreCore::is_pinned(std::uint64_t version) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return pins_.count(version) != 0;
}

void StoreCore::remove(std::uint64_t version) {
  storage::WriteLock write_lock(*database_);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto pin = pins_.find(version);
  if (pin != pins_.end()) {
    fail(ErrorCode::kBusy, "checkpoint {} is in use by {} handle(s) of this process", version, pin->second);
  }
  storage::remove_checkpoints(write_lock, std::span(&version, 1));
  if (parent_ == version) parent_ = 0;
}

std::vector<std::uint64_t> StoreCore::remove_unpinned(storage::WriteLock& write_lock,
                                                      std::vector<std::uint64_t> versions) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto first_pinned = std::stable_partition(versions.begin(), versions.end(),
                                                  [this](std::uint64_t version) { return pins_.count(version) == 0; });
  std::vector<std::uint64_t> pinned(first_pinned, versions.end());
  versions.erase(first_pinned, versions.end());
  storage::remove_checkpoints(write_lock, versions);
  if (std::find(versions.begin(), versions.end(), parent_) != versions.end()) parent_ = 0;
  return pinned;
}

std::uint64_t StoreCore::parent() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (parent_ != 0) return parent_;
  const auto latest = storage::latest_checkpoint(*database_);
  return latest ? latest->version : 0;
}

void StoreCore::set_parent(std::uint64_t version) {
  const std::lock_guard<std::mutex> lock(mutex_);
  parent_ = version;
}

PinnedCheckpoint::PinnedCheckpoint(std::shared_ptr<StoreCore> store, storage::StoredCheckpoint checkpoint)
    : core(std::move(store)), stored(std::move(checkpoint)), info(stored.info()) {}

PinnedCheckpoint::~PinnedCheckpoint() { core->unpin(info.version); }

}  // namespace cairn::detail
