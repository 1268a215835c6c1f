// A file system that counts, fails on demand, runs full, and loses power.
//
// It stands between RocksDB and the real file system, for everything below one directory. What a machine keeps over a
// power cut is modelled strictly: bytes of a file up to its last sync, names of a directory up to the last sync of that
// directory. Reads always work. A file's and its directory's sync are separate, as POSIX says, although ext4 does more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

namespace cairn::testing {

/// What is left of that which was not synced.
enum class Loss {
  kNothing,  ///< The process was killed, the machine ran on.
  kBytes,    ///< Names were kept, bytes were not.
  kHalf,     ///< As kBytes, with half of each file's bytes kept: torn records.
  kNames,    ///< Neither bytes nor names: creations, renames and deletions are undone.
};

struct OperationCounts {
  std::uint64_t changes = 0;  ///< Everything below: what a fault can hit.
  std::uint64_t appends = 0;
  std::uint64_t appended_bytes = 0;
  std::uint64_t syncs = 0;  ///< Of files and directories.
  std::uint64_t creations = 0;
  std::uint64_t renames = 0;
  std::uint64_t links = 0;
  std::uint64_t deletions = 0;
};

class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  /// `scratch`: a directory beside `root` for what may have to be brought back.
  FaultyFileSystem(std::filesystem::path root, std::filesystem::path scratch);
  ~FaultyFileSystem() override;
  const char* Name() const override { return "FaultyFileSystem"; }
  static const char* kClassName() { return "FaultyFileSystem"; }

  OperationCounts counts() const;
  void reset_counts();
  /// The changes since reset_counts, a line each: "append db/000012.log 96".
  std::vector<std::string> journal() const;

  /// The change with this number from now on (from 0) and all later ones fail; an append is cut in half.
  void cut_power_after(std::uint64_t changes);
  /// Only that one fails, with an I/O error.
  void fail_once_after(std::uint64_t changes);
  /// Appends to files whose names contain this fail for want of space.
  void fail_for_space(std::string part_of_name);
  /// The directory is on a file system of so many bytes.
  void limit_space(std::uint64_t bytes);
  void heal();
  bool has_failed() const;

  /// Changes the directory to what a crash would have left. Requires: nothing has a file of it open.
  void crash(Loss loss);

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus CreateDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options, std::uint64_t* bytes,
                                 rocksdb::IODebugContext* context) override;

 private:
  friend class FaultyWritableFile;
  friend class FaultyDirectory;
  struct State;

  std::shared_ptr<State> state_;  // shared with the open files
};

}  // namespace cairn::testing
