// Decoding rows: aligned copy, FlatBuffers' verifier, then every rule of schemas/cairn.fbs that it does not know.
#include <cstring>
#include <limits>
#include <memory>
#include <unordered_set>

#include <flatbuffers/flatbuffers.h>

#include "format/cairn_generated.h"
#include "format/fail.h"
#include "format/keys.h"
#include "format/row_identifiers.h"
#include "format/rows.h"
#include "format/values.h"

namespace cairn::format {

namespace {

[[noreturn]] void fail_row(std::string_view row, std::string_view what) {
  fail(ErrorCode::kCorruption, "{} row: {}", row, what);
}

/// A verified row in memory that is aligned for every scalar.
template <typename Table>
class VerifiedRow {
 public:
  VerifiedRow(std::string_view bytes, const char* identifier, std::string_view name)
      : bytes_(std::make_unique<std::uint64_t[]>(bytes.size() / sizeof(std::uint64_t) + 1)) {
    if (bytes.size() < 8) fail_row(name, "shorter than a FlatBuffer");
    if (bytes.size() >= std::numeric_limits<std::int32_t>::max()) fail_row(name, "longer than a FlatBuffer");
    std::memcpy(bytes_.get(), bytes.data(), bytes.size());
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes_.get());
    flatbuffers::Verifier verifier(data, bytes.size());
    if (!verifier.VerifyBuffer<Table>(identifier)) {
      fail_row(name, fmt::format("its {} bytes are not a well-formed '{}' FlatBuffer", bytes.size(), identifier));
    }
    root_ = flatbuffers::GetRoot<Table>(data);
  }

  const Table* operator->() const { return root_; }

