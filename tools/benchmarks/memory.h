// Memory that a piece of work takes beside what its caller holds, and what the system has to be asked about it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace cairn::benchmarks {

/// Watches the anonymous memory of the process (RssAnon) a thousand times a second. Pages of mapped files are not
/// counted: they belong to the page cache, which the system takes back when it needs them. What the allocator keeps of
/// earlier work is given back first: reused without a trace, it would not be seen.
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

/// Touches so many bytes of free memory once, at most half of what is free, and gives them back. A virtual machine gets
/// a page from its host when it is first used, which costs ten times what writing to it does, and would be charged to
/// whoever comes first.
void touch_free_memory(std::uint64_t bytes);

/// Bytes that this process has had written to the device so far; 0 where the system does not tell.
std::uint64_t device_bytes_written();

}  // namespace cairn::benchmarks
