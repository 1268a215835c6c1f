// Addresses behind the end of a mapping are refused by the system, and that is all that happens.
#include "storage/look_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace cairn::storage {

namespace {

/// Enough for a disk to work at its full depth, little beside what an apply may take.
constexpr std::uint64_t kWindowBytes = std::uint64_t{16} << 20;

}  // namespace

void LookAhead::reading(std::span<const std::byte> row, std::uint64_t following) {
  const auto begin = reinterpret_cast<std::uintptr_t>(row.data());
  const std::uintptr_t end = begin + row.size() + std::min(following, kWindowBytes);
  const bool goes_on = begin <= asked_until_ && asked_until_ <= begin + row.size() + kWindowBytes;
  const std::uintptr_t from = goes_on ? asked_until_ : begin;
  // Half a window at a time; the rest of a run at once.
  if (end <= from || (goes_on && end - from < kWindowBytes / 2 && following > kWindowBytes / 2)) return;
  asked_until_ = end;

  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = from / page * page;
  unsigned char is_resident = 0;
  auto* middle = reinterpret_cast<void*>((first + (end - first) / 2) / page * page);
  if (mincore(middle, page, &is_resident) == 0 && (is_resident & 1) != 0) return;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_WILLNEED);
}

}  // namespace cairn::storage
