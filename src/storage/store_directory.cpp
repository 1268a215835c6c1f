// Durable here means: the file is synced, and so is the directory that names it.
#include "storage/store_directory.h"

#include <algorithm>
#include <array>
#include <string_view>

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

bool is_directory(rocksdb::FileSystem& files, const fs::path& path) {
  bool answer = false;
  check(files.IsDirectory(path.string(), kIo, &answer, nullptr), fmt::format("cannot look at '{}'", path.string()));
  return answer;
}

}  // namespace

std::vector<std::string> files_in(rocksdb::FileSystem& files, const fs::path& directory) {
  std::vector<std::string> names;
  const rocksdb::IOStatus status = files.GetChildren(directory.string(), kIo, &names, nullptr);
  if (status.IsNotFound() || status.IsPathNotFound()) return {};
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
    : files_(std::move(files)) {
  const fs::path file = directory / kLockFile;
  const rocksdb::IOStatus status = files_->LockFile(file.string(), kIo, &lock_, nullptr);
  if (status.ok()) return;
  // The only errors by which a lock that is taken can be told from one that cannot be made are their texts.
  const std::string text = status.ToString();
  const bool is_taken = text.find("lock hold by current process") != std::string::npos ||
                        text.find("While lock file") != std::string::npos;
  if (!is_taken) check(status, fmt::format("cannot lock '{}'", file.string()));
  const std::optional<pid_t> holder = lock_holder(file);
  fail(ErrorCode::kBusy, "store '{}' is open for writing in {}", directory.string(),
       holder ? fmt::format("process {}", *holder) : "another process");
}

DirectoryLock::~DirectoryLock() {
  if (lock_ != nullptr) files_->UnlockFile(lock_, kIo, nullptr).PermitUncheckedError();
}

}  // namespace cairn::storage
