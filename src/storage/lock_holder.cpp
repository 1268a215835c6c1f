// A line of /proc/locks: "1: POSIX  ADVISORY  WRITE 4711 08:01:393216 0 EOF" (device in hexadecimal, inode in decimal).
#include "storage/lock_holder.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace cairn::storage {

std::optional<pid_t> lock_holder(const std::filesystem::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  const std::string wanted = fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  std::string line;
  while (std::getline(locks, line)) {
    std::istringstream words(line);
    std::string number, kind, mode, access, place;
    pid_t pid = 0;
    if (words >> number >> kind >> mode >> access >> pid >> place && place == wanted && pid > 0) return pid;
  }
  return std::nullopt;
}

}  // namespace cairn::storage
