// Taking state out of live objects and putting it back, apart from any store.
#pragma once

#include "cairn/options.h"
#include "cairn/snapshot.h"
#include "cairn/target.h"

namespace cairn {

/// Takes references to the state of all targets; no tensor is copied.
///
/// The snapshot shares memory with the live objects, so it changes as they train: commit or clone it before the
/// next step. Metadata is taken by value.
/// Threads:   the targets must not change during the call.
/// Errors:    kInvalidArgument for an undefined tensor; kUnsupported, by object and entry, for a sparse,
///            quantized or nested tensor and for an optimizer of an unknown class.
Snapshot capture(const Targets& targets, Metadata metadata = {});

/// Puts a snapshot's state into the targets: the same rules as for a checkpoint (checkpoint.h).
ApplyReport apply(const Snapshot& snapshot, const Targets& targets, const ApplyOptions& options = {});

}  // namespace cairn
