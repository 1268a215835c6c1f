// Free space can go between this question and the write; the reserve is there for that too.
#include "storage/free_space.h"

#include "format/fail.h"

namespace cairn::storage {

void require_space(const Database& database, std::uint64_t segment_bytes, std::uint64_t batch_bytes,
                   std::uint64_t reserve, std::string_view what) {
  const std::uint64_t needed = segment_bytes + 2 * batch_bytes + reserve;
  const std::uint64_t free = database.free_bytes();
  if (free >= needed) return;
  fail(ErrorCode::kOutOfSpace, "store '{}': {} bytes are free, {} needs {} ({} to write, the rest in reserve)",
       database.path().string(), free, what, needed, segment_bytes + batch_bytes);
}

}  // namespace cairn::storage
