// StateDict: a vector of entries in their order, and an index by name.
#include "cairn/state_dict.h"

#include <utility>

#include <c10/core/GradMode.h>

#include "format/fail.h"
#include "format/nearest.h"

namespace cairn {

namespace {

/// A handle of its own: no gradient history, so it can be edited in place, and no effect on the handle it came from.
at::Tensor detached(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const c10::AutoGradMode no_grad(false);
  return tensor.detach();
}

[[noreturn]] void fail_not_found(const StateDict& state_dict, std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(state_dict.size());
  for (const StateDict::Entry& entry : state_dict) names.push_back(entry.name);
  fail(ErrorCode::kNotFound, "the state dict has no entry '{}'{}", printable(name), format::nearest_names(name, names));
}

}  // namespace

const at::Tensor& StateDict::Entry::tensor() const {
  if (const auto* tensor = std::get_if<at::Tensor>(&payload)) return *tensor;
  fail(ErrorCode::kInvalidArgument, "entry '{}' is a plain value, not a tensor", printable(name));
}

const Value& StateDict::Entry::value() const {
  if (const auto* value = std::get_if<Value>(&payload)) return *value;
  fail(ErrorCode::kInvalidArgument, "entry '{}' is a tensor, not a plain value", printable(name));
}

StateDict::StateDict(std::initializer_list<std::pair<std::string, std::variant<at::Tensor, Value>>> entries) {
  entries_.reserve(entries.size());
  for (const auto& [name, payload] : entries) insert(Entry{name, payload});
}

void StateDict::insert(Entry entry) {
  if (auto* tensor = std::get_if<at::Tensor>(&entry.payload)) {
    entry.requires_grad = entry.requires_grad || (tensor->defined() && tensor->requires_grad());
    *tensor = detached(*tensor);
  }
  if (!index_.emplace(entry.name, entries_.size()).second) {
    fail(ErrorCode::kAlreadyExists, "the state dict has an entry '{}' already", printable(entry.name));
  }
  entries_.push_back(std::move(entry));
}

void StateDict::insert(std::string name, at::Tensor tensor) { insert(Entry{std::move(name), std::move(tensor)}); }
void StateDict::insert(std::string name, Value value) { insert(Entry{std::move(name), std::move(value)}); }

void StateDict::set(std::string name, at::Tensor tensor) {
  const auto place = index_.find(name);
  if (place == index_.end()) return insert(std::move(name), std::move(tensor));
  // An edited tensor has lost the mark its entry had.
  Entry& entry = entries_[place->second];
  entry.requires_grad = entry.requires_grad || (tensor.defined() && tensor.requires_grad());
  entry.payload = detached(tensor);
}

void StateDict::set(std::string name, Value value) {
  const auto place = index_.find(name);
  if (place == index_.end()) return insert(std::move(name), std::move(value));
  Entry& entry = entries_[place->second];
  entry.payload = std::move(value);
  entry.requires_grad = false;
}

bool StateDict::erase(std::string_view name) {
  const auto place = index_.find(std::string(name));
  if (place == index_.end()) return false;
  const std::size_t position = place->second;
  index_.erase(place);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(position));
  for (std::size_t i = position; i < entries_.size(); ++i) index_[entries_[i].name] = i;
  return true;
}

void StateDict::rename(std::string_view from, std::string to) {
  const Entry* entry = find(from);
  if (entry == nullptr) fail_not_found(*this, from);
  if (from == to) return;
  const auto position = static_cast<std::size_t>(entry - entries_.data());
  if (!index_.emplace(to, position).second) {
    fail(ErrorCode::kAlreadyExists, "'{}' cannot become '{}': the state dict has such an entry already",
         printable(from), printable(to));
  }
  index_.erase(entry->name);
  entries_[position].name = std::move(to);
}

bool StateDict::contains(std::string_view name) const { return find(name) != nullptr; }

const StateDict::Entry* StateDict::find(std::string_view name) const {
  const auto place = index_.find(std::string(name));
  return place == index_.end() ? nullptr : &entries_[place->second];
}

const at::Tensor& StateDict::tensor(std::string_view name) const {
  if (const Entry* entry = find(name)) return entry->tensor();
  fail_not_found(*this, name);
}

const Value& StateDict::value(std::string_view name) const {
  if (const Entry* entry = find(name)) return entry->value();
  fail_not_found(*this, name);
}

}  // namespace cairn
