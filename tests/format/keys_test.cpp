// Keys, digest rows, chunk rows and digests: byte-exact, since they are the format.
#include "format/keys.h"

#include <algorithm>
#include <limits>
#include <random>

#include "format/chunk_codec.h"
#include "format/errors.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::format;
using cairn::testing::raised_by;

TEST_CASE("the order of keys is the order of numbers", "[format][keys]") {
  std::vector<std::uint64_t> numbers = {
      0, 1, 2, 10, 255, 256, 65535, 65536, 1u << 31, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()};
  for (std::size_t i = 1; i < numbers.size(); ++i) CHECK(number_key(numbers[i - 1]) < number_key(numbers[i]));
  for (const std::uint64_t number : numbers) CHECK(number_from_key(number_key(number)) == number);
}

TEST_CASE("keys have the bytes that FORMAT.md shows", "[format][keys][golden]") {
  CHECK(number_key(0x0102030405060708) == "\x01\x02\x03\x04\x05\x06\x07\x08");
  CHECK(entry_key(258, "fc.weight") == std::string("\0\0\0\0\0\0\x01\x02", 8) + "fc.weight");
  CHECK(digest_key({0x1112131415161718, 0x0102030405060708}) ==
        "\x01\x02\x03\x04\x05\x06\x07\x08\x11\x12\x13\x14\x15\x16\x17\x18");
  CHECK(encode_digest_row({0x0102030405060708, 0x0A0B0C0D}) == "\x01\x02\x03\x04\x05\x06\x07\x08\x0A\x0B\x0C\x0D");
  CHECK(chunk_id(3, 5) == 0x300005);
  CHECK(small_chunk_id(3, 5) == 0x8000000000300005);
  CHECK(segment_of(small_chunk_id(3, 5)) == 3);
  CHECK(is_small_chunk(small_chunk_id(1, 0)));
  CHECK_FALSE(is_small_chunk(chunk_id(kMaxSegment - 1, kMaxChunksPerSegment - 1)));
}

TEST_CASE("an entry key keeps any name", "[format][keys]") {
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("x\0y", 3), std::string(10'000, 'n')}) {
    const std::string key = entry_key(7, name);
    const auto parts = entry_from_key(key);
    REQUIRE(parts);
    CHECK(parts->state == 7);
    CHECK(parts->name == name);
  }
}

TEST_CASE("keys of a wrong length are no keys", "[format][keys]") {
  CHECK_FALSE(number_from_key("1234567"));
  CHECK_FALSE(number_from_key("123456789"));
  CHECK_FALSE(entry_from_key("1234567"));
  CHECK_FALSE(digest_from_key("123456789012345"));
  CHECK(raised_by([] { decode_digest_row("12345678901"); }).code == ErrorCode::kCorruption);
  CHECK(raised_by([] { decode_digest_row("1234567890123"); }).code == ErrorCode::kCorruption);
}

TEST_CASE("digests and digest rows come back from their bytes", "[format][keys]") {
  const Digest digest{0x0123456789abcdef, 0xfedcba9876543210};
  CHECK(digest_from_key(digest_key(digest)) == digest);
  CHECK(decode_digest_row(encode_digest_row({77, 1024})) == DigestRow{77, 1024});
  CHECK(to_hex(digest) == "fedcba98765432100123456789abcdef");
}

TEST_CASE("the digest is XXH3-128 with seed 0", "[format][digest][golden]") {
  // Values of the reference implementation for the empty input and for "abc".
  CHECK(to_hex(digest_of({})) == "99aa06d3014798d86001c324468d497f");
  const std::string abc = "abc";
  CHECK(to_hex(digest_of(std::as_bytes(std::span(abc)))) == "06b05ab6733a618578af5f94892f3950");
}

TEST_CASE("a digest taken in pieces is the digest of the whole", "[format][digest]") {
  std::mt19937 random(5);
  std::string bytes(300'000, '\0');
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
  const auto all = std::as_bytes(std::span(bytes));
  DigestStream stream;
  for (const std::size_t piece : {1u, 7u, 240u, 16384u, 299'999u}) {
    stream.reset();
    for (std::size_t at = 0; at < all.size(); at += piece)
      stream.update(all.subspan(at, std::min(piece, all.size() - at)));
    CHECK(stream.finish() == digest_of(all));
  }
}

TEST_CASE("a chunk row is its payload and a codec byte, and nothing else is taken for one", "[format][chunk]") {
  const std::string row("abc\0", 4);
  const auto payload = chunk_payload(row, 3);
  CHECK(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()) == "abc");
  CHECK(raised_by([] { chunk_payload("", 0); }).code == ErrorCode::kCorruption);
  CHECK_THAT(raised_by([] { chunk_payload(std::string_view("abc\1", 4), 3); }).message,
             Catch::Matchers::ContainsSubstring("codec 1"));
  CHECK_THAT(raised_by([] { chunk_payload(std::string_view("abc\0", 4), 4); }).message,
             Catch::Matchers::ContainsSubstring("expected 4 bytes, found 3"));
}
