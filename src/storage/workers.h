// Splitting work over threads: the one place that starts them.
#pragma once

#include <cstddef>
#include <functional>

namespace cairn::storage {

/// Runs task(worker) for worker = 0 .. count - 1 at the same time, worker 0 on the calling thread, and returns when all
/// are done. The exception of the lowest worker that threw is rethrown then.
void run_workers(unsigned count, const std::function<void(unsigned worker)>& task);

/// Threads to use when an option says 0: the hardware's, at most 8.
unsigned default_threads();

}  // namespace cairn::storage
