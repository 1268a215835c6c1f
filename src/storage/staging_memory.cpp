// Mapped, not allocated, so that parts can be given back; in huge pages where the system has them.
#include "storage/staging_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace cairn::storage {

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// At least one page: mappings are not empty.
std::size_t rounded(std::size_t size) {
  return std::max<std::size_t>((size + kHugePageBytes - 1) / kHugePageBytes, 1) * kHugePageBytes;
}

}  // namespace

StagingMemory::~StagingMemory() {
  if (memory_ != nullptr) munmap(memory_, capacity_);
}

std::span<std::byte> StagingMemory::take(std::size_t size) {
  if (rounded(size) > capacity_) {
    if (memory_ != nullptr) munmap(memory_, capacity_);
    memory_ = nullptr;
    capacity_ = 0;
    void* mapped = mmap(nullptr, rounded(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    madvise(mapped, rounded(size), MADV_HUGEPAGE);  // a wish: small pages serve as well
    memory_ = static_cast<std::byte*>(mapped);
    capacity_ = rounded(size);
  }
  used_before_ = used_;
  used_ = size;
  return {memory_, size};
}

void StagingMemory::trim() noexcept {
  const std::size_t kept = rounded(std::max(used_, used_before_));
  if (kept >= capacity_) return;
  munmap(memory_ + kept, capacity_ - kept);
  capacity_ = kept;
}

}  // namespace cairn::storage
