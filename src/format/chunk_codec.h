// What a chunk row holds: payload, then one codec byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cairn::format {

enum class Codec : std::uint8_t { kRaw = 0 };

/// Bytes a chunk row adds to its payload.
inline constexpr std::size_t kChunkTrailerBytes = 1;

/// Payload of a chunk row, pointing into it. Errors: kCorruption when the row is empty, its codec unknown, or
/// its payload not `length` bytes long.
std::span<const std::byte> chunk_payload(std::string_view row, std::uint32_t length);

}  // namespace cairn::format
