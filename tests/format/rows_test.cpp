// Rows: what goes in comes out, what breaks a rule of schemas/cairn.fbs is refused, whatever its bytes and address.
#include "format/rows.h"

#include <cstring>
#include <limits>
#include <memory>

#include <flatbuffers/flatbuffers.h>

#include "format/cairn_generated.h"
#include "format/errors.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::format;
using cairn::testing::raised_by;
using cairn::testing::returns_or_raises;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::uint32_t kChunk = kMinChunkSize;

CheckpointRow sample_checkpoint() {
  CheckpointRow row;
  row.parent = 3;
  row.created_at_us = 1'700'000'000'000'000;
  row.metadata = {{"step", 7}, {"loss", 0.25}};
  row.objects.push_back({{"model", ObjectKind::kModule, "", 2, 80'000}, 5, {1, 2}});
  row.objects.push_back({{"optimizer", ObjectKind::kOptimizer, "Adam", 4, 160'000}, 6, {3, 4}});
  row.logical_bytes = 240'000;
  row.written_bytes = 12;
  row.libraries = {"cairn 0.1.0"};
  return row;
}

EntryRow tensor_entry(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides = {}) {
  TensorRow tensor;
  tensor.layout.sizes = std::move(sizes);
  tensor.layout.strides = strides.empty() ? row_major_strides(tensor.layout.sizes) : std::move(strides);
  tensor.layout.requires_grad = true;
  const std::uint64_t nbytes = nbytes_of(tensor.layout);
  if (nbytes <= kMaxInlineBytes) {
    tensor.inline_bytes.resize(nbytes, std::byte{9});
  } else {
    for (std::uint64_t i = 0; i < chunk_count(nbytes, kChunk); ++i) tensor.chunks.push_back({100 + i, {i, ~i}});
  }
  return {11, std::move(tensor)};
}

const TensorRow& tensor_of(const EntryRow& row) { return std::get<TensorRow>(row.payload); }

/// A row built by hand, to break rules that the encoder keeps.
template <typename Build>
std::string raw(const char* identifier, Build build) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(build(builder), identifier);
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

std::string raw_entry(const std::function<flatbuffers::Offset<fb::Tensor>(flatbuffers::FlatBufferBuilder&)>& tensor) {
  return raw("CRNE", [&](auto& builder) { return fb::CreateEntry(builder, 0, tensor(builder)); });
}

void check_hostile(const std::string& bytes, const std::function<void(std::string_view)>& decode) {
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto raised = raised_by([&] { decode(std::string_view(bytes).substr(0, length)); });
    if (raised.code && raised.code != ErrorCode::kCorruption) FAIL("length " << length << ": " << raised.message);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto raised = raised_by([&] { decode(changed); });
      if (raised.code && raised.code != ErrorCode::kCorruption && raised.code != ErrorCode::kUnsupportedVersion) {
        FAIL("byte " << i << ": " << raised.message);
      }
    }
  }
}

}  // namespace

TEST_CASE("a header comes back from its bytes", "[format][rows]") {
  const StoreHeader header{1, 1, 1u << 20, 42, 43, 44};
  CHECK(decode_header(encode(header)) == header);
}

TEST_CASE("a header that breaks a rule is refused", "[format][rows][malformed]") {
  const auto refused = [](const StoreHeader& header) { return raised_by([&] { decode_header(encode(header)); }).code; };
  CHECK(refused({1, 1, kMinChunkSize - 1, 1, 1, 1}) == ErrorCode::kCorruption);
  CHECK(refused({1, 1, kMaxChunkSize * 2, 1, 1, 1}) == ErrorCode::kCorruption);
  CHECK(refused({1, 1, kMinChunkSize + 1, 1, 1, 1}) == ErrorCode::kCorruption);
  CHECK(refused({1, 1, kMinChunkSize, 0, 1, 1}) == ErrorCode::kCorruption);
  CHECK(refused({1, 1, kMinChunkSize, 1, 0, 1}) == ErrorCode::kCorruption);
  CHECK(refused({1, 1, kMinChunkSize, 1, 1, 0}) == ErrorCode::kCorruption);
  CHECK(refused({1, 1, kMinChunkSize, 1, 1, std::uint64_t{1} << 43}) == ErrorCode::kCorruption);
  CHECK(refused({1, 0, kMinChunkSize, 1, 1, 1}) == ErrorCode::kCorruption);
  CHECK(refused({1, 2, kMinChunkSize, 1, 1, 1}) == ErrorCode::kCorruption);
  CHECK(refused({2, 2, kMinChunkSize, 1, 1, 1}) == ErrorCode::kUnsupportedVersion);
  CHECK_FALSE(refused({2, 1, kMinChunkSize, 1, 1, 1}));
}

TEST_CASE("a checkpoint row comes back from its bytes", "[format][rows]") {
  const CheckpointRow row = sample_checkpoint();
  const CheckpointRow read = decode_checkpoint(9, encode(row));
  CHECK(read.parent == row.parent);
  CHECK(read.created_at_us == row.created_at_us);
  CHECK(read.metadata == row.metadata);
  REQUIRE(read.objects.size() == 2);
  CHECK(read.objects[1].info.name == "optimizer");
  CHECK(read.objects[1].info.type_name == "Adam");
  CHECK(read.objects[1].info.kind == ObjectKind::kOptimizer);
  CHECK(read.objects[1].state == 6);
  CHECK(read.objects[1].state_digest == Digest{3, 4});
  CHECK(read.logical_bytes == 240'000);
  CHECK(read.libraries == row.libraries);
  CHECK(decode_checkpoint(1, encode(CheckpointRow{})).objects.empty());
}

TEST_CASE("a checkpoint row that breaks a rule is refused", "[format][rows][malformed]") {
  const auto refused = [](const std::function<void(CheckpointRow&)>& change, std::string_view why) {
    CheckpointRow row = sample_checkpoint();
    change(row);
    const auto raised = raised_by([&] { decode_checkpoint(9, encode(row)); });
    INFO(raised.message);
    CHECK(raised.code == ErrorCode::kCorruption);
    CHECK_THAT(raised.message, ContainsSubstring(std::string(why)));
  };
  refused([](auto& row) { row.parent = 9; }, "descends from 9");
  refused([](auto& row) { row.objects[0].info.name = ""; }, "empty");
  refused([](auto& row) { row.objects[0].info.name = "a/b"; }, "slash");
  refused([](auto& row) { row.objects[1].info.name = "model"; }, "twice");
  refused([](auto& row) { row.objects[0].state = 0; }, "no state");
  refused([](auto& row) { row.objects[0].info.kind = static_cast<ObjectKind>(99); }, "kind 99");
  refused([](auto& row) { row.logical_bytes = 1; }, "it says 1");
  refused([](auto& row) { row.objects[0].info.bytes = row.objects[1].info.bytes = ~std::uint64_t{0}; }, "overflow");
}

TEST_CASE("tensor entries of every shape come back from their bytes", "[format][rows]") {
  for (const EntryRow& row :
       {tensor_entry({}), tensor_entry({0}), tensor_entry({3, 0, 2}), tensor_entry({64}), tensor_entry({65}),
        tensor_entry({200, 400}), tensor_entry({8, 3, 30, 30}, {2700, 1, 90, 3}), tensor_entry({16384}),
        tensor_entry({16385})}) {
    const EntryRow read = decode_entry(encode(row), kChunk);
    CHECK(read.ordinal == 11);
    CHECK(tensor_of(read).layout == tensor_of(row).layout);
    CHECK(tensor_of(read).inline_bytes == tensor_of(row).inline_bytes);
    CHECK(tensor_of(read).chunks == tensor_of(row).chunks);
  }
}

TEST_CASE("plain values come back as entries", "[format][rows]") {
  const EntryRow row{3, Value(ValueList{1, "x"})};
  CHECK(std::get<Value>(decode_entry(encode(row), kChunk).payload) == Value(ValueList{1, "x"}));
}

TEST_CASE("an entry that breaks a rule is refused", "[format][rows][malformed]") {
  const auto refused = [](const std::string& bytes, std::string_view why) {
    const auto raised = raised_by([&] { decode_entry(bytes, kChunk); });
    INFO(raised.message);
    CHECK(raised.code == ErrorCode::kCorruption);
    CHECK_THAT(raised.message, ContainsSubstring(std::string(why)));
  };
  using Vector = std::vector<std::int64_t>;
  const std::vector<std::uint8_t> four(4);
  refused(raw("CRNE", [](auto& builder) { return fb::CreateEntry(builder); }), "either");
  refused(raw("CRNC", [](auto& builder) { return fb::CreateEntry(builder); }), "well-formed");
  refused(raw_entry([&](auto& b) { return fb::CreateTensor(b, static_cast<fb::DType>(200)); }), "dtype 200");
  refused(raw_entry([&](auto& b) { return fb::CreateTensor(b, fb::DType::float32, b.CreateVector(Vector{-1})); }),
          "negative");
  refused(raw_entry([&](auto& b) {
            return fb::CreateTensor(b, fb::DType::float32,
                                    b.CreateVector(Vector{std::int64_t{1} << 33, std::int64_t{1} << 33}));
          }),
          "2^62");
  refused(raw_entry([&](auto& b) {
            return fb::CreateTensor(b, fb::DType::float32, b.CreateVector(Vector{2, 2}), b.CreateVector(Vector{3, 1}));
          }),
          "not dense");
  refused(raw_entry([&](auto& b) {
            return fb::CreateTensor(b, fb::DType::float32, b.CreateVector(Vector{2, 2}), b.CreateVector(Vector{1}));
          }),
          "1 strides for 2");
  refused(raw_entry([&](auto& b) { return fb::CreateTensor(b, fb::DType::float32, b.CreateVector(Vector{2})); }),
          "0 inline");
  refused(raw_entry([&](auto& b) {
            return fb::CreateTensor(b, fb::DType::float32, b.CreateVector(Vector{2}), 0, false, b.CreateVector(four));
          }),
          "4 inline");
  refused(raw_entry([&](auto& b) { return fb::CreateTensor(b, fb::DType::float32, b.CreateVector(Vector{1000})); }),
          "no chunks");
  EntryRow wrong = tensor_entry({200, 400});
  std::get<TensorRow>(wrong.payload).chunks.pop_back();
  refused(encode(wrong), "expected 5 chunks, found 4");
  EntryRow small = tensor_entry({2});
  std::get<TensorRow>(small.payload).chunks.push_back({});
  refused(encode(small), "expected 0 chunks, found 1");
}

TEST_CASE("rows that are cut or have any byte changed decode or are refused", "[format][rows][malformed]") {
  check_hostile(encode(StoreHeader{}), [](std::string_view bytes) { decode_header(bytes); });
  check_hostile(encode(sample_checkpoint()), [](std::string_view bytes) { decode_checkpoint(9, bytes); });
  check_hostile(encode(tensor_entry({8, 3, 30, 30}, {2700, 1, 90, 3})),
                [](std::string_view bytes) { decode_entry(bytes, kChunk); });
  check_hostile(encode(tensor_entry({3, 4})), [](std::string_view bytes) { decode_entry(bytes, kChunk); });
  check_hostile(encode(EntryRow{0, Value(ValueMap{{"a", 1}})}),
                [](std::string_view bytes) { decode_entry(bytes, kChunk); });
}

TEST_CASE("rows are read at any address", "[format][rows]") {
  const std::string bytes = encode(tensor_entry({200, 400}));
  for (std::size_t offset = 0; offset < 8; ++offset) {
    const auto buffer = std::make_unique<char[]>(bytes.size() + offset);
    std::memcpy(buffer.get() + offset, bytes.data(), bytes.size());
    CHECK(tensor_of(decode_entry({buffer.get() + offset, bytes.size()}, kChunk)).chunks.size() == 5);
  }
}

TEST_CASE("chunks cover a tensor without a gap", "[format][rows]") {
  for (const std::uint64_t nbytes : {std::uint64_t{1}, std::uint64_t{kChunk} - 1, std::uint64_t{kChunk},
                                     std::uint64_t{kChunk} + 1, std::uint64_t{5} << 32}) {
    const std::uint64_t count = chunk_count(nbytes, kChunk);
    CHECK((count - 1) * kChunk + chunk_length(nbytes, kChunk, count - 1) == nbytes);
    CHECK(chunk_length(nbytes, kChunk, count - 1) > 0);
  }
  CHECK(chunk_count(0, kChunk) == 0);
}

TEST_CASE("the digest of a state depends on names, rows and where one ends", "[format][rows]") {
  const auto digest = [](std::vector<std::pair<std::string, std::string>> rows) {
    StateDigest state;
    for (const auto& [name, row] : rows) state.add(name, row);
    return state.finish();
  };
  CHECK(digest({{"a", "bc"}}) == digest({{"a", "bc"}}));
  CHECK(digest({{"a", "bc"}}) != digest({{"ab", "c"}}));
  CHECK(digest({{"a", "b"}, {"c", "d"}}) != digest({{"c", "d"}, {"a", "b"}}));
  CHECK(digest({}) == digest_of({}));
}

TEST_CASE("names that cannot be kept are refused", "[format][rows]") {
  CHECK(raised_by([] { check_object_name(""); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { check_object_name("a/b"); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { check_object_name(std::string_view("a\0b", 3)); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { check_object_name(std::string(kMaxNameBytes + 1, 'x')); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { check_entry_name("o", std::string(kMaxNameBytes + 1, 'x')); }).code ==
        ErrorCode::kInvalidArgument);
  CHECK_FALSE(raised_by([] { check_object_name("model.\xff 2"); }).code);
  CHECK_FALSE(raised_by([] { check_entry_name("o", std::string(kMaxNameBytes, 'x')); }).code);
}
