// The format is that of LevelDB's log: blocks of 32 KiB; records of checksum u32, length u16, type u8, payload; a
// record ends within its block, and a longer one goes on in the next as first, middle ..., last. The checksum is CRC32C
// of type and payload, rotated and shifted by a constant.
#include "storage/log_check.h"

#include <array>
#include <cstddef>

namespace cairn::storage {

namespace {

constexpr std::size_t kBlockBytes = 32 * 1024;
constexpr std::size_t kHeaderBytes = 7;
enum RecordType : std::uint8_t { kFull = 1, kFirst = 2 };

std::uint8_t byte_at(std::string_view bytes, std::size_t place) { return static_cast<std::uint8_t>(bytes[place]); }

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);  // Castagnoli, reflected
    table[i] = crc;
  }
  return table;
}

std::uint32_t masked_crc(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

std::uint32_t stored_crc(std::string_view record) {
  std::uint32_t crc = 0;
  for (std::size_t i = 4; i-- > 0;) crc = crc << 8 | byte_at(record, i);
  return crc;
}

}  // namespace

std::optional<std::uint64_t> rot_in_log(std::string_view log) {
  std::optional<std::uint64_t> bad;
  for (std::size_t block = 0; block < log.size(); block += kBlockBytes) {
    std::string_view left = log.substr(block, kBlockBytes);
    while (left.size() >= kHeaderBytes) {
      const std::uint64_t place = static_cast<std::uint64_t>(left.data() - log.data());
      const std::size_t size = kHeaderBytes + byte_at(left, 4) + (std::size_t{byte_at(left, 5)} << 8);
      const std::uint8_t type = byte_at(left, 6);
      const bool is_whole =
          size <= left.size() && type != 0 && masked_crc(left.substr(6, size - 6)) == stored_crc(left);
      if (is_whole && bad && (type == kFull || type == kFirst)) return bad;
      if (!is_whole && !bad) bad = place;
      if (size > left.size()) break;  // its length rotted, or the log ends here: the next block is a new start
      if (type == 0 && size == kHeaderBytes) break;  // space that was never written
      left.remove_prefix(size);
    }
  }
  return std::nullopt;
}

}  // namespace cairn::storage
