// The directory of a store: recognising it, its file CAIRN, its lock, and what lies in its folders.
//
//   CAIRN      what it is (format/store_file.h)
//   LOCK       held by the writer from before the first look at anything it may change
//   db/        RocksDB
//   staging/   segments being written
//
// Everything goes through the file system given, so that tests can cut it short.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/file_system.h>

#include "format/store_file.h"

namespace cairn::storage {

/// What a directory's CAIRN says; empty when there is no directory, or one that is empty or holds nothing but the first
/// traces of a creation.
/// Errors: kInvalidArgument for a file or a directory of something else; those of format::decode_store_file; kIo.
std::optional<format::StoreFile> read_store_file(rocksdb::FileSystem& files, const std::filesystem::path& directory);

/// Replaces CAIRN in one durable step.
void write_store_file(rocksdb::FileSystem& files, const std::filesystem::path& directory,
                      const format::StoreFile& file);

/// Creates a directory and its parents, durably.
void create_directories(rocksdb::FileSystem& files, const std::filesystem::path& directory);
/// Names of the files in a directory; none when it does not exist.
std::vector<std::string> files_in(rocksdb::FileSystem& files, const std::filesystem::path& directory);
/// Deletes the files in a directory, not in folders below it.
void delete_files_in(rocksdb::FileSystem& files, const std::filesystem::path& directory);

/// A store's lock, against other processes and within this one. A second one in the same process is refused before it
/// touches the lock's file, so the first one's lock survives it (facebook/rocksdb#1780).
class DirectoryLock {
 public:
  /// Errors: kBusy, with the holder's process id where known; kIo.
  DirectoryLock(std::shared_ptr<rocksdb::FileSystem> files, const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  std::shared_ptr<rocksdb::FileSystem> files_;
  std::pair<std::uint64_t, std::uint64_t> id_;  // device and inode of the directory
  rocksdb::FileLock* lock_ = nullptr;
};

}  // namespace cairn::storage
