// Rows hold the digests of chunks, so a tensor's content is told without reading it.
#include "format/content_digest.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "format/values.h"

namespace cairn::format {

namespace {

void add(DigestStream& stream, std::uint64_t number) { stream.update(std::as_bytes(std::span(&number, 1))); }

void add(DigestStream& stream, const Digest& digest) {
  add(stream, digest.low);
  add(stream, digest.high);
}

void add(DigestStream& stream, const TensorRow& tensor) {
  add(stream, static_cast<std::uint64_t>(tensor.layout.dtype));
  add(stream, tensor.layout.sizes.size());
  for (std::size_t i = 0; i < tensor.layout.sizes.size(); ++i) {
    const std::int64_t size = tensor.layout.sizes[i];
    add(stream, static_cast<std::uint64_t>(size));
    // The stride of a dimension of one element says nothing about memory.
    add(stream, size > 1 ? static_cast<std::uint64_t>(tensor.layout.strides[i]) : 0);
  }
  add(stream, digest_of(tensor.inline_bytes));
  for (const ChunkRef& chunk : tensor.chunks) add(stream, chunk.digest);
}

}  // namespace

Digest content_digest(const EntryRow& row) {
  DigestStream stream;
  add(stream, row.payload.index());
  if (const auto* tensor = std::get_if<TensorRow>(&row.payload)) {
    add(stream, *tensor);
  } else {
    const std::string value = encode_value(std::get<Value>(row.payload));
    stream.update(std::as_bytes(std::span(value)));
  }
  return stream.finish();
}

}  // namespace cairn::format
