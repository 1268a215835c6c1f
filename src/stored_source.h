// A checkpoint in a store as the source of an apply: where the state layer meets the storage layer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "format/rows.h"
#include "state/source.h"
#include "storage/catalog.h"
#include "storage/chunk_reader.h"

namespace cairn {

/// Name for messages: "model/fc1.weight".
std::string entry_path(std::string_view object, std::string_view entry);

class StoredSource final : public state::Source {
 public:
  /// Reads the entry rows of the objects that are wanted; the others are listed without entries, so that their damage
  /// does not matter. Errors: kCorruption, kIo.
  StoredSource(const storage::Database& database, const storage::StoredCheckpoint& checkpoint,
               const std::function<bool(std::string_view object)>& is_wanted);

  const std::vector<state::SourceObject>& objects() const override { return objects_; }
  bool is_same_content(state::EntryRef left, state::EntryRef right) const override;
  void copy(const std::vector<state::TensorCopy>& copies, const ApplyOptions& options,
            const Progress& progress) override;
  void check(const std::vector<state::TensorCopy>& copies, const ApplyOptions& options) override;

 private:
  const format::TensorRow& row(state::EntryRef entry) const;
  std::vector<std::string> owners(const std::vector<state::TensorCopy>& copies) const;
  void read(std::vector<storage::ChunkRead> reads, const ApplyOptions& options, storage::DigestCheck check,
            const Progress& progress) const;

  const storage::Database& database_;
  std::vector<state::SourceObject> objects_;
  std::vector<std::vector<format::Entry>> rows_;  // as objects_
};

}  // namespace cairn
