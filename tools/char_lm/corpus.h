// The text that the model learns: the sources and documents of a folder, in the order of their paths.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <ATen/core/Tensor.h>

namespace char_lm {

/// Characters are ASCII; what is beyond becomes '?', so that the vocabulary is fixed.
inline constexpr std::int64_t kVocabularySize = 128;

struct Corpus {
  at::Tensor characters;        ///< uint8 [length], each below kVocabularySize.
  std::int64_t file_count = 0;
  std::string digest;           ///< Of all characters: tells whether two runs read the same text.
};

/// Reads *.md, *.h, *.cpp, *.fbs, *.cmake and CMakeLists.txt below `folder`, leaving out hidden folders and builds.
/// Errors: std::runtime_error when there is too little text to learn from.
Corpus read_corpus(const std::filesystem::path& folder);

}  // namespace char_lm
