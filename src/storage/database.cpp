// Opening reads CAIRN before RocksDB is touched; the first record of every store is its header, written before any
// segment is ingested: RocksDB 7.8 loses files ingested into a database without a sequence number
// (facebook/rocksdb#13155).
#include "storage/database.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <system_error>
#include <thread>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include "format/fail.h"
#include "format/keys.h"
#include "storage/chunk_filter.h"
#include "storage/families.h"
#include "storage/free_space.h"
#include "storage/ingestion_guard.h"
#include "storage/recovery.h"
#include "storage/status.h"
#include "storage/store_directory.h"

namespace cairn::storage {

namespace {

// Closing a read-only handle of these deletes the writer's live files (facebook/rocksdb#14881).
static_assert(!(ROCKSDB_MAJOR == 11 && ROCKSDB_MINOR >= 1 && ROCKSDB_MINOR < 6), "RocksDB 11.1 to 11.5 cannot be used");

constexpr std::size_t kRowCacheBytes = std::size_t{32} << 20;
/// So often a reader must have met the same error before it believes it.
constexpr int kReadOnlyAttempts = 5;
/// So long a reader tries while a writer changes the files under it.
constexpr std::chrono::seconds kReadOnlyPatience{10};
/// What opening writes beside the tables it makes of the log: manifest, options, the next log.
constexpr std::uint64_t kOpeningBytes = std::uint64_t{2} << 20;

std::unique_ptr<Handles> open_rocksdb(rocksdb::Env* env, const std::filesystem::path& directory, OpenMode mode,
                                      FileAccess access, bool create,
                                      const std::shared_ptr<ChunkFilter>& filter = nullptr) {
  rocksdb::DBOptions options = database_options(env, access);
  options.create_if_missing = create;
  options.create_missing_column_families = create;
  const auto families = family_descriptors(rocksdb::NewLRUCache(kRowCacheBytes), filter);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const auto open = [&](auto* db) {
    return mode == OpenMode::kReadOnly
               ? rocksdb::DB::OpenForReadOnly(options, directory.string(), families, &handles, db)
               : rocksdb::DB::Open(options, directory.string(), families, &handles, db);
  };
  const std::string what = fmt::format("cannot open '{}'", directory.string());
#if ROCKSDB_MAJOR > 9 || (ROCKSDB_MAJOR == 9 && ROCKSDB_MINOR >= 11)
  std::unique_ptr<rocksdb::DB> db;
  check(open(&db), what);
  return std::make_unique<Handles>(db.release(), std::move(handles));
#else
  rocksdb::DB* db = nullptr;
  check(open(&db), what);
  return std::make_unique<Handles>(db, std::move(handles));
#endif
}

/// Names of the files in the database's directory.
std::set<std::string> names_in(rocksdb::FileSystem& files, const std::filesystem::path& directory) {
  const std::vector<std::string> names = files_in(files, directory);
  return {names.begin(), names.end()};
}

bool is_log(const std::string& name) { return name.ends_with(".log"); }

/// Opens beside a writer or not. RocksDB reads its manifest, then its tables, then its logs; a writer that flushes a
/// log in between, and deletes it, would make commits that are in neither vanish from this view, so no log may go while
/// we open. Tables that a compaction or a collection deletes in between look like damage (facebook/rocksdb#14125),
/// which it is only when nothing changes.
std::unique_ptr<Handles> open_read_only(rocksdb::Env* env, rocksdb::FileSystem& files,
                                        const std::filesystem::path& directory, FileAccess access) {
  const auto deadline = std::chrono::steady_clock::now() + kReadOnlyPatience;
  for (int attempt = 1;; ++attempt) {
    const std::set<std::string> before = names_in(files, directory);
    try {
      auto handles = open_rocksdb(env, directory, OpenMode::kReadOnly, access, /*create=*/false);
      const std::set<std::string> after = names_in(files, directory);
      if (std::all_of(before.begin(), before.end(),
                      [&](const std::string& name) { return !is_log(name) || after.count(name) != 0; })) {
        return handles;
      }
    } catch (const Error&) {
      if (attempt >= kReadOnlyAttempts && names_in(files, directory) == before) throw;
    }
    if (std::chrono::steady_clock::now() > deadline) {
      fail(ErrorCode::kBusy, "'{}' changes too fast to be read", directory.string());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * std::min(attempt, kReadOnlyAttempts)));
  }
}

format::StoreHeader read_header(const Handles& handles) {
  std::string bytes;
  const rocksdb::Status status = handles.db().Get(rocksdb::ReadOptions(), handles.family(Family::kDefault),
                                                  std::string(format::kHeaderKey), &bytes);
  if (status.IsNotFound()) fail(ErrorCode::kCorruption, "the store's header row is missing");
  check(status, "cannot read the store's header row");
  return format::decode_header(bytes);
}

/// Bytes of the logs, which opening turns into tables.
std::uint64_t log_bytes(rocksdb::FileSystem& files, const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  for (const std::string& name : files_in(files, directory)) {
    if (!is_log(name)) continue;
    std::uint64_t size = 0;
    check(files.GetFileSize((directory / name).string(), rocksdb::IOOptions(), &size, nullptr),
          fmt::format("cannot look at '{}'", (directory / name).string()));
    bytes += size;
  }
  return bytes;
}

void put_header(rocksdb::WriteBatch& batch, const Handles& handles, const format::StoreHeader& header) {
  check(batch.Put(handles.family(Family::kDefault), std::string(format::kHeaderKey), format::encode(header)),
        "cannot put the header row");
}

/// A newer format that this library may read, it may not write.
void check_writable(std::uint32_t format_version, const std::filesystem::path& path) {
  if (format_version <= format::kFormatVersion) return;
  fail(ErrorCode::kUnsupportedVersion,
       "store '{}' has format {}, this library writes format {}: it can only be opened read-only", path.string(),
       format_version, format::kFormatVersion);
}

/// The path as it stays valid when the process changes its directory. Errors: kInvalidArgument.
std::filesystem::path absolute_path(const std::filesystem::path& path) {
  if (path.empty()) fail(ErrorCode::kInvalidArgument, "the path of a store is empty");
  if (path.native().find('\0') != std::string::npos) {
    fail(ErrorCode::kInvalidArgument, "the path '{}' of a store holds a NUL", printable(path.native()));
  }
  std::error_code error;
  // Not as text alone: "link/../run" is beside what the link points to.
  std::filesystem::path result = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  if (error) fail(ErrorCode::kIo, "cannot tell where '{}' is: {}", path.string(), error.message());
  return result.has_filename() ? result : result.parent_path();
}

std::string draw_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

void check_chunk_size(std::uint32_t size) {
  if (size < format::kMinChunkSize || size > format::kMaxChunkSize || size % format::kMinChunkSize != 0) {
    fail(ErrorCode::kInvalidArgument, "chunk size {} is not a multiple of {} from {} to {}", size,
         format::kMinChunkSize, format::kMinChunkSize, format::kMaxChunkSize);
  }
}

}  // namespace

