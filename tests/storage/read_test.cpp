// Reading chunks: ranges, callbacks, several owners of one chunk; and the copy that digests on its way.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "format/digest.h"
#include "format/keys.h"
#include "storage/catalog.h"
#include "storage/chunk_reader.h"
#include "storage/file_access.h"
#include "storage/scratch_database.h"
#include "storage/verified_copy.h"
#include "storage/workers.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

format::TensorRow tensor_of(const storage::Database& database, std::uint64_t version, const std::string& name) {
  const auto checkpoint = storage::find_checkpoint(database, version);
  return std::get<format::TensorRow>(storage::find_entry(database, checkpoint->row.objects.at(0).state, name)->payload);
}

}  // namespace

TEST_CASE("a verified copy copies every byte and has the digest of the whole, at any address and length") {
  format::DigestStream stream;
  for (const std::size_t size :
       {0u, 1u, 15u, 16u, 17u, 63u, 64u, 65u, 1000u, 16384u, 65535u, 65536u, 65537u, 100'003u, 300'000u}) {
    const Bytes from = bytes_of(size, size + 32);
    for (const std::size_t shift : {0u, 1u, 7u, 8u, 15u}) {
      Bytes to(size + 64, std::byte{0xee});
      const std::span<const std::byte> source(from.data() + shift, size);
      CHECK(storage::verified_copy(source, to.data() + 16 + shift, stream) == format::digest_of(source));
      CHECK(std::equal(source.begin(), source.end(), to.begin() + 16 + static_cast<std::ptrdiff_t>(shift)));
      CHECK(to[15 + shift] == std::byte{0xee});
      CHECK(to[16 + shift + size] == std::byte{0xee});
      Bytes again(size + 64, std::byte{0xee});
      storage::streaming_copy(source, again.data() + 16 + shift);
      CHECK(again == to);
    }
  }
}

TEST_CASE("ranges of chunks are read, and only they") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const std::size_t size = GENERATE(std::size_t{40 * kSmallChunkSize + 77}, std::size_t{2 * kSmallChunkSize + 77});
  const Bytes bytes = bytes_of(1, size);
  commit(*database, {{"model", {{"w", bytes}}}});
  const format::TensorRow tensor = tensor_of(*database, 1, "w");
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 1},
                                   {5, 5},
                                   {kSmallChunkSize - 1, kSmallChunkSize + 1},
                                   {10, size - 10},
                                   {size - 1, size},
                                   {0, size}}) {
    Bytes out(end - begin);
    std::vector<storage::ChunkRead> reads;
    for (std::size_t index = 0; index < tensor.chunks.size(); ++index) {
      const std::size_t first = index * kSmallChunkSize;
      const std::uint32_t length = format::chunk_length(size, kSmallChunkSize, index);
      if (first >= end || first + length <= begin) continue;
      storage::ChunkRead& read = reads.emplace_back();
      read.chunk = tensor.chunks[index];
      read.length = length;
      read.begin = static_cast<std::uint32_t>(std::max(begin, first) - first);
      read.end = static_cast<std::uint32_t>(std::min(end, first + length) - first);
      read.data = out.data() + (first + read.begin - begin);
      read.owner = "model/w";
    }
    const auto check = GENERATE_COPY(storage::DigestCheck::kWhileCopying, storage::DigestCheck::kNone);
    storage::ReadOptions options;
    options.threads = 2;
    options.check = check;
    storage::read_chunks(*database, reads, options);
    CHECK(std::equal(out.begin(), out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin)));
  }
}

TEST_CASE("a callback gets every byte once, with its place") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const Bytes bytes = bytes_of(1, 30 * kSmallChunkSize + 5);
  const Bytes tiny = bytes_of(2, 9);
  commit(*database, {{"model", {{"w", bytes}, {"tiny", tiny}}}});
  for (const std::string name : {"w", "tiny"}) {
    const Bytes& wanted = name == "w" ? bytes : tiny;
    Bytes out(wanted.size());
    std::atomic<std::size_t> count{0};
    const std::function<void(std::uint64_t, std::span<const std::byte>)> write = [&](std::uint64_t offset,
                                                                                     std::span<const std::byte> piece) {
      std::memcpy(out.data() + offset, piece.data(), piece.size());
      count += piece.size();
    };
    std::vector<storage::ChunkRead> reads;
    storage::plan_reads(tensor_of(*database, 1, name), kSmallChunkSize, nullptr, &write, name, reads);
    storage::ReadOptions options;
    options.threads = 3;
    storage::read_chunks(*database, std::move(reads), options);
    CHECK(count == wanted.size());
    CHECK(out == wanted);
  }
}

