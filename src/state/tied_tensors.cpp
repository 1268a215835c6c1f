// Finds copies with the same destination.
#include "state/tied_tensors.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "format/fail.h"

namespace cairn::state {

namespace {

bool is_same_memory(const at::Tensor& left, const at::Tensor& right) {
  return left.data_ptr() == right.data_ptr() && left.device() == right.device() &&
         left.scalar_type() == right.scalar_type() && left.sizes() == right.sizes() &&
         left.strides() == right.strides() && left.is_conj() == right.is_conj() && left.is_neg() == right.is_neg();
}

std::string path_in(const Source& source, EntryRef entry) {
  const SourceObject& object = source.objects()[entry.object];
  return path_of(object.name, object.entries[entry.entry].name);
}

}  // namespace

std::vector<TensorCopy> without_ties(std::vector<TensorCopy> copies, const Source& source, Differences& differences) {
  std::vector<TensorCopy> kept;
  kept.reserve(copies.size());
  std::unordered_multimap<const void*, std::size_t> places;  // first element -> place in kept
  for (TensorCopy& copy : copies) {
    if (copy.to.numel() == 0 || !copy.to.has_storage()) {
      kept.push_back(std::move(copy));
      continue;
    }
    bool is_tied = false;
    const auto [begin, end] = places.equal_range(copy.to.data_ptr());
    for (auto place = begin; place != end && !is_tied; ++place) {
      const TensorCopy& other = kept[place->second];
      if (!is_same_memory(other.to, copy.to)) continue;
      is_tied = true;
      if (!source.is_same_content(other.from, copy.from)) {
        differences.add(fmt::format("{} and {} are one tensor in the target and differ in the checkpoint",
                                    path_in(source, other.from), path_in(source, copy.from)));
      }
    }
    if (is_tied) continue;
    places.emplace(copy.to.data_ptr(), kept.size());
    kept.push_back(std::move(copy));
  }
  return kept;
}

}  // namespace cairn::state
