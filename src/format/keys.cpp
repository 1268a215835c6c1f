// Big-endian numbers.
#include "format/keys.h"

#include <cstddef>

#include "format/fail.h"

namespace cairn::format {

namespace {

constexpr std::size_t kNumberBytes = 8;

template <typename T>
void append_big_endian(std::string& out, T number) {
  for (int shift = (static_cast<int>(sizeof(T)) - 1) * 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(number >> shift & 0xFF));
  }
}

template <typename T>
T read_big_endian(std::string_view bytes) {
  T number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    number = static_cast<T>(number << 8 | static_cast<unsigned char>(bytes[i]));
  }
  return number;
}

}  // namespace

std::string number_key(std::uint64_t number) {
  std::string key;
  append_big_endian(key, number);
  return key;
}

std::optional<std::uint64_t> number_from_key(std::string_view key) noexcept {
  if (key.size() != kNumberBytes) return std::nullopt;
  return read_big_endian<std::uint64_t>(key);
}

std::string entry_key(std::uint64_t state, std::string_view name) {
  std::string key;
  key.reserve(kNumberBytes + name.size());
  append_big_endian(key, state);
  key.append(name);
  return key;
}

std::optional<EntryKey> entry_from_key(std::string_view key) noexcept {
  if (key.size() < kNumberBytes) return std::nullopt;
  return EntryKey{read_big_endian<std::uint64_t>(key), key.substr(kNumberBytes)};
}

std::string digest_key(const Digest& digest) {
  std::string key;
  append_big_endian(key, digest.high);
  append_big_endian(key, digest.low);
  return key;
}

std::optional<Digest> digest_from_key(std::string_view key) noexcept {
  if (key.size() != 2 * kNumberBytes) return std::nullopt;
  return Digest{read_big_endian<std::uint64_t>(key.substr(kNumberBytes)), read_big_endian<std::uint64_t>(key)};
}

std::string encode_digest_row(const DigestRow& row) {
  std::string bytes;
  append_big_endian(bytes, row.chunk);
  append_big_endian(bytes, row.length);
  return bytes;
}

DigestRow decode_digest_row(std::string_view bytes) {
  constexpr std::size_t kRowBytes = kNumberBytes + sizeof(std::uint32_t);
  if (bytes.size() != kRowBytes) {
    fail(ErrorCode::kCorruption, "digest row: expected {} bytes, found {}", kRowBytes, bytes.size());
  }
  return {read_big_endian<std::uint64_t>(bytes), read_big_endian<std::uint32_t>(bytes.substr(kNumberBytes))};
}

}  // namespace cairn::format
