// The text that the model learns: the sources and documents of a folder, in the order of their
// paths.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <ATen/core/Tensor.h>

namespace char_lm {

/// Characters are ASCII; what is beyond becomes '?', so that the vocabulary is fixed.
inline constexpr std::int64_t kVocabularySize = 128;

struct Corpus {
  at::Tensor characters;  ///< uint8 [length], each below kVocabularySize.
  std::string digest;     ///< Of all characters: tells whether two runs read the same text.
};

/// The text of one file; of a folder, that of all *.md, *.h, *.cpp, *.fbs, *.cmake and
/// CMakeLists.txt below it, hidden folders and builds left out. Errors: std::runtime_error when
/// something cannot be read.
std::string read_text(const std::filesystem::path& file_or_folder);

/// Errors: those of read_text, and std::runtime_error when there is too little to learn from.
Corpus read_corpus(const std::filesystem::path& file_or_folder);

}  // namespace char_lm
