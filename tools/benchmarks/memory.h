// Memory that a piece of work takes beside what its caller holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace cairn::benchmarks {

/// Watches the anonymous memory of the process (RssAnon) a thousand times a second. Pages of mapped files are not
/// counted: they belong to the page cache, which the system takes back when it needs them.
class PeakMemory {
 public:
  PeakMemory();
  ~PeakMemory();
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;

  /// Most bytes so far above those at the beginning.
  std::uint64_t extra() const;

 private:
  std::uint64_t begin_ = 0;
  std::atomic<std::uint64_t> peak_{0};
  std::atomic<bool> is_over_{false};
  std::thread watcher_;  // last: it uses the others
};

}  // namespace cairn::benchmarks
