// Keys and digest rows: decoding never fails in another way than it says, and is undone by encoding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cairn/error.h"
#include "format/keys.h"
#include "format/utf8.h"

using namespace cairn;
using namespace cairn::format;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  if (const auto number = number_from_key(bytes)) require(number_key(*number) == bytes);
  if (const auto entry = entry_from_key(bytes)) require(entry_key(entry->state, entry->name) == bytes);
  if (const auto digest = digest_from_key(bytes)) require(digest_key(*digest) == bytes);
  const std::string shown = escape_unprintable(bytes);
  require(escape_unprintable(shown) == shown);
  try {
    require(encode_digest_row(decode_digest_row(bytes)) == bytes);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kCorruption);
  }
  return 0;
}
