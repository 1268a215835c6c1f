// The editable in-memory form of a checkpoint: named state dicts and metadata, before commit or after read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cairn/checkpoint_info.h"
#include "cairn/state_dict.h"
#include "cairn/value.h"

namespace cairn {

class Snapshot {
 public:
  struct Object {
    std::string name;
    ObjectKind kind = ObjectKind::kStateDict;
    std::string type_name;
    StateDict state_dict;
  };

  /// Appends. Errors: kAlreadyExists; kInvalidArgument when the name is empty or holds '/' or NUL.
  void insert(Object object);
  void insert(std::string name, StateDict state_dict) {
    insert({std::move(name), ObjectKind::kStateDict, {}, std::move(state_dict)});
  }
  bool erase(std::string_view name);

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Object* find(std::string_view name) const;
  /// Errors: kNotFound, naming the objects that exist. Nothing is ever added by looking.
  StateDict& operator[](std::string_view name);
  const StateDict& operator[](std::string_view name) const;

  const std::vector<Object>& objects() const noexcept { return objects_; }
  Metadata& metadata() noexcept { return metadata_; }
  const Metadata& metadata() const noexcept { return metadata_; }

 private:
  std::vector<Object> objects_;
  Metadata metadata_;
};

}  // namespace cairn
