// The directory is synced as well: a rename that is not on the device may be undone by a power cut.
#include "cli/published_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "cli/command.h"

namespace cairn::tools {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& path, int error) {
  throw CommandError(fmt::format("cannot write '{}': {}", path.string(), std::generic_category().message(error)),
                     "another place with -o; nothing was left behind, and an existing file is unchanged");
}

}  // namespace

PublishedFile::PublishedFile(const fs::path& path) : path_(path) {
  std::error_code error;
  if (fs::is_symlink(path_, error)) {
    if (const fs::path target = fs::weakly_canonical(path_, error); !error) path_ = target;
  }
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) fail(path, EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw CommandError(fmt::format("cannot write '{}': it is not a regular file", path.string()), "a file with -o");
  }
  temporary_ = path_;
  temporary_ += fmt::format(".{}.partial", getpid());
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(path, errno);
}

PublishedFile::~PublishedFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void PublishedFile::write(const void* bytes, std::size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, errno);
    next += written;
    count -= static_cast<std::size_t>(written);
  }
}

void PublishedFile::publish() {
  if (fsync(descriptor_) != 0) fail(path_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, errno);
  close(descriptor_);
  descriptor_ = -1;
  const fs::path directory = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  const int parent = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return;  // a directory that may be written but not read cannot be synced
  const int synced = fsync(parent);
  const int error = errno;
  close(parent);
  if (synced != 0 && error != EINVAL) fail(path_, error);
}

}  // namespace cairn::tools
