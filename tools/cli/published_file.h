// A file that appears under its name only once it is whole and on the device.
#pragma once

#include <cstddef>
#include <filesystem>

namespace cairn::tools {

/// Written beside its final place; without `publish` nothing is left, and what was there before
/// stays.
///
/// A symbolic link stays one: what it points to is replaced. Errors: CommandError with the path and
/// the system's reason.
class PublishedFile {
 public:
  explicit PublishedFile(const std::filesystem::path& path);
  ~PublishedFile();
  PublishedFile(const PublishedFile&) = delete;
  PublishedFile& operator=(const PublishedFile&) = delete;

  void write(const void* bytes, std::size_t count);
  /// Syncs, renames over the final place, syncs the directory.
  void publish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

}  // namespace cairn::tools
