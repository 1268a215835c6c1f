// Asking the system for pages of a mapped file before they are touched: a page fault waits for the disk, a request does
// not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cairn::storage {

/// One reader's way forward through mapped files. What is in memory already is not asked for.
class LookAhead {
 public:
  /// Says that `row` is about to be read, and that the `following` bytes behind it in the file will be.
  void reading(std::span<const std::byte> row, std::uint64_t following);

 private:
  std::uintptr_t asked_until_ = 0;
};

}  // namespace cairn::storage
