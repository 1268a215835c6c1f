// Copies tensor by tensor; LibTorch uses its own threads.
#include "state/snapshot_source.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_set>

#include <c10/core/GradMode.h>

#include "state/differences.h"
#include "state/tensor_bytes.h"

namespace cairn::state {

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

at::Tensor row_major_copy(const TensorBytes& bytes, const at::Tensor& tensor) {
  format::TensorLayout layout = bytes.layout();
  layout.strides = format::row_major_strides(layout.sizes);
  at::Tensor copy = empty_tensor(layout);
  copy_tensor(tensor, copy);
  return copy;
}

bool is_same_bytes(const at::Tensor& left, const at::Tensor& right) {
  const TensorBytes a = TensorBytes::of(left, "");
  const TensorBytes b = TensorBytes::of(right, "");
  if (a.layout().dtype != b.layout().dtype || a.layout().sizes != b.layout().sizes) return false;
  if (a.layout().strides != b.layout().strides) {
    // Order of the bytes differs, content need not.
    return is_same_bytes(row_major_copy(a, left), row_major_copy(b, right));
  }
  const std::unique_ptr<std::byte[]> left_piece(new std::byte[kPieceBytes]);
  const std::unique_ptr<std::byte[]> right_piece(new std::byte[kPieceBytes]);
  for (std::uint64_t offset = 0; offset < a.nbytes(); offset += kPieceBytes) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, a.nbytes() - offset));
    a.read(offset, {left_piece.get(), size});
    b.read(offset, {right_piece.get(), size});
    if (std::memcmp(left_piece.get(), right_piece.get(), size) != 0) return false;
  }
  return true;
}

/// Storage that holds the elements; null where there is none to compare.
const void* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() && tensor.numel() != 0 ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

}  // namespace

SnapshotSource::SnapshotSource(const Snapshot& snapshot,
                               const std::function<bool(std::string_view object)>& is_wanted) {
  for (const Snapshot::Object& object : snapshot.objects()) {
    SourceObject& described = objects_.emplace_back(SourceObject{object.name, object.kind, object.type_name, {}});
    std::vector<const StateDict::Entry*>& entries = entries_.emplace_back();
    if (!is_wanted(object.name)) continue;
    for (const StateDict::Entry& entry : object.state_dict) {
      SourceEntry& source = described.entries.emplace_back();
      source.name = entry.name;
      if (entry.is_tensor()) {
        source.layout = TensorBytes::of(entry.tensor(), path_of(object.name, entry.name)).layout();
        source.layout->requires_grad = entry.requires_grad;
      } else {
        source.value = &entry.value();
      }
      entries.push_back(&entry);
    }
  }
}

const at::Tensor& SnapshotSource::tensor(EntryRef entry) const { return entries_[entry.object][entry.entry]->tensor(); }

bool SnapshotSource::is_same_content(EntryRef left, EntryRef right) const {
  const c10::AutoGradMode no_grad(false);
  return is_same_bytes(tensor(left), tensor(right));
}

void SnapshotSource::copy(const std::vector<TensorCopy>& copies, const ApplyOptions&, const Progress& progress) {
  const c10::AutoGradMode no_grad(false);
  // A captured snapshot shares memory with live objects: what a copy would overwrite before another reads it is kept
  // aside.
  std::unordered_set<const void*> written;
  std::uint64_t total = 0;
  for (const TensorCopy& copy : copies) {
    written.insert(storage_of(copy.to));
    total += static_cast<std::uint64_t>(tensor(copy.from).nbytes());
  }
  std::vector<at::Tensor> sources;
  sources.reserve(copies.size());
  for (const TensorCopy& copy : copies) {
    const at::Tensor& from = tensor(copy.from);
    const bool is_itself = storage_of(from) == storage_of(copy.to) &&
                           from.storage_offset() == copy.to.storage_offset() && from.strides() == copy.to.strides();
    const bool is_at_risk = storage_of(from) != nullptr && written.count(storage_of(from)) != 0 && !is_itself;
    sources.push_back(is_at_risk ? row_major_copy(TensorBytes::of(from, ""), from) : from);
  }
  std::uint64_t done = 0;
  if (progress) progress(0, total);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    copy_tensor(sources[i], copies[i].to);
    done += static_cast<std::uint64_t>(sources[i].nbytes());
    if (progress && done != total) progress(done, total);
  }
  if (progress) progress(total, total);
}

}  // namespace cairn::state
