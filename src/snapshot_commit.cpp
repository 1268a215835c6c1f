// Tensors become views of bytes here: storage sees no tensor.
#include "snapshot_commit.h"

#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include <torch/version.h>

#include "cairn/error.h"
#include "cairn/version.h"
#include "format/fail.h"
#include "state/tensor_bytes.h"
#include "storage/commit.h"
#include "storage/workers.h"
#include "stored_source.h"

namespace cairn::detail {

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

}  // namespace

Created commit_snapshot(StoreCore& core, const Snapshot& snapshot, const CreateOptions& options,
                        std::function<void()> staged) {
  std::deque<state::TensorBytes> bytes;
  storage::NewCheckpoint checkpoint;
  checkpoint.parent = core.parent();
  checkpoint.created_at_us = now_us();
  checkpoint.metadata = snapshot.metadata();
  for (const Snapshot::Object& object : snapshot.objects()) checkpoint.objects.push_back(describe(object, bytes));
  checkpoint.libraries = {fmt::format("cairn {}", kVersion), fmt::format("libtorch {}", TORCH_VERSION)};

  storage::CommitOptions commit_options;
  commit_options.threads = options.threads != 0 ? options.threads : storage::default_threads();
  commit_options.memory_budget = options.memory_budget;
  commit_options.progress = options.progress;
  commit_options.staged = std::move(staged);
  const storage::CommitResult result = storage::commit(core.database(), checkpoint, commit_options);
  core.set_parent(result.info.version);
  Created created;
  created.version = result.info.version;
  created.logical_bytes = result.info.logical_bytes;
  created.written_bytes = result.info.written_bytes;
  created.chunk_count = result.chunk_count;
  created.new_chunk_count = result.new_chunk_count;
  core.keep_in_bounds(created);
  return created;
}

BackgroundCommits::Task commit_later(StoreCore& core, Snapshot snapshot, const CreateOptions& options) {
  return [&core, snapshot = std::move(snapshot), options](PendingCommit& pending) {
    CreateOptions told = options;
    told.progress = [&](std::uint64_t done, std::uint64_t total) {
      pending.set_progress(done, total);
      if (options.progress) options.progress(done, total);
    };
    bool is_caller_gone = options.staging == Staging::kOverlapped;  // else the create itself raises the error
    const auto log = [&](std::string_view what) {
      if (!is_caller_gone) return;
      core.database().log(storage::Severity::kError,
                          fmt::format("a checkpoint in the background was not committed: {}", what));
    };
    try {
      return commit_snapshot(core, snapshot, told, [&] {
        is_caller_gone = true;
        pending.set_staged();
      });
    } catch (const std::exception& error) {
      log(error.what());
      throw;
    } catch (...) {
      log("an exception of a callback");
      throw;
    }
  };
}

}  // namespace cairn::detail
