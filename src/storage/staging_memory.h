// Memory that a background commit copies new chunks into, kept warm from one to the next: touching fresh pages costs
// more than the copy itself.
#pragma once

#include <cstddef>
#include <span>

namespace cairn::storage {

/// Not thread-safe: whoever holds the write lock uses it.
class StagingMemory {
 public:
  StagingMemory() = default;
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  /// So many bytes of whatever content, aligned to pages, valid until the next call. Errors: std::bad_alloc.
  std::span<std::byte> take(std::size_t size);
  /// Gives back what neither this use nor the one before needed.
  void trim() noexcept;

  std::size_t capacity() const noexcept { return capacity_; }

 private:
  std::byte* memory_ = nullptr;  // mapped
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::size_t used_before_ = 0;
};

}  // namespace cairn::storage
