// Durable here means: the file is synced, and so is the directory that names it.
#include "storage/store_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "format/fail.h"
#include "storage/lock_holder.h"
#include "storage/status.h"

namespace cairn::storage {

namespace fs = std::filesystem;

namespace {

constexpr const char* kStoreFile = "CAIRN";
constexpr const char* kStoreFileDraft = "CAIRN.tmp";
constexpr const char* kLockFile = "LOCK";

const rocksdb::IOOptions kIo;

void sync_directory(rocksdb::FileSystem& files, const fs::path& directory) {
  std::unique_ptr<rocksdb::FSDirectory> handle;
  const std::string what = fmt::format("cannot sync directory '{}'", directory.string());
  check(files.NewDirectory(directory.string(), kIo, &handle, nullptr), what);
  check(handle->Fsync(kIo, nullptr), what);
}

bool exists(rocksdb::FileSystem& files, const fs::path& path) {
  const rocksdb::IOStatus status = files.FileExists(path.string(), kIo, nullptr);
  if (status.IsNotFound()) return false;
  check(status, fmt::format("cannot look at '{}'", path.string()));
  return true;
}

/// Directories this process has locked, by device and inode: a path can be spelled in several ways, and RocksDB's own
/// table, which goes by the spelling, would let the lock's file be opened a second time. Closing it would drop the
/// lock.
class LockedDirectories {
 public:
  using Id = std::pair<std::uint64_t, std::uint64_t>;

  static LockedDirectories& instance() {
    static auto& directories = *new LockedDirectories;  // never destroyed: a store may be closed at the very end
    return directories;
  }

  /// Zeroes for what does not exist on the real file system.
  static Id id_of(const fs::path& directory) {
    struct stat status {};
    if (stat(directory.c_str(), &status) != 0) return {};
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
  }

  /// False when it was there already.
  bool insert(const Id& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return id == Id() || ids_.insert(id).second;
  }
  void erase(const Id& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ids_.erase(id);
  }

 private:
  std::mutex mutex_;
  std::set<Id> ids_;  // guarded by mutex_
};

bool is_directory(rocksdb::FileSystem& files, const fs::path& path) {
  bool answer = false;
  check(files.IsDirectory(path.string(), kIo, &answer, nullptr), fmt::format("cannot look at '{}'", path.string()));
  return answer;
}

}  // namespace

std::vector<std::string> files_in(rocksdb::FileSystem& files, const fs::path& directory) {
  std::vector<std::string> names;
  const rocksdb::IOStatus status = files.GetChildren(directory.string(), kIo, &names, nullptr);
  if (status.IsNotFound() || status.IsPathNotFound()) {
    // RocksDB says the same of a directory that may not be read.
    if (!exists(files, directory)) return {};
    fail(ErrorCode::kIo, "cannot list '{}': {}", directory.string(), status.ToString());
  }
  check(status, fmt::format("cannot list '{}'", directory.string()));
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  return names;
}

std::optional<format::StoreFile> read_store_file(rocksdb::FileSystem& files, const fs::path& directory) {
  if (!exists(files, directory)) return std::nullopt;
  if (!is_directory(files, directory)) {
    fail(ErrorCode::kInvalidArgument, "'{}' is a file, not the directory of a store", directory.string());
  }
  const std::vector<std::string> names = files_in(files, directory);
  if (std::find(names.begin(), names.end(), kStoreFile) == names.end()) {
    const bool is_untouched = std::all_of(names.begin(), names.end(), [](const std::string& name) {
      return name == kLockFile || name == kStoreFileDraft;
    });
    if (is_untouched) return std::nullopt;
    fail(ErrorCode::kInvalidArgument, "directory '{}' holds '{}' and no file CAIRN: not a store", directory.string(),
         printable(names.front()));
  }
  std::string text;
  check(rocksdb::ReadFileToString(&files, (directory / kStoreFile).string(), &text),
        fmt::format("cannot read '{}'", (directory / kStoreFile).string()));
  try {
    return format::decode_store_file(text);
  } catch (const Error& error) {
    fail(error.code(), "'{}': {}", directory.string(), error.what());
  }
}

void write_store_file(rocksdb::FileSystem& files, const fs::path& directory, const format::StoreFile& file) {
  const std::string draft = (directory / kStoreFileDraft).string();
  const std::string final_name = (directory / kStoreFile).string();
  const std::string what = fmt::format("cannot write '{}'", final_name);
  check(rocksdb::WriteStringToFile(&files, format::encode(file), draft, /*should_sync=*/true), what);
  check(files.RenameFile(draft, final_name, kIo, nullptr), what);
  sync_directory(files, directory);
}

void create_directories(rocksdb::FileSystem& files, const fs::path& directory) {
  if (directory.empty() || exists(files, directory)) return;
  const fs::path parent = directory.parent_path();
  create_directories(files, parent);
  check(files.CreateDirIfMissing(directory.string(), kIo, nullptr),
        fmt::format("cannot create directory '{}'", directory.string()));
  sync_directory(files, parent.empty() ? fs::path(".") : parent);
}

void delete_files_in(rocksdb::FileSystem& files, const fs::path& directory) {
  for (const std::string& name : files_in(files, directory)) {
    const fs::path file = directory / name;
    check(files.DeleteFile(file.string(), kIo, nullptr), fmt::format("cannot delete '{}'", file.string()));
  }
}

DirectoryLock::DirectoryLock(std::shared_ptr<rocksdb::FileSystem> files, const fs::path& directory)
    : files_(std::move(files)), id_(LockedDirectories::id_of(directory)) {
  if (!LockedDirectories::instance().insert(id_)) {
    fail(ErrorCode::kBusy, "store '{}' is open for writing in this process, {}", directory.string(), getpid());
  }
  const fs::path file = directory / kLockFile;
  const rocksdb::IOStatus status = files_->LockFile(file.string(), kIo, &lock_, nullptr);
  if (status.ok()) return;
  LockedDirectories::instance().erase(id_);
  if (!is_lock_taken(status)) check(status, fmt::format("cannot lock '{}'", file.string()));
  const std::optional<pid_t> holder = lock_holder(file);
  fail(ErrorCode::kBusy, "store '{}' is open for writing in {}", directory.string(),
       holder ? fmt::format("process {}", *holder) : "another process");
}

DirectoryLock::~DirectoryLock() {
  files_->UnlockFile(lock_, kIo, nullptr).PermitUncheckedError();
  LockedDirectories::instance().erase(id_);
}

}  // namespace cairn::storage
