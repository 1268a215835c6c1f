#include "storage/scratch_database.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "storage/catalog.h"
#include "storage/chunk_reader.h"
#include "support/catch.h"

namespace cairn::testing {

namespace fs = std::filesystem;

Bytes bytes_of(std::uint64_t seed, std::size_t size) {
  Bytes bytes(size);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t i = 0; i < size; i += sizeof(state)) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(bytes.data() + i, &state, std::min(sizeof(state), size - i));
  }
  return bytes;
}

TestState model_of(std::uint64_t seed, std::size_t tensors, std::size_t bytes) {
  TestObject model{"model", {}};
  for (std::size_t i = 0; i < tensors; ++i) {
    model.entries.emplace_back(fmt::format("layer.{}.weight", i), bytes_of(seed * 1000 + i, bytes));
  }
  return {std::move(model)};
}

storage::NewCheckpoint checkpoint_of(const TestState& state) {
  storage::NewCheckpoint checkpoint;
  checkpoint.created_at_us = 1700000000000000;
  for (const TestObject& object : state) {
    storage::NewObject& added = checkpoint.objects.emplace_back();
    added.name = object.name;
    for (const auto& [name, payload] : object.entries) {
      if (const auto* value = std::get_if<Value>(&payload)) {
        added.entries.push_back({name, *value});
        continue;
      }
      const Bytes& bytes = std::get<Bytes>(payload);
      storage::NewTensor tensor;
      tensor.layout.dtype = format::DType::kUInt8;
      tensor.layout.sizes = {static_cast<std::int64_t>(bytes.size())};
      tensor.layout.strides = {1};
      tensor.bytes.nbytes = bytes.size();
      tensor.bytes.data = bytes.data();
      added.entries.push_back({name, std::move(tensor)});
    }
  }
  return checkpoint;
}

storage::CommitResult commit(storage::Database& database, const TestState& state,
                             const storage::CommitOptions& options) {
  return storage::commit(database, checkpoint_of(state), options);
}

TestState read_back(const storage::Database& database, std::uint64_t version, unsigned threads) {
  const auto checkpoint = storage::find_checkpoint(database, version);
  if (!checkpoint) throw Error(ErrorCode::kNotFound, fmt::format("no checkpoint {}", version));
  TestState state;
  std::vector<storage::ChunkRead> reads;
  std::deque<std::string> owners;
  for (const format::ObjectRow& object : checkpoint->row.objects) {
    TestObject& read = state.emplace_back();
    read.name = object.info.name;
    for (format::Entry& entry : storage::read_state(database, object)) {
      if (auto* value = std::get_if<Value>(&entry.row.payload)) {
        read.entries.emplace_back(entry.name, std::move(*value));
        continue;
      }
      const auto& tensor = std::get<format::TensorRow>(entry.row.payload);
      read.entries.emplace_back(entry.name, Bytes(format::nbytes_of(tensor.layout)));
      owners.push_back(read.name + "/" + entry.name);
      storage::plan_reads(tensor, database.chunk_size(), std::get<Bytes>(read.entries.back().second).data(), nullptr,
                          owners.back(), reads);
    }
  }
  storage::ReadOptions options;
  options.threads = threads;
  storage::read_chunks(database, std::move(reads), options);
  return state;
}

std::string problems_of(const storage::Database& database) {
  std::string lines;
  for (const storage::VerifyProblem& problem : storage::verify(database, 2, {}).problems) {
    lines += fmt::format("invariant {}: {}\n", problem.invariant, problem.message);
  }
  return lines;
}

std::string message_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    INFO(error.what());
    REQUIRE(to_string(error.code()) == to_string(code));
    return error.what();
  }
  FAIL("expected an error " << to_string(code));
  return {};
}

bool is_long_run() {
  const char* value = std::getenv("CAIRN_TEST_LONG");
  return value != nullptr && std::string_view(value) == "1";
}

namespace {

/// In memory where there is room: a store is opened some thousand times, and each time syncs.
fs::path scratch_root() {
  if (std::getenv("TMPDIR") != nullptr) return fs::temp_directory_path();
  std::error_code error;
  const fs::path memory = "/dev/shm";
  const fs::space_info space = fs::space(memory, error);
  const bool is_usable = !error && space.available > (std::uintmax_t{1} << 30) && access(memory.c_str(), W_OK) == 0;
  return is_usable ? memory : fs::temp_directory_path();
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  std::string name = (scratch_root() / "cairn-storage-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

ScratchDatabase::~ScratchDatabase() {
  if (is_damaged_ || !fs::exists(path() / "CAIRN")) return;
  try {
    CHECK(problems_of(*open()) == "");
  } catch (const std::exception& error) {
    FAIL_CHECK("the store cannot be verified at the end: " << error.what());
  }
}

storage::DatabaseOptions ScratchDatabase::small_chunks() {
  storage::DatabaseOptions options;
  options.chunk_size = kSmallChunkSize;
  return options;
}

std::unique_ptr<storage::Database> ScratchDatabase::open(storage::DatabaseOptions options) const {
  return storage::Database::open(path(), std::move(options));
}

std::unique_ptr<storage::Database> ScratchDatabase::open_read_only() const {
  storage::DatabaseOptions options;
  options.mode = storage::OpenMode::kReadOnly;
  return storage::Database::open(path(), std::move(options));
}

}  // namespace cairn::testing
