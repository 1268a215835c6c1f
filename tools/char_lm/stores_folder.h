// Where the stores of the show lie: in a folder the user names, or in a temporary one that is
// removed afterwards.
#pragma once

#include <filesystem>

namespace char_lm {

class StoresFolder {
 public:
  /// Makes the folder; an empty path means a temporary one, in TMPDIR if that is set, else beside
  /// this program, else where the system keeps such things. Errors: std::runtime_error when a named
  /// folder holds something already.
  StoresFolder(const std::filesystem::path& named, bool keeps_temporary);
  ~StoresFolder();
  StoresFolder(const StoresFolder&) = delete;
  StoresFolder& operator=(const StoresFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  bool is_kept() const noexcept { return is_kept_; }

 private:
  std::filesystem::path path_;
  bool is_kept_ = false;
};

}  // namespace char_lm
