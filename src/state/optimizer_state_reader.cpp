// Checks each field of a parameter's state, and finds the tensor it goes to.
#include "state/optimizer_state_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "format/fail.h"
#include "state/dtypes.h"
#include "state/optimizer_parameters.h"
#include "state/tensor_bytes.h"

namespace cairn::state {

namespace {

/// More elements than that are no optimizer's.
constexpr std::size_t kMaxElements = 1'000'000;

}  // namespace

StateReader::StateReader(const PlanContext& context, RecordedFields& fields, LateNumbers& numbers,
                         std::vector<TensorCopy>& copies, StateOwner owner)
    : context_(context), fields_(fields), numbers_(numbers), copies_(copies), owner_(std::move(owner)) {}

std::string StateReader::describe_owner() const {
  return owner_.name ? fmt::format(" (parameter '{}')", printable(*owner_.name)) : "";
}

std::string StateReader::element_name(std::string_view name, std::size_t index) {
  return fmt::format("{}.{}", name, index);
}

const SourceView::Item* StateReader::take(std::string_view name, Presence presence) {
  const SourceView::Item* item = nullptr;
  if (const auto found = fields_.find(name); found != fields_.end()) {
    item = found->second;
    fields_.erase(found);
    // Python writes None for what is not there.
    if (!item->is_tensor() && item->value().is_null()) {
      context_.count(*item);
      item = nullptr;
    }
  }
  if (item == nullptr && presence == Presence::kRequired) {
    context_.differences.add(fmt::format("{}{}: not in the checkpoint, and the optimizer needs it",
                                         context_.path(owner_.prefix + std::string(name)), describe_owner()));
  }
  return item;
}

void StateReader::count(std::string_view name, std::int64_t& field) {
  field = 0;
  const SourceView::Item* item = take(name, Presence::kRequired);
  if (item != nullptr && numbers_.read_count(context_, *item, field)) context_.count(*item);
}

void StateReader::number(std::string_view name, double& field, Presence presence) {
  field = 0;
  const SourceView::Item* item = take(name, presence);
  if (item != nullptr && numbers_.read_real(context_, *item, field)) context_.count(*item);
}

at::ScalarType StateReader::wanted_type(const SourceView::Item& item) const {
  const at::ScalarType live = owner_.parameter.scalar_type();
  const auto stored = to_torch(item.layout().dtype);
  if (!stored) return live;
  if (!owner_.shape) return owner_.is_elementwise ? live : *stored;
  // State of the parameter's own dtype follows the parameter through a cast; any other dtype was the optimizer's
  // choice.
  const bool is_parameters = owner_.shape->substr(0, owner_.shape->find(' ')) == format::name_of(item.layout().dtype);
  return is_parameters ? live : *stored;
}

at::Tensor StateReader::destination(const at::Tensor& existing, const std::vector<std::int64_t>& sizes,
                                    at::ScalarType type, Extent extent) const {
  const at::Tensor& parameter = owner_.parameter;
  if (existing.defined() && existing.sizes() == at::IntArrayRef(sizes) && existing.scalar_type() == type &&
      existing.device() == parameter.device() && writable_problem(existing).empty()) {
    return existing;
  }
  if (owner_.is_elementwise && extent == Extent::kParameter) {
    return at::empty_like(parameter.detach(), at::TensorOptions().dtype(type), at::MemoryFormat::Preserve);
  }
  return at::empty(sizes, at::TensorOptions().dtype(type).device(parameter.device()));
}

void StateReader::tensor(std::string_view name, at::Tensor& field, Presence presence, Extent extent) {
  const at::Tensor existing = std::exchange(field, at::Tensor());
  const SourceView::Item* item = take(name, presence);
  if (item == nullptr) return;
  if (!item->is_tensor()) {
    context_.differences.add(fmt::format("{}{}: a plain value in the checkpoint, a tensor in the optimizer",
                                         context_.path(item->name), describe_owner()));
    return;
  }
  const std::vector<std::int64_t> sizes = extent == Extent::kParameter ? owner_.sizes : std::vector<std::int64_t>();
  const at::ScalarType type = wanted_type(*item);
  if (!context_.fits(*item, sizes, type)) return;
  field = destination(existing, sizes, type, extent);
  copies_.push_back({item->ref, field});
  context_.count(*item);
}

void StateReader::tensors(std::string_view name, std::deque<at::Tensor>& list, Extent extent) {
  list.resize(element_count(name));
  for (std::size_t i = 0; i < list.size(); ++i) tensor(element_name(name, i), list[i], Presence::kRequired, extent);
}

std::size_t StateReader::element_count(std::string_view name) const {
  const std::string prefix = std::string(name) + ".";
  std::size_t count = 0;
  for (auto field = fields_.lower_bound(prefix); field != fields_.end() && field->first.starts_with(prefix); ++field) {
    const std::string_view digits = std::string_view(field->first).substr(prefix.size());
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size() || index >= kMaxElements) continue;
    count = std::max(count, index + 1);
  }
  return count;
}

std::optional<std::size_t> StateReader::slot_count(std::string_view name) {
  const std::size_t elements = element_count(name);
  const SourceView::Item* item = take(std::string(name) + "_size", Presence::kOptional);
  if (item == nullptr) return elements == 0 ? std::nullopt : std::optional(elements);
  std::int64_t size = 0;
  if (item->is_tensor() || !numbers_.read_count(context_, *item, size)) return std::nullopt;
  context_.count(*item);
  return std::max(elements, std::min(static_cast<std::size_t>(size), kMaxElements));
}

}  // namespace cairn::state
