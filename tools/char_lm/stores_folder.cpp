// Beside the program rather than in /tmp: that may be memory, where nothing is ever durable.
#include "char_lm/stores_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <stdlib.h>

namespace char_lm {

namespace fs = std::filesystem;

namespace {

fs::path place_for_temporaries() {
  if (const char* chosen = std::getenv("TMPDIR"); chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error && access(program.parent_path().c_str(), W_OK) == 0) return program.parent_path();
  return fs::temp_directory_path();
}

}  // namespace

StoresFolder::StoresFolder(const fs::path& named, bool keeps_temporary) : path_(named), is_kept_(true) {
  if (!named.empty()) {
    if (fs::exists(named) && (!fs::is_directory(named) || !fs::is_empty(named))) {
      throw std::runtime_error(
          fmt::format("'{0}' is there already: give a folder that is empty or absent, or remove it. "
                      "'cairn log {0}/interrupted.cairn' shows an earlier run; 'char_lm train --store "
                      "{0}/interrupted.cairn --text {0}/text.txt' with its --steps and --every resumes one",
                      named.string()));
    }
    fs::create_directories(named);
    return;
  }
  std::string pattern = (place_for_temporaries() / "cairn-demo-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot make a folder like '{}'", pattern));
  }
  path_ = pattern;
  is_kept_ = keeps_temporary;
}

StoresFolder::~StoresFolder() {
  if (is_kept_) return;
  std::error_code ignored;  // nothing can be done about a folder that stays
  fs::remove_all(path_, ignored);
}

}  // namespace char_lm
