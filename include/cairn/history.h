// What became of entries over time, and what differs between two checkpoints.
//
// Equal content is recognised by digest, so neither reads a tensor's bytes unless it is asked to measure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cairn/checkpoint_info.h"
#include "cairn/progress.h"
#include "cairn/value.h"

namespace cairn {

/// Neighbouring checkpoints, by version, in which an entry is the same: content, dtype, shape, value, or absence.
struct EntryPeriod {
  std::uint64_t first_version = 0;
  std::uint64_t last_version = 0;
  std::uint64_t checkpoint_count = 0;
  std::optional<EntryInfo> entry{};  ///< Empty: the entry is not there.
};

struct DiffOptions {
  /// Globs over `object/entry` (`*` any bytes, `?` one byte); `only` empty means all.
  std::vector<std::string> only{};
  std::vector<std::string> except{};
  /// Reads changed tensors of equal shape and says by how much they differ. Default: false.
  bool measures = false;
  /// Workers for reading. 0: as many as the hardware has, at most 8. Default: 0.
  unsigned threads = 0;
  /// With measures: bytes of the tensors that are read, of both sides.
  Progress progress{};
};

/// How far two tensors of one shape are apart, in float64. Differences that are NaN count as changed, and make the
/// numbers NaN; for complex dtypes the absolute value of the difference counts.
struct TensorDistance {
  double norm = 0;              ///< Of the difference, 2-norm over all elements.
  double largest = 0;           ///< Largest absolute difference.
  double changed_fraction = 0;  ///< Of the elements; 0 to 1; 0 for a tensor without elements.
};

struct MetadataChange {
  std::string key{};
  std::optional<Value> before{};  ///< Empty: not there.
  std::optional<Value> after{};
};

struct EntryChange {
  std::string object{};
  std::string entry{};
  std::optional<EntryInfo> before{};  ///< Empty: not there.
  std::optional<EntryInfo> after{};
  std::optional<TensorDistance> distance{};  ///< With measures, of tensors of equal shape.
};

/// From one checkpoint to another; everything in the order of the later one, then what vanished.
struct Difference {
  std::vector<MetadataChange> metadata{};  ///< Top-level keys, by name.
  std::vector<std::string> objects_added{};
  std::vector<std::string> objects_removed{};
  std::vector<EntryChange> entries{};  ///< Of objects added or removed too.
  std::uint64_t unchanged_entries = 0;
  std::uint64_t unchanged_bytes = 0;  ///< Of tensors.
  std::uint64_t changed_bytes = 0;    ///< Of tensors that appeared or changed, as they are in the later checkpoint.
};

}  // namespace cairn