Database::Database(std::filesystem::path path, DatabaseOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  if (!options_.file_system) options_.file_system = rocksdb::FileSystem::Default();
  ingestion_guard_ = std::make_shared<IngestionGuard>(options_.file_system);
  env_ = rocksdb::NewCompositeEnv(ingestion_guard_);
  chunk_filter_ = std::make_shared<ChunkFilter>();
}

Database::~Database() = default;

std::unique_ptr<Database> Database::open(const std::filesystem::path& path, DatabaseOptions options) {
  check_chunk_size(options.chunk_size);
  std::unique_ptr<Database> database(new Database(absolute_path(path), std::move(options)));
  rocksdb::FileSystem& files = database->file_system();
  std::optional<format::StoreFile> file = read_store_file(files, database->path_);
  if (database->is_read_only()) {
    if (!file) fail(ErrorCode::kNotFound, "there is no store at '{}'", path.string());
    if (!file->is_ready) {
      fail(ErrorCode::kNotFound, "the creation of the store at '{}' was cut short: no checkpoint was ever committed",
           path.string());
    }
  } else {
    if (file) check_writable(file->format_version, database->path_);
    create_directories(files, database->path_);
    database->lock_ = std::make_unique<DirectoryLock>(database->ingestion_guard_, database->path_);
    file = read_store_file(files, database->path_);  // another writer may have been at it before the lock was had
    if (file) check_writable(file->format_version, database->path_);
    if (!file || !file->is_ready) {
      database->create();
      file = read_store_file(files, database->path_);
    }
  }
  if (!file) fail(ErrorCode::kIo, "'{}': the store went away while it was opened", path.string());
  database->id_ = file->id;
  database->access_ = resolve(database->options_.access, database->path_);
  database->open_existing();
  return database;
}

void Database::create() {
  rocksdb::FileSystem& files = file_system();
  require_space(*this, 0, 0, kOpeningBytes, "creating it");
  format::StoreFile file{format::kFormatVersion, format::kMinReaderVersion, draw_id(), /*is_ready=*/false};
  write_store_file(files, path_, file);
  create_directories(files, staging_path());
  create_directories(files, path_ / "db");
  delete_files_in(files, staging_path());
  delete_files_in(files, path_ / "db");  // of a creation that was cut short; nothing was ever committed
  {
    const auto handles = open_rocksdb(env_.get(), path_ / "db", OpenMode::kReadWrite, access_, /*create=*/true);
    format::StoreHeader header;
    header.chunk_size = options_.chunk_size;
    rocksdb::WriteBatch batch;
    put_header(batch, *handles, header);
    rocksdb::WriteOptions write;
    write.sync = true;
    check(handles->db().Write(write, &batch), "cannot write the header row of a new store");
  }
  file.is_ready = true;
  write_store_file(files, path_, file);
}