TEST_CASE("one chunk goes to all that want it, and only checking copies nothing") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const Bytes tensor = bytes_of(1, 25 * kSmallChunkSize);
  commit(*database, {{"model", {{"a", tensor}, {"b", tensor}}}});
  Bytes a(tensor.size());
  Bytes b(tensor.size());
  std::vector<storage::ChunkRead> reads;
  storage::plan_reads(tensor_of(*database, 1, "a"), kSmallChunkSize, a.data(), nullptr, "a", reads);
  storage::plan_reads(tensor_of(*database, 1, "b"), kSmallChunkSize, b.data(), nullptr, "b", reads);
  storage::ReadOptions options;
  options.check = storage::DigestCheck::kOnly;
  std::vector<std::uint64_t> done;
  options.progress = [&](std::uint64_t now, std::uint64_t all) {
    done.push_back(now);
    CHECK(all == 2 * tensor.size());
  };
  storage::read_chunks(*database, reads, options);
  CHECK(a == Bytes(tensor.size()));
  CHECK(done.front() == 0);
  CHECK(done.back() == 2 * tensor.size());
  options.check = storage::DigestCheck::kWhileCopying;
  storage::read_chunks(*database, reads, options);
  CHECK(a == tensor);
  CHECK(b == tensor);
  storage::read_chunks(*database, {}, {});
}

TEST_CASE("a chunk with another length or digest than its entry says is refused") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  const Bytes tensor = bytes_of(1, kSmallChunkSize);
  commit(*database, {{"model", {{"w", tensor}}}});
  const format::TensorRow row = tensor_of(*database, 1, "w");
  Bytes out(tensor.size());
  std::vector<storage::ChunkRead> reads;
  storage::plan_reads(row, kSmallChunkSize, out.data(), nullptr, "model/w", reads);
  const auto refused = [&](storage::ChunkRead read) {
    const std::string message =
        message_of(ErrorCode::kCorruption, [&] { storage::read_chunks(*database, {read}, {}); });
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring("model/w"));
  };
  storage::ChunkRead read = reads.at(0);
  read.chunk.digest.low ^= 1;
  refused(read);
  read = reads[0];
  read.length = read.end = kSmallChunkSize - 1;
  refused(read);
  read = reads[0];
  read.chunk.id = format::small_chunk_id(900, 3);
  refused(read);
  read.chunk.id = format::chunk_id(900, 3);
  refused(read);
}

TEST_CASE("workers all run, and the exception of the lowest is the one that is seen") {
  std::mutex mutex;
  std::vector<unsigned> seen;
  storage::run_workers(5, [&](unsigned worker) {
    const std::lock_guard<std::mutex> lock(mutex);
    seen.push_back(worker);
  });
  std::sort(seen.begin(), seen.end());
  CHECK(seen == std::vector<unsigned>{0, 1, 2, 3, 4});
  std::atomic<unsigned> finished{0};
  CHECK_THROWS_WITH(storage::run_workers(4,
                                         [&](unsigned worker) {
                                           ++finished;
                                           if (worker >= 1) throw std::runtime_error(std::to_string(worker));
                                         }),
                    "1");
  CHECK(finished == 4);
  CHECK(storage::default_threads() >= 1);
}

TEST_CASE("with read calls instead of mapped files the same bytes come back, and damage is found", "[storage][read]") {
  const storage::FileAccess access = GENERATE(storage::FileAccess::kMapped, storage::FileAccess::kRead);
  ScratchDatabase scratch;
  storage::DatabaseOptions options = ScratchDatabase::small_chunks();
  options.access = access;
  TestState state = model_of(1, 6, 30 * kSmallChunkSize + 11);
  state.push_back(model_of(9, 3, 1000)[0]);
  state[1].name = "small";
  {
    const auto database = scratch.open(options);
    CHECK(database->is_mapped() == (access == storage::FileAccess::kMapped));
    commit(*database, state);
    CHECK(read_back(*database, 1, 3) == state);
  }
  const auto database = scratch.open(options);
  CHECK(read_back(*database, 1) == state);
  CHECK(problems_of(*database) == "");
}

TEST_CASE("files of another machine are read, not mapped", "[storage][read]") {
  using storage::FileAccess;
  for (const std::uint32_t kind : {0x6969u, 0xFF534D42u, 0xFE534D42u, 0x65735546u, 0x00C36400u, 0x0BD00BD0u}) {
    CHECK(storage::is_network_file_system(kind));
  }
  for (const std::uint32_t kind :
       {0xEF53u, 0x58465342u, 0x9123683Eu, 0x01021994u, 0x794C7630u}) {  // ext4, xfs, btrfs, tmpfs, overlay
    CHECK_FALSE(storage::is_network_file_system(kind));
  }
  ScratchDirectory directory;
  CHECK(storage::resolve(FileAccess::kAutomatic, directory.path()) == FileAccess::kMapped);
  CHECK(storage::resolve(FileAccess::kAutomatic, directory.path() / "absent") == FileAccess::kRead);
  CHECK(storage::resolve(FileAccess::kRead, directory.path()) == FileAccess::kRead);
}
