// Every change takes the state's mutex, asks whether it may happen, happens on the real file system, and is noted: for
// files how many bytes are synced, for names how to undo them.
#include "storage/faulty_file_system.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cairn::testing {

namespace fs = std::filesystem;
using rocksdb::FileOptions, rocksdb::IODebugContext, rocksdb::IOOptions, rocksdb::IOStatus;

namespace {

struct FileState {
  std::uint64_t synced_bytes = 0;
};

/// A change of names that its directory's sync has not made durable yet.
struct PendingName {
  enum class Kind { kCreated, kCreatedDirectory, kRenamed, kDeleted };
  Kind kind = Kind::kCreated;
  fs::path name;
  fs::path from;                     // of a rename
  std::optional<fs::path> saved;     // what was there before: a hard link in the scratch directory
  std::shared_ptr<FileState> state;  // of what was there before
};

}  // namespace

struct FaultyFileSystem::State {
  fs::path root;
  fs::path scratch;

  mutable std::mutex mutex;  // guards all below
  OperationCounts counts;
  std::vector<std::string> journal;
  std::optional<std::uint64_t> cut_at;   // number of a change
  std::optional<std::uint64_t> fail_at;  // number of a change
  std::string no_space_for;
  std::optional<std::uint64_t> capacity;
  bool has_failed = false;
  std::uint64_t saved_count = 0;
  std::map<fs::path, std::shared_ptr<FileState>> files;
  std::vector<PendingName> pending;

  bool is_ours(const fs::path& path) const {
    const std::string text = path.lexically_normal().string();
    return text.rfind(root.string(), 0) == 0;
  }

  /// Counts a change and decides about it.
  IOStatus admit(const char* what, const fs::path& path, std::uint64_t bytes = 0) {
    const std::uint64_t number = counts.changes++;
    journal.push_back(fmt::format("{} {} {}", what, path.lexically_relative(root).string(), bytes));
    if (cut_at && number >= *cut_at) {
      has_failed = true;
      return IOStatus::IOError("the power is off");
    }
    if (fail_at && number == *fail_at) {
      has_failed = true;
      return IOStatus::IOError("injected failure");
    }
    return IOStatus::OK();
  }

  std::uint64_t used_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) bytes += entry.file_size() / entry.hard_link_count();
    }
    return bytes;
  }

  IOStatus admit_space(const fs::path& path, std::uint64_t bytes) {
    const bool is_named = !no_space_for.empty() && path.string().find(no_space_for) != std::string::npos;
    if (!is_named && !(capacity && used_bytes() + bytes > *capacity)) return IOStatus::OK();
    has_failed = true;
    return IOStatus::NoSpace("No space left on device", path.string());
  }

  std::shared_ptr<FileState>& state_of(const fs::path& path) {
    std::shared_ptr<FileState>& state = files[path.lexically_normal()];
    if (!state) {
      state = std::make_shared<FileState>();
      std::error_code ignored;
      const auto size = fs::file_size(path, ignored);
      if (!ignored) state->synced_bytes = size;  // from before this file system's time: durable
    }
    return state;
  }

  /// Keeps what has this name, so that a crash can bring it back.
  std::optional<fs::path> save(const fs::path& path) {
    if (!fs::exists(path)) return std::nullopt;
    const fs::path saved = scratch / std::to_string(saved_count++);
    fs::create_hard_link(path, saved);
    return saved;
  }

  void forget_saved(const PendingName& change) {
    if (change.saved) fs::remove(*change.saved);
  }

  void synced(const fs::path& directory) {
    std::erase_if(pending, [&](const PendingName& change) {
      if (change.name.parent_path() != directory.lexically_normal()) return false;
      forget_saved(change);
      return true;
    });
  }

  void undo(const PendingName& change) {
    switch (change.kind) {
      case PendingName::Kind::kCreated:
        fs::remove(change.name);
        break;
      case PendingName::Kind::kCreatedDirectory:
        fs::remove_all(change.name);
        break;
      case PendingName::Kind::kRenamed:
        if (fs::exists(change.name)) fs::rename(change.name, change.from);
        files[change.from] = files[change.name];
        break;
      case PendingName::Kind::kDeleted:
        break;
    }
    if (change.saved) {
      fs::rename(*change.saved, change.name);
      files[change.name] = change.state;
    } else if (change.kind != PendingName::Kind::kDeleted) {
      files.erase(change.name);
    }
  }
};

class FaultyWritableFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyWritableFile(std::unique_ptr<rocksdb::FSWritableFile> file, fs::path name,
                     std::shared_ptr<FaultyFileSystem::State> state, std::shared_ptr<FileState> file_state,
                     std::uint64_t size)
      : FSWritableFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        state_(std::move(state)),
        file_state_(std::move(file_state)),
        size_(size) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* context) override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    ++state_->counts.appends;
    state_->counts.appended_bytes += data.size();
    IOStatus status = state_->admit("append", name_, data.size());
    if (status.ok()) status = state_->admit_space(name_, data.size());
    const rocksdb::Slice part(data.data(), status.ok() ? data.size() : data.size() / 2);
    const IOStatus written = target()->Append(part, options, context);
    if (written.ok()) size_ += part.size();
    return status.ok() ? written : status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* context) override {
    return Append(data, options, context);
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* context) override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (size == size_) return target()->Truncate(size, options, context);
    if (IOStatus status = state_->admit("truncate", name_); !status.ok()) return status;
    size_ = size;
    return target()->Truncate(size, options, context);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* context) override { return sync(options, context); }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override { return sync(options, context); }
  // Says nothing about durability, so it is none of the changes.
  IOStatus RangeSync(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
  void PrepareWrite(std::size_t, std::size_t, const IOOptions&, IODebugContext*) override {}
  IOStatus Allocate(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

 private:
  IOStatus sync(const IOOptions& options, IODebugContext* context) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    ++state_->counts.syncs;
    if (IOStatus status = state_->admit("sync", name_); !status.ok()) return status;
    IOStatus status = target()->Flush(options, context);
    if (status.ok()) file_state_->synced_bytes = size_;
    return status;
  }

  const fs::path name_;
  const std::shared_ptr<FaultyFileSystem::State> state_;
  const std::shared_ptr<FileState> file_state_;
  std::uint64_t size_;
};

class FaultyDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  FaultyDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, fs::path name,
                  std::shared_ptr<FaultyFileSystem::State> state)
      : FSDirectoryWrapper(std::move(directory)), name_(std::move(name)), state_(std::move(state)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    ++state_->counts.syncs;
    if (IOStatus status = state_->admit("sync-directory", name_); !status.ok()) return status;
    state_->synced(name_);
    return IOStatus::OK();
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* context,
                               const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, context);
  }

 private:
  const fs::path name_;
  const std::shared_ptr<FaultyFileSystem::State> state_;
};

FaultyFileSystem::FaultyFileSystem(fs::path root, fs::path scratch)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), state_(std::make_shared<State>()) {
  state_->root = std::move(root);
  state_->scratch = std::move(scratch);
  fs::create_directories(state_->scratch);
}

FaultyFileSystem::~FaultyFileSystem() {
  std::error_code ignored;
  fs::remove_all(state_->scratch, ignored);
}

OperationCounts FaultyFileSystem::counts() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->counts;
}
void FaultyFileSystem::reset_counts() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->counts = {};
  state_->journal.clear();
}
std::vector<std::string> FaultyFileSystem::journal() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->journal;
}

void FaultyFileSystem::cut_power_after(std::uint64_t changes) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->cut_at = state_->counts.changes + changes;
}
void FaultyFileSystem::fail_once_after(std::uint64_t changes) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->fail_at = state_->counts.changes + changes;
}
void FaultyFileSystem::fail_for_space(std::string part_of_name) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->no_space_for = std::move(part_of_name);
}
void FaultyFileSystem::limit_space(std::uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->capacity = bytes;
}

void FaultyFileSystem::heal() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->cut_at = state_->fail_at = state_->capacity = std::nullopt;
  state_->no_space_for.clear();
  state_->has_failed = false;
}

bool FaultyFileSystem::has_failed() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->has_failed;
}

void FaultyFileSystem::crash(Loss loss) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (loss == Loss::kNames) {
    for (auto change = state_->pending.rbegin(); change != state_->pending.rend(); ++change) state_->undo(*change);
  } else {
    for (const PendingName& change : state_->pending) state_->forget_saved(change);
  }
  state_->pending.clear();
  if (loss == Loss::kNothing) return;
  for (const auto& [name, file] : state_->files) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(name, error);
    if (error || !file || size <= file->synced_bytes) continue;
    const std::uint64_t kept = loss == Loss::kHalf ? (size - file->synced_bytes) / 2 : 0;
    fs::resize_file(name, file->synced_bytes + kept);
  }
  state_->files.clear();
}

IOStatus FaultyFileSystem::NewWritableFile(const std::string& name, const FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* context) {
  if (!state_->is_ours(name)) return target()->NewWritableFile(name, options, result, context);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  ++state_->counts.creations;
  if (IOStatus status = state_->admit("create", name); !status.ok()) return status;
  const fs::path path = fs::path(name).lexically_normal();
  const bool was_there = fs::exists(path);
  if (was_there) fs::remove(path);  // a new inode: what a crash finds under another name stays as it is
  if (IOStatus status = target()->NewWritableFile(name, options, result, context); !status.ok()) return status;
  auto file = std::make_shared<FileState>();
  state_->files[path] = file;
  if (!was_there) state_->pending.push_back({PendingName::Kind::kCreated, path, {}, {}, {}});
  *result = std::make_unique<FaultyWritableFile>(std::move(*result), path, state_, file, 0);
  return IOStatus::OK();
}

