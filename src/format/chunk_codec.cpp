// The trailing codec byte leaves the payload where a copy can take it in one go.
#include "format/chunk_codec.h"

#include "format/fail.h"

namespace cairn::format {

std::span<const std::byte> chunk_payload(std::string_view row, std::uint32_t length) {
  if (row.empty()) fail(ErrorCode::kCorruption, "the row is empty");
  const auto codec = static_cast<std::uint8_t>(row.back());
  if (codec != static_cast<std::uint8_t>(Codec::kRaw)) fail(ErrorCode::kCorruption, "unknown codec {}", codec);
  const std::size_t found = row.size() - kChunkTrailerBytes;
  if (found != length) fail(ErrorCode::kCorruption, "expected {} bytes, found {}", length, found);
  return std::as_bytes(std::span(row.data(), found));
}

}  // namespace cairn::format
