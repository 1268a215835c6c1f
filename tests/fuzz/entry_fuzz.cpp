// Every decoder of rows: it returns or raises kCorruption (a header: kUnsupportedVersion as well), and what it returns
// encodes to something that decodes to the same. The first byte chooses the decoder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cairn/error.h"
#include "format/chunk_codec.h"
#include "format/rows.h"
#include "format/store_file.h"
#include "format/values.h"

using namespace cairn;
using namespace cairn::format;

namespace {

constexpr std::uint32_t kChunk = kMinChunkSize;

void require(bool holds) {
  if (!holds) std::abort();
}

void decode(unsigned which, std::string_view bytes) {
  switch (which % 6) {
    case 0: {
      const StoreHeader header = decode_header(bytes);
      return require(decode_header(encode(header)) == header);
    }
    case 1: {
      const std::string encoded = encode(decode_checkpoint(1000, bytes));
      return require(encode(decode_checkpoint(1000, encoded)) == encoded);
    }
    case 2: {
      const std::string encoded = encode(decode_entry(bytes, kChunk));
      return require(encode(decode_entry(encoded, kChunk)) == encoded);
    }
    case 3: {
      const std::string encoded = encode_value(decode_value(bytes));
      return require(encode_value(decode_value(encoded)) == encoded);
    }
    case 4: {
      const std::string encoded = encode(decode_store_file(bytes));
      return require(encode(decode_store_file(encoded)) == encoded);
    }
    default:
      chunk_payload(bytes, static_cast<std::uint32_t>(bytes.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned which = data[0];
  try {
    decode(which, {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const Error& error) {
    const bool may_be_foreign = which % 6 == 0 || which % 6 == 4;
    require(error.code() == ErrorCode::kCorruption ||
            (may_be_foreign &&
             (error.code() == ErrorCode::kUnsupportedVersion || error.code() == ErrorCode::kInvalidArgument)));
  }
  return 0;
}
