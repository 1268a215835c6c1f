// Encoding rows, and what the three row types have in common. Decoding is in row_decoder.cpp.
#include "format/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <flatbuffers/flatbuffers.h>

#include "format/cairn_generated.h"
#include "format/fail.h"
#include "format/row_identifiers.h"
#include "format/values.h"

namespace cairn::format {

namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are stored as they lie in memory");
static_assert(static_cast<std::uint8_t>(fb::DType::MAX) + 1 == kDTypeCount);
static_assert(static_cast<std::uint8_t>(fb::ObjectKind::MAX) == static_cast<std::uint8_t>(ObjectKind::kUser));
static_assert(static_cast<std::uint8_t>(fb::DType::complex128) == static_cast<std::uint8_t>(DType::kComplex128));
static_assert(static_cast<std::uint8_t>(fb::DType::int7) == static_cast<std::uint8_t>(DType::kInt7));

/// FlatBuffers end the process past 2 GiB, so rows are kept well below.
constexpr std::uint64_t kMaxRowBytes = std::uint64_t{1} << 30;

using Builder = flatbuffers::FlatBufferBuilder;
using Bytes = flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>>;

Bytes create_bytes(Builder& builder, std::string_view bytes) {
  return builder.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

template <typename Table>
std::string finish(Builder& builder, flatbuffers::Offset<Table> root, const char* identifier) {
  builder.Finish(root, identifier);
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

fb::Digest to_fb(const Digest& digest) { return fb::Digest(digest.low, digest.high); }

flatbuffers::Offset<fb::Object> encode(Builder& builder, const ObjectRow& object) {
  const Bytes name = create_bytes(builder, object.info.name);
  const Bytes type_name = object.info.type_name.empty() ? Bytes() : create_bytes(builder, object.info.type_name);
  const fb::Digest digest = to_fb(object.state_digest);
  return fb::CreateObject(builder, name, static_cast<fb::ObjectKind>(object.info.kind), type_name, object.state,
                          object.info.entry_count, object.info.bytes, &digest);
}

flatbuffers::Offset<fb::Tensor> encode(Builder& builder, const TensorRow& tensor) {
  if (tensor.chunks.size() > kMaxRowBytes / sizeof(fb::ChunkRef)) {
    fail(ErrorCode::kUnsupported, "a tensor of {} chunks does not fit one row", tensor.chunks.size());
  }
  flatbuffers::Offset<flatbuffers::Vector<std::int64_t>> sizes;
  flatbuffers::Offset<flatbuffers::Vector<std::int64_t>> strides;
  flatbuffers::Offset<flatbuffers::Vector<const fb::ChunkRef*>> chunks;
  Bytes inline_bytes;
  if (!tensor.layout.sizes.empty()) sizes = builder.CreateVector(tensor.layout.sizes);
  if (tensor.layout.strides != row_major_strides(tensor.layout.sizes)) {
    strides = builder.CreateVector(tensor.layout.strides);
  }
  if (tensor.chunks.empty()) {
    inline_bytes = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(tensor.inline_bytes.data()),
                                        tensor.inline_bytes.size());
  } else {
    std::vector<fb::ChunkRef> refs;
    refs.reserve(tensor.chunks.size());
    for (const ChunkRef& chunk : tensor.chunks) refs.emplace_back(chunk.id, to_fb(chunk.digest));
    chunks = builder.CreateVectorOfStructs(refs);
  }
  return fb::CreateTensor(builder, static_cast<fb::DType>(tensor.layout.dtype), sizes, strides,
                          tensor.layout.requires_grad, inline_bytes, chunks);
}

}  // namespace

std::string encode(const StoreHeader& header) {
  Builder builder(128);
  const auto root = fb::CreateStoreHeader(builder, header.format_version, header.min_reader_version, header.chunk_size,
                                          header.next_version, header.next_state, header.next_segment);
  return finish(builder, root, kHeaderIdentifier);
}

std::string encode(const CheckpointRow& row) {
  std::uint64_t name_bytes = 0;
  for (const ObjectRow& object : row.objects)
    name_bytes += object.info.name.size() + object.info.type_name.size() + 128;
  if (name_bytes > kMaxRowBytes / 2) {
    fail(ErrorCode::kInvalidArgument, "{} objects with {} bytes of names do not fit one checkpoint", row.objects.size(),
         name_bytes);
  }
  Builder builder(1024);
  const Bytes metadata = row.metadata.empty() ? Bytes() : create_bytes(builder, encode_value(row.metadata));
  std::vector<flatbuffers::Offset<fb::Object>> objects;
  objects.reserve(row.objects.size());
  for (const ObjectRow& object : row.objects) objects.push_back(encode(builder, object));
  const auto object_vector = builder.CreateVector(objects);
  const auto libraries = builder.CreateVectorOfStrings(row.libraries);
  const auto root = fb::CreateCheckpoint(builder, row.parent, row.created_at_us, metadata, object_vector,
                                         row.logical_bytes, row.written_bytes, libraries);
  return finish(builder, root, kCheckpointIdentifier);
}

std::string encode(const EntryRow& row) {
  Builder builder(256);
  flatbuffers::Offset<fb::Tensor> tensor;
  Bytes value;
  if (const auto* stored = std::get_if<TensorRow>(&row.payload)) {
    tensor = encode(builder, *stored);
  } else {
    value = create_bytes(builder, encode_value(std::get<Value>(row.payload)));
  }
  return finish(builder, fb::CreateEntry(builder, row.ordinal, tensor, value), kEntryIdentifier);
}

std::uint64_t chunk_count(std::uint64_t nbytes, std::uint32_t chunk_size) {
  return nbytes / chunk_size + (nbytes % chunk_size != 0 ? 1 : 0);
}

std::uint32_t chunk_length(std::uint64_t nbytes, std::uint32_t chunk_size, std::uint64_t index) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk_size, nbytes - index * chunk_size));
}

void StateDigest::add(std::string_view name, std::string_view row) {
  const auto update = [this](std::string_view bytes) {
    const std::uint64_t length = bytes.size();
    stream_.update(std::as_bytes(std::span(&length, 1)));
    stream_.update(std::as_bytes(std::span(bytes)));
  };
  update(name);
  update(row);
}

void check_object_name(std::string_view name) {
  if (name.empty()) fail(ErrorCode::kInvalidArgument, "an object name is empty");
  if (name.size() > kMaxNameBytes) {
    fail(ErrorCode::kInvalidArgument, "object name '{}' is longer than {} bytes", printable(name), kMaxNameBytes);
  }
  if (name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) {
    fail(ErrorCode::kInvalidArgument, "object name '{}' holds a slash or a NUL byte", printable(name));
  }
}

void check_entry_name(std::string_view object, std::string_view name) {
  if (name.size() > kMaxNameBytes) {
    fail(ErrorCode::kInvalidArgument, "object '{}': entry name '{}' is longer than {} bytes", printable(object),
         printable(name), kMaxNameBytes);
  }
}

}  // namespace cairn::format