 private:
  std::unique_ptr<std::uint64_t[]> bytes_;
  const Table* root_;
};

/// FlatBuffers' verifier looks at the place of a vector's size, not at that of its elements.
template <typename T>
bool is_aligned(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0;
}

std::string_view view_of(const flatbuffers::Vector<std::uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

Digest from_fb(const fb::Digest& digest) { return {digest.low(), digest.high()}; }

std::vector<std::int64_t> decode_numbers(const flatbuffers::Vector<std::int64_t>* numbers) {
  if (numbers == nullptr) return {};
  if (!is_aligned(reinterpret_cast<const std::int64_t*>(numbers->Data()))) fail_row("entry", "a vector is misaligned");
  std::vector<std::int64_t> decoded;
  decoded.reserve(numbers->size());
  for (const std::int64_t number : *numbers) decoded.push_back(number);
  return decoded;
}

TensorLayout decode_layout(const fb::Tensor& tensor) {
  TensorLayout layout;
  const auto number = static_cast<std::uint8_t>(tensor.dtype());
  const std::optional<DType> dtype = dtype_from_number(number);
  if (!dtype) fail_row("entry", fmt::format("unknown dtype {}", number));
  layout.dtype = *dtype;
  layout.sizes = decode_numbers(tensor.sizes());
  layout.requires_grad = tensor.requires_grad();
  try {
    nbytes_of(layout);  // before strides are derived from sizes
    layout.strides = tensor.strides() == nullptr ? row_major_strides(layout.sizes) : decode_numbers(tensor.strides());
    dimension_order(layout);
  } catch (const Error& error) {
    fail_row("entry", error.what());
  }
  return layout;
}

TensorRow decode_tensor(const fb::Tensor& tensor, std::uint32_t chunk_size) {
  TensorRow row;
  row.layout = decode_layout(tensor);
  const std::uint64_t nbytes = nbytes_of(row.layout);
  const auto* chunks = tensor.chunks();
  if (chunks == nullptr || chunks->size() == 0) {
    const std::string_view bytes = view_of(tensor.inline_bytes());
    if (nbytes > kMaxInlineBytes || bytes.size() != nbytes) {
      fail_row("entry", fmt::format("{} has {} inline bytes, no chunks", describe(row.layout), bytes.size()));
    }
    const auto span = std::as_bytes(std::span(bytes));
    row.inline_bytes.assign(span.begin(), span.end());
    return row;
  }
  const std::uint64_t expected = nbytes <= kMaxInlineBytes ? 0 : chunk_count(nbytes, chunk_size);
  if (chunks->size() != expected || tensor.inline_bytes() != nullptr) {
    fail_row("entry", fmt::format("{}: expected {} chunks, found {}", describe(row.layout), expected, chunks->size()));
  }
  if (!is_aligned(reinterpret_cast<const fb::ChunkRef*>(chunks->Data()))) fail_row("entry", "a vector is misaligned");
  row.chunks.reserve(chunks->size());
  for (const fb::ChunkRef* chunk : *chunks) row.chunks.push_back({chunk->id(), from_fb(chunk->digest())});
  return row;
}

ObjectRow decode_object(const fb::Object& object) {
  constexpr std::string_view kRow = "checkpoint";
  ObjectRow row;
  row.info.name = view_of(object.name());
  try {
    check_object_name(row.info.name);
  } catch (const Error& error) {
    fail_row(kRow, error.what());
  }
  const auto kind = static_cast<std::uint8_t>(object.kind());
  if (kind > static_cast<std::uint8_t>(ObjectKind::kUser)) fail_row(kRow, fmt::format("unknown object kind {}", kind));
  row.info.kind = static_cast<ObjectKind>(kind);
  row.info.type_name = view_of(object.type_name());
  row.info.entry_count = object.entry_count();
  row.info.bytes = object.bytes();
  row.state = object.state();
  if (row.state == 0) fail_row(kRow, fmt::format("object '{}' has no state", printable(row.info.name)));
  if (object.state_digest() == nullptr || !is_aligned(object.state_digest())) {
    fail_row(kRow, fmt::format("object '{}' has no state digest", printable(row.info.name)));
  }
  row.state_digest = from_fb(*object.state_digest());
  return row;
}

}  // namespace

StoreHeader decode_header(std::string_view bytes) {
  constexpr std::string_view kRow = "header";
  const VerifiedRow<fb::StoreHeader> row(bytes, kHeaderIdentifier, kRow);
  StoreHeader header;
  header.format_version = row->format_version();
  header.min_reader_version = row->min_reader_version();
  if (header.min_reader_version == 0 || header.min_reader_version > header.format_version) {
    fail_row(kRow,
             fmt::format("format {} readable from format {} on", header.format_version, header.min_reader_version));
  }
  if (header.min_reader_version > kFormatVersion) {
    fail(ErrorCode::kUnsupportedVersion,
         "the store has format {}, which needs a library that reads format {} or newer; this one reads format {}",
         header.format_version, header.min_reader_version, kFormatVersion);
  }
  header.chunk_size = row->chunk_size();
  if (header.chunk_size < kMinChunkSize || header.chunk_size > kMaxChunkSize ||
      header.chunk_size % kMinChunkSize != 0) {
    fail_row(kRow, fmt::format("chunk size {}", header.chunk_size));
  }
  header.next_version = row->next_version();
  header.next_state = row->next_state();
  header.next_segment = row->next_segment();
  if (header.next_version == 0 || header.next_state == 0 || header.next_segment == 0 ||
      header.next_segment >= kMaxSegment) {
    fail_row(kRow, fmt::format("counters {}, {}, {}", header.next_version, header.next_state, header.next_segment));
  }
  return header;
}

CheckpointRow decode_checkpoint(std::uint64_t version, std::string_view bytes) {
  constexpr std::string_view kRow = "checkpoint";
  const VerifiedRow<fb::Checkpoint> stored(bytes, kCheckpointIdentifier, kRow);
  CheckpointRow row;
  row.parent = stored->parent();
  if (row.parent >= version) fail_row(kRow, fmt::format("version {} descends from {}", version, row.parent));
  row.created_at_us = stored->created_at_us();
  if (stored->metadata() != nullptr) {
    const Value metadata = decode_value(view_of(stored->metadata()));
    if (metadata.type() != Value::Type::kMap) fail_row(kRow, "metadata is not a map");
    row.metadata = metadata.as_map();
  }
  if (stored->objects() != nullptr) {
    std::unordered_set<std::string_view> names;
    row.objects.reserve(stored->objects()->size());
    std::uint64_t object_bytes = 0;
    for (const fb::Object* object : *stored->objects()) {
      row.objects.push_back(decode_object(*object));
      const ObjectRow& added = row.objects.back();
      if (!names.insert(added.info.name).second) {
        fail_row(kRow, fmt::format("object '{}' is there twice", printable(added.info.name)));
      }
      if (added.info.bytes > std::numeric_limits<std::uint64_t>::max() - object_bytes) fail_row(kRow, "sizes overflow");
      object_bytes += added.info.bytes;
    }
    row.logical_bytes = object_bytes;
  }
  if (row.logical_bytes != stored->logical_bytes()) {
    fail_row(kRow, fmt::format("its objects have {} bytes, it says {}", row.logical_bytes, stored->logical_bytes()));
  }
  row.written_bytes = stored->written_bytes();
  if (stored->libraries() != nullptr) {
    for (const flatbuffers::String* library : *stored->libraries()) row.libraries.push_back(library->str());
  }
  return row;
}

EntryRow decode_entry(std::string_view bytes, std::uint32_t chunk_size) {
  const VerifiedRow<fb::Entry> stored(bytes, kEntryIdentifier, "entry");
  if ((stored->tensor() == nullptr) == (stored->value() == nullptr)) {
    fail_row("entry", "it must have either a tensor or a value");
  }
  EntryRow row;
  row.ordinal = stored->ordinal();
  if (stored->tensor() != nullptr) {
    row.payload = decode_tensor(*stored->tensor(), chunk_size);
  } else {
    row.payload = decode_value(view_of(stored->value()));
  }
  return row;
}

}  // namespace cairn::format
