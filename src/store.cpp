// Store's methods: orchestration only. The layers below do the work; the walks are told in src/README.md.
#include "cairn/store.h"

#include <chrono>
#include <deque>
#include <utility>

#include <torch/version.h>

#include "cairn/error.h"
#include "cairn/version.h"
#include "format/fail.h"
#include "state/tensor_bytes.h"
#include "storage/commit.h"
#include "storage/verify.h"
#include "storage/workers.h"
#include "store_core.h"
#include "stored_source.h"

namespace cairn {

namespace {

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// What the storage layer sees of a snapshot: names and bytes. `bytes` keeps the views that the sources read from.
storage::NewObject describe(const Snapshot::Object& object, std::deque<state::TensorBytes>& bytes) {
  storage::NewObject described{object.name, object.kind, object.type_name, {}};
  described.entries.reserve(object.state_dict.size());
  for (const StateDict::Entry& entry : object.state_dict) {
    if (!entry.is_tensor()) {
      described.entries.push_back({entry.name, entry.value()});
      continue;
    }
    const state::TensorBytes& view =
        bytes.emplace_back(state::TensorBytes::of(entry.tensor(), entry_path(object.name, entry.name)));
    storage::NewTensor tensor;
    tensor.layout = view.layout();
    tensor.layout.requires_grad = entry.requires_grad;
    tensor.bytes.nbytes = view.nbytes();
    tensor.bytes.data = view.data();
    if (view.data() == nullptr) {
      tensor.bytes.read = [&view](std::uint64_t offset, std::span<std::byte> out) { view.read(offset, out); };
    }
    described.entries.push_back({entry.name, std::move(tensor)});
  }
  return described;
}

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
  std::deque<state::TensorBytes> bytes;
  storage::NewCheckpoint checkpoint;
  checkpoint.parent = core_->parent();
  checkpoint.created_at_us = now_us();
  checkpoint.metadata = snapshot.metadata();
  for (const Snapshot::Object& object : snapshot.objects()) checkpoint.objects.push_back(describe(object, bytes));
  checkpoint.libraries = {fmt::format("cairn {}", kVersion), fmt::format("libtorch {}", TORCH_VERSION)};

  storage::CommitOptions commit_options;
  commit_options.threads = options.threads != 0 ? options.threads : storage::default_threads();
  commit_options.memory_budget = options.memory_budget;
  commit_options.progress = options.progress;
  const storage::CommitResult result = storage::commit(core_->database(), checkpoint, commit_options);
  core_->set_parent(result.info.version);
  Created created;
  created.version = result.info.version;
  created.logical_bytes = result.info.logical_bytes;
  created.written_bytes = result.info.written_bytes;
  created.chunk_count = result.chunk_count;
  created.new_chunk_count = result.new_chunk_count;
  core_->keep_in_bounds(created);
  return created;
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
