// A snapshot on its way into storage: what both kinds of creates, at once and in the background, have in common.
#pragma once

#include <functional>

#include "cairn/created.h"
#include "cairn/options.h"
#include "cairn/snapshot.h"
#include "store_core.h"

namespace cairn::detail {

/// Commits a snapshot; the next one descends from it. `staged` as in storage::CommitOptions. Errors: as Store::commit.
Created commit_snapshot(StoreCore& core, const Snapshot& snapshot, const CreateOptions& options,
                        std::function<void()> staged = {});

/// What runs in the background for a snapshot. Requires: the core outlives it.
BackgroundCommits::Task commit_later(StoreCore& core, Snapshot snapshot, const CreateOptions& options);

}  // namespace cairn::detail
