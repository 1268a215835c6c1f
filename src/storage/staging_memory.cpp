// Mapped, not allocated, so that parts can be given back; in huge pages where the system has them.
#include "storage/staging_memory.h"

#include <algorithm>
#include <new>

#include <sys/mman.h>

namespace cairn::storage {

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

std::size_t rounded(std::size_t size) { return (size + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes; }

}  // namespace

StagingMemory::~StagingMemory() {
  if (memory_ != nullptr) munmap(memory_, capacity_);
}

std::span<std::byte> StagingMemory::reserve(std::size_t size) {
  const std::size_t wanted = rounded(size);
  if (wanted > capacity_) {
    // Growing in place or by moving keeps the pages that are warm. Most of a state is usually known and never copied, so
    // no memory is set aside for all of it.
    void* mapped = memory_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                      : mremap(memory_, capacity_, wanted, MREMAP_MAYMOVE);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    madvise(mapped, wanted, MADV_HUGEPAGE);  // a wish: small pages serve as well
    memory_ = static_cast<std::byte*>(mapped);
    capacity_ = wanted;
  }
  return {memory_, size};
}

void StagingMemory::keep(std::size_t used) noexcept {
  kept_ = std::min(rounded(std::max(used, used_before_)), capacity_);
  used_before_ = used;
  if (kept_ < capacity_) madvise(memory_ + kept_, capacity_ - kept_, MADV_DONTNEED);
}

}  // namespace cairn::storage