void Database::open_existing() {
  rocksdb::FileSystem& files = file_system();
  const std::filesystem::path directory = path_ / "db";
  if (!files.FileExists((directory / "CURRENT").string(), rocksdb::IOOptions(), nullptr).ok()) {
    fail(ErrorCode::kCorruption, "store '{}' has lost its database: '{}' is missing", path_.string(),
         (directory / "CURRENT").string());
  }
  require_whole_logs(*this);
  if (!is_read_only()) require_space(*this, 0, log_bytes(files, directory), kOpeningBytes, "opening it");
  opened_.push_back(is_read_only()
                        ? open_read_only(env_.get(), files, directory, access_)
                        : open_rocksdb(env_.get(), directory, OpenMode::kReadWrite, access_, /*create=*/false,
                                       chunk_filter_));
  handles_.store(opened_.back().get(), std::memory_order_release);
  header_ = read_header(handles());
  committed_next_segment_ = header_.next_segment;
  chunk_size_ = header_.chunk_size;
  if (is_read_only()) return;
  check_writable(header_.format_version, path_);
  create_directories(files, staging_path());
  delete_files_in(files, staging_path());
  const std::uint64_t dropped = drop_segments_from(handles(), header_.next_segment);
  if (dropped != 0) {
    log(Severity::kInfo, fmt::format("dropped {} segment(s) of a checkpoint that was never committed", dropped));
  }
}

void Database::catch_up() const {
  const std::lock_guard<std::mutex> lock(opened_mutex_);
  opened_.push_back(open_read_only(env_.get(), file_system(), path_ / "db", access_));
  handles_.store(opened_.back().get(), std::memory_order_release);
}

rocksdb::FileSystem& Database::file_system() const noexcept { return *ingestion_guard_; }

std::uint64_t Database::free_bytes() const {
  std::uint64_t bytes = 0;
  check(options_.file_system->GetFreeSpace(path_.string(), rocksdb::IOOptions(), &bytes, nullptr),
        fmt::format("cannot tell the free space of '{}'", path_.string()));
  return bytes;
}

void Database::log(Severity severity, std::string_view message) const {
  if (!options_.log) return;
  try {
    options_.log(severity, message);
  } catch (...) {
    // Whoever logs is in the middle of something; a log that fails must not be what breaks it.
  }
}

WriteLock::WriteLock(Database& database) : database_(database) {
  if (database.is_read_only()) {
    fail(ErrorCode::kInvalidArgument, "store '{}' was opened read-only", database.path().string());
  }
  lock_ = std::unique_lock<std::mutex>(database.write_mutex_);
  if (!database.failure_.empty()) {
    fail(ErrorCode::kFailed, "an earlier commit to store '{}' has an unknown outcome, reopen it: {}",
         database.path().string(), database.failure_);
  }
  // After a full disk RocksDB refuses writes until it is told to go on; otherwise this does nothing.
  const rocksdb::Status status = database.handles().db().Resume();
  if (status.IsNoSpace()) check(status, "the disk is still full");
  if (status.ok()) {
    database.ingestion_guard().sweep();
    return;
  }
  fail(ErrorCode::kFailed, "store '{}' takes no writes after an error, reopen it: {}", database.path().string(),
       status.ToString());
}

format::StoreHeader& WriteLock::header() { return database_.header_; }

StagingMemory& WriteLock::staging_memory() noexcept { return database_.staging_memory_; }

std::uint64_t WriteLock::next_version() const noexcept { return database_.header_.next_version; }

std::uint64_t WriteLock::next_segment() const noexcept { return database_.header_.next_segment; }

std::uint64_t WriteLock::committed_next_segment() const noexcept { return database_.committed_next_segment_; }

std::uint64_t WriteLock::take_segment() {
  if (header().next_segment + 1 >= format::kMaxSegment) fail(ErrorCode::kUnsupported, "segment numbers are used up");
  return header().next_segment++;
}

void WriteLock::commit(rocksdb::WriteBatch& batch) {
  put_header(batch, database_.handles(), header());
  rocksdb::WriteOptions options;
  options.sync = true;
  const rocksdb::Status status = database_.handles().db().Write(options, &batch);
  if (status.ok()) {
    database_.committed_next_segment_ = database_.header_.next_segment;
    return;
  }
  database_.failure_ = status.ToString();
  check(status, "the outcome of the commit is unknown");
}

}  // namespace cairn::storage
