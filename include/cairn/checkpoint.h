// A committed checkpoint, to look into and to apply.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cairn/checkpoint_info.h"
#include "cairn/options.h"
#include "cairn/snapshot.h"
#include "cairn/state_dict.h"
#include "cairn/target.h"

namespace cairn {

namespace detail {
struct PinnedCheckpoint;  // src/store_core.h
}

/// Handle to one checkpoint: immutable, cheap to copy, usable from any thread. It keeps the store open, and pins
/// its version: `Store::remove` refuses a version that has handles in this process.
///
/// Tensors it returns are fresh, on the CPU, detached, in the memory order they were stored in.
/// Errors of all reads: kNotFound for an object or entry that is not there (the message names the nearest);
/// kCorruption, naming object, entry and chunk, when bytes do not have their digest; kIo.
class Checkpoint {
 public:
  std::uint64_t version() const noexcept { return info().version; }
  const Metadata& metadata() const noexcept { return info().metadata; }
  const CheckpointInfo& info() const noexcept;

  /// Lists the entries of one object in their order. Cost: one scan of its rows.
  std::vector<EntryInfo> entries(std::string_view object) const;

  /// What one entry is, without its bytes. Cost: one look-up.
  EntryInfo entry(std::string_view object, std::string_view name) const;

  /// Reads one tensor entry. Cost: one look-up and the tensor's own chunks.
  at::Tensor tensor(std::string_view object, std::string_view entry) const;
  /// Reads rows [begin, end) of dimension 0. Only the chunks they lie in are read, except for a tensor stored
  /// with another dimension outermost (transposed), which is read whole.
  /// Errors: kInvalidArgument when 0-dim or unless 0 <= begin <= end <= size(0).
  at::Tensor rows(std::string_view object, std::string_view entry, std::int64_t begin, std::int64_t end) const;
  /// Reads one plain value.
  Value value(std::string_view object, std::string_view entry) const;
  /// Reads one object, entries in their order.
  StateDict state_dict(std::string_view object) const;
  /// Reads everything.
  Snapshot read() const;

  /// For the library's own use.
  explicit Checkpoint(std::shared_ptr<const detail::PinnedCheckpoint> pinned) : pinned_(std::move(pinned)) {}
  const detail::PinnedCheckpoint& pinned() const noexcept { return *pinned_; }

 private:
  std::shared_ptr<const detail::PinnedCheckpoint> pinned_;
};

/// Copies a checkpoint's state into live objects.
///
/// Everything is checked before anything is changed: objects, names, shapes, dtypes, optimizer classes and
/// param groups; kMismatch lists every difference, and says which side is which. Tensors are copied in place, so
/// identity, ties, device and memory order of the target stay; optimizer options and state are replaced, learning
/// rates included (build schedulers before applying). Optimizer state goes by parameter name where a model that
/// holds the parameters was in the call on both sides, by position otherwise.
/// Threads:   the targets belong to the caller during the call.
/// Cost:      one pass over the bytes; at most 256 MiB beside the state.
/// Errors:    kMismatch, kNotFound (object), kCorruption, kIo; c10::Error passes through.
/// On error:  nothing is changed, except when damage or an I/O error is met while copying (VerifyMode), or when a
///            user's own function throws: then what was already copied stays.
ApplyReport apply_checkpoint(const Checkpoint& checkpoint, const Targets& targets, const ApplyOptions& options = {});

}  // namespace cairn
