// Digest and copy in one pass over memory.
//
// Taken in pieces that stay in the first-level cache: each is digested, then written with stores that bypass the cache.
// The destination is not read before it is written, which makes the verified copy faster than a plain memcpy of large
// tensors.
#pragma once

#include <cstddef>
#include <span>

#include "format/digest.h"

namespace cairn::storage {

/// Copies `from` to `to` and returns the digest of what was copied. `stream` is reset, and only saves allocations. The
/// copy is visible to other threads as after a memcpy.
format::Digest verified_copy(std::span<const std::byte> from, std::byte* to, format::DigestStream& stream);

/// Copies without a digest, with the same stores.
void streaming_copy(std::span<const std::byte> from, std::byte* to);

}  // namespace cairn::storage