IOStatus FaultyFileSystem::ReopenWritableFile(const std::string& name, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext* context) {
  if (!state_->is_ours(name)) return target()->ReopenWritableFile(name, options, result, context);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const fs::path path = fs::path(name).lexically_normal();
  const std::shared_ptr<FileState> file = state_->state_of(path);
  const std::uint64_t size = fs::file_size(path);
  if (IOStatus status = target()->ReopenWritableFile(name, options, result, context); !status.ok()) return status;
  *result = std::make_unique<FaultyWritableFile>(std::move(*result), path, state_, file, size);
  return IOStatus::OK();
}

IOStatus FaultyFileSystem::NewDirectory(const std::string& name, const IOOptions& options,
                                        std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext* context) {
  const IOStatus status = target()->NewDirectory(name, options, result, context);
  fs::path path = fs::path(name).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  // The directory above the root is looked after as well: the root's own name lies in it.
  if (!status.ok() || (!state_->is_ours(path) && path != state_->root.parent_path())) return status;
  *result = std::make_unique<FaultyDirectory>(std::move(*result), path, state_);
  return status;
}

IOStatus FaultyFileSystem::DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* context) {
  if (!state_->is_ours(name)) return target()->DeleteFile(name, options, context);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  ++state_->counts.deletions;
  if (IOStatus status = state_->admit("delete", name); !status.ok()) return status;
  const fs::path path = fs::path(name).lexically_normal();
  if (!fs::exists(path)) return target()->DeleteFile(name, options, context);
  state_->pending.push_back({PendingName::Kind::kDeleted, path, {}, state_->save(path), state_->state_of(path)});
  state_->files.erase(path);
  return target()->DeleteFile(name, options, context);
}

IOStatus FaultyFileSystem::CreateDir(const std::string& name, const IOOptions& options, IODebugContext* context) {
  return CreateDirIfMissing(name, options, context);
}

IOStatus FaultyFileSystem::CreateDirIfMissing(const std::string& name, const IOOptions& options,
                                              IODebugContext* context) {
  if (!state_->is_ours(name) || fs::exists(name)) return target()->CreateDirIfMissing(name, options, context);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  ++state_->counts.creations;
  if (IOStatus status = state_->admit("create-directory", name); !status.ok()) return status;
  state_->pending.push_back({PendingName::Kind::kCreatedDirectory, fs::path(name).lexically_normal(), {}, {}, {}});
  return target()->CreateDirIfMissing(name, options, context);
}

IOStatus FaultyFileSystem::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                      IODebugContext* context) {
  if (!state_->is_ours(to)) return target()->RenameFile(from, to, options, context);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  ++state_->counts.renames;
  if (IOStatus status = state_->admit("rename", to); !status.ok()) return status;
  const fs::path source = fs::path(from).lexically_normal();
  const fs::path goal = fs::path(to).lexically_normal();
  std::shared_ptr<FileState> old = fs::exists(goal) ? state_->state_of(goal) : nullptr;
  state_->pending.push_back({PendingName::Kind::kRenamed, goal, source, state_->save(goal), std::move(old)});
  state_->files[goal] = state_->state_of(source);
  state_->files.erase(source);
  return target()->RenameFile(from, to, options, context);
}

IOStatus FaultyFileSystem::LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                                    IODebugContext* context) {
  if (!state_->is_ours(to)) return target()->LinkFile(from, to, options, context);
  const std::lock_guard<std::mutex> lock(state_->mutex);
  ++state_->counts.links;
  if (IOStatus status = state_->admit("link", to); !status.ok()) return status;
  const fs::path goal = fs::path(to).lexically_normal();
  state_->files[goal] = state_->state_of(from);
  state_->pending.push_back({PendingName::Kind::kCreated, goal, {}, {}, {}});
  return target()->LinkFile(from, to, options, context);
}

IOStatus FaultyFileSystem::GetFreeSpace(const std::string& path, const IOOptions& options, std::uint64_t* bytes,
                                        IODebugContext* context) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->capacity) return target()->GetFreeSpace(path, options, bytes, context);
  const std::uint64_t used = state_->used_bytes();
  *bytes = used < *state_->capacity ? *state_->capacity - used : 0;
  return IOStatus::OK();
}

}  // namespace cairn::testing
