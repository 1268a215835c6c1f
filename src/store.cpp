// Store's methods: orchestration only. The layers below do the work; the walks are told in src/README.md.
#include "cairn/store.h"

#include <utility>

#include "cairn/error.h"
#include "format/fail.h"
#include "snapshot_commit.h"
#include "storage/tags.h"
#include "storage/verify.h"
#include "storage/workers.h"
#include "store_core.h"
#include "stored_source.h"

namespace cairn {

namespace {

std::optional<Checkpoint> newest_before(detail::StoreCore& core, std::uint64_t version) {
  while (const auto older = storage::version_before(core.database(), version)) {
    if (auto pinned = core.pin(*older)) return Checkpoint(std::move(pinned));
    version = *older;
  }
  return std::nullopt;
}

}  // namespace

Store::Store(std::shared_ptr<detail::StoreCore> core) : core_(std::move(core)) {}

Store Store::open(const std::filesystem::path& path, StoreOptions options) {
  return Store(detail::StoreCore::open(path, std::move(options), storage::OpenMode::kReadWrite));
}

Store Store::open_read_only(const std::filesystem::path& path, StoreOptions options) {
  return Store(detail::StoreCore::open(path, std::move(options), storage::OpenMode::kReadOnly));
}

Created Store::create_checkpoint(const Targets& targets, Metadata metadata, const CreateOptions& options) {
  return commit(capture(targets, std::move(metadata)), options);
}

Created Store::commit(const Snapshot& snapshot, const CreateOptions& options) {
  core_->background().raise_untold();
  return detail::commit_snapshot(*core_, snapshot, options);
}

PendingCheckpoint Store::create_checkpoint_async(const Targets& targets, Metadata metadata,
                                                 const CreateOptions& options) {
  return commit_async(capture(targets, std::move(metadata)), options);
}

PendingCheckpoint Store::commit_async(Snapshot snapshot, const CreateOptions& options) {
  auto pending = core_->background().start(detail::commit_later(*core_, std::move(snapshot), options),
                                           /*may_wait=*/options.when_busy == WhenBusy::kWait);
  if (options.staging == Staging::kBeforeReturn) pending->wait_staged();
  return PendingCheckpoint(std::move(pending));
}

std::optional<Checkpoint> Store::latest() const {
  auto pinned = core_->pin_latest();
  return pinned ? std::optional<Checkpoint>(Checkpoint(std::move(pinned))) : std::nullopt;
}

std::optional<Checkpoint> Store::checkpoint(std::uint64_t version) const {
  auto pinned = core_->pin(version);
  return pinned ? std::optional<Checkpoint>(Checkpoint(std::move(pinned))) : std::nullopt;
}

std::vector<CheckpointInfo> Store::list() const {
  std::vector<CheckpointInfo> infos;
  for (const storage::StoredCheckpoint& stored : storage::all_checkpoints(core_->database())) {
    infos.push_back(stored.info());
  }
  return infos;
}

std::optional<Checkpoint> Store::resume(const Targets& targets, const ApplyOptions& options) {
  ApplyOptions checked = options;
  checked.verify = VerifyMode::kBeforeCopying;
  std::optional<Checkpoint> candidate = latest();
  if (!candidate) return std::nullopt;
  std::string damage;
  while (candidate) {
    try {
      apply_checkpoint(*candidate, targets, checked);
      return candidate;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCorruption) throw;
      damage = error.what();
      core_->log(LogLevel::kWarning, fmt::format("cannot resume from checkpoint {}, trying the one before: {}",
                                                 candidate->version(), damage));
    }
    candidate = newest_before(*core_, candidate->version());
  }
  fail(ErrorCode::kCorruption, "no checkpoint of '{}' is whole; the oldest: {}", path().string(), damage);
}

void Store::refresh() {
  if (is_read_only()) core_->database().catch_up();
}

void Store::tag(std::uint64_t version, std::string_view name) {
  storage::set_tag(core_->database(), version, name, /*may_move=*/false);
}

void Store::move_tag(std::uint64_t version, std::string_view name) {
  storage::set_tag(core_->database(), version, name, /*may_move=*/true);
}

bool Store::untag(std::string_view name) { return storage::delete_tag(core_->database(), name); }

std::vector<Tag> Store::tags() const {
  std::vector<Tag> tags;
  for (storage::StoredTag& tag : storage::all_tags(core_->database())) {
    tags.push_back({std::move(tag.name), tag.version});
  }
  return tags;
}

std::optional<Checkpoint> Store::tagged(std::string_view name) const {
  const auto version = storage::find_tag(core_->database(), name);
  return version ? checkpoint(*version) : std::nullopt;
}

void Store::remove(std::uint64_t version) { core_->remove(version); }

VerifyReport Store::verify(const Progress& progress) const {
  const storage::VerifyResult result = storage::verify(core_->database(), storage::default_threads(), progress);
  VerifyReport report;
  report.problems.reserve(result.problems.size());
  for (const storage::VerifyProblem& problem : result.problems) {
    report.problems.push_back({problem.invariant, problem.version, problem.object, problem.entry, problem.message});
  }
  report.checkpoint_count = result.checkpoint_count;
  report.entry_count = result.entry_count;
  report.chunk_count = result.chunk_count;
  report.chunk_bytes = result.chunk_bytes;
  return report;
}

const std::filesystem::path& Store::path() const noexcept { return core_->database().path(); }

bool Store::is_read_only() const noexcept { return core_->database().is_read_only(); }

}  // namespace cairn
