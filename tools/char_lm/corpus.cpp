// The order of files is that of their relative paths as bytes, whatever the file system lists
// first.
#include "char_lm/corpus.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

namespace char_lm {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLeastBytes = 4096;

bool is_text(const fs::path& path) {
  constexpr std::array<std::string_view, 5> kExtensions = {".md", ".h", ".cpp", ".fbs", ".cmake"};
  return path.filename() == "CMakeLists.txt" ||
         std::find(kExtensions.begin(), kExtensions.end(), path.extension().string()) != kExtensions.end();
}

std::vector<std::string> text_files(const fs::path& folder) {
  std::vector<std::string> paths;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory()) {
      if (name.starts_with('.') || name.starts_with("build")) entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && is_text(entry->path())) {
      paths.push_back(entry->path().lexically_relative(folder).string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw std::runtime_error(fmt::format("cannot read '{}'", path.string()));
  return text;
}

/// FNV-1a, 64 bits.
std::string digest_of(std::string_view text) {
  std::uint64_t digest = 0xCBF29CE484222325u;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return fmt::format("{:016x}", digest);
}

}  // namespace

std::string read_text(const fs::path& file_or_folder) {
  if (!fs::is_directory(file_or_folder)) return contents_of(file_or_folder);
  std::string text;
  for (const std::string& path : text_files(file_or_folder)) text += contents_of(file_or_folder / path);
  return text;
}

Corpus read_corpus(const fs::path& file_or_folder) {
  std::string text = read_text(file_or_folder);
  if (text.size() < kLeastBytes) {
    throw std::runtime_error(
        fmt::format("'{}' holds {} bytes of text; name a file or folder with at least {} by --text",
                    file_or_folder.string(), text.size(), kLeastBytes));
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= kVocabularySize) c = '?';
  }
  Corpus corpus;
  corpus.characters = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::memcpy(corpus.characters.data_ptr(), text.data(), text.size());
  corpus.digest = digest_of(text);
  return corpus;
}

}  // namespace char_lm
