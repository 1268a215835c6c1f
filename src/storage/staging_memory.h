// Memory that a background commit copies new chunks into, kept warm from one to the next: touching fresh pages costs more
// than the copy itself.
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

  /// Addresses for so many bytes of whatever content, aligned to pages, valid until the next call. Only those that are
  /// written to take memory. Errors: std::bad_alloc.
  std::span<std::byte> reserve(std::size_t size);
  /// Says how many bytes from the beginning were needed this time, and gives back what neither this use nor the one before
  /// needed.
  void keep(std::size_t used) noexcept;

  /// Bytes from the beginning that stay warm.
  std::size_t kept() const noexcept { return kept_; }

 private:
  std::byte* memory_ = nullptr;  // mapped
  std::size_t capacity_ = 0;
  std::size_t kept_ = 0;
  std::size_t used_before_ = 0;
};

}  // namespace cairn::storage
