// A state dict: ordered map from entry name to tensor or plain value, as in PyTorch.
//
// Tensors are held by handle: a state dict that was captured shares memory with the live objects, one that was
// read from a store owns its memory. Not thread-safe for writing, as a standard container.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cairn/value.h"

namespace cairn {

class StateDict {
 public:
  struct Entry {
    std::string name;
    std::variant<at::Tensor, Value> payload;
    /// Whether the tensor was a parameter that asked for a gradient. The tensor itself is detached, so that
    /// it can be edited in place.
    bool requires_grad = false;

    bool is_tensor() const noexcept { return payload.index() == 0; }
    /// Errors: kInvalidArgument when the entry is of the other kind.
    const at::Tensor& tensor() const;
    const Value& value() const;
  };
  using const_iterator = std::vector<Entry>::const_iterator;

  StateDict() = default;
  StateDict(std::initializer_list<std::pair<std::string, std::variant<at::Tensor, Value>>> entries);

  /// Appends. Errors: kAlreadyExists when the name is taken.
  void insert(Entry entry);
  void insert(std::string name, at::Tensor tensor);
  void insert(std::string name, Value value);
  /// Appends, or replaces the payload in its place.
  void set(std::string name, at::Tensor tensor);
  void set(std::string name, Value value);
  /// Returns whether the entry was there. Cost: linear.
  bool erase(std::string_view name);
  /// Keeps the entry's place. Errors: kNotFound, kAlreadyExists.
  void rename(std::string_view from, std::string to);

  bool contains(std::string_view name) const;
  /// Null when absent; valid until the state dict changes.
  const Entry* find(std::string_view name) const;
  /// Errors: kNotFound when absent, naming the nearest names; kInvalidArgument when of the other kind.
  const at::Tensor& tensor(std::string_view name) const;
  const Value& value(std::string_view name) const;

  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  const_iterator begin() const noexcept { return entries_.begin(); }
  const_iterator end() const noexcept { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // name -> place in entries_
};

}  // namespace cairn
