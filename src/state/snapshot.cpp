// Snapshot: objects in their order, few enough to look through.
#include "cairn/snapshot.h"

#include <algorithm>
#include <utility>

#include "format/fail.h"
#include "format/nearest.h"
#include "format/rows.h"

namespace cairn {

void Snapshot::insert(Object object) {
  format::check_object_name(object.name);
  if (contains(object.name)) {
    fail(ErrorCode::kAlreadyExists, "the snapshot has an object '{}' already", printable(object.name));
  }
  objects_.push_back(std::move(object));
}

bool Snapshot::erase(std::string_view name) {
  const auto place =
      std::find_if(objects_.begin(), objects_.end(), [&](const Object& object) { return object.name == name; });
  if (place == objects_.end()) return false;
  objects_.erase(place);
  return true;
}

const Snapshot::Object* Snapshot::find(std::string_view name) const {
  const auto place =
      std::find_if(objects_.begin(), objects_.end(), [&](const Object& object) { return object.name == name; });
  return place == objects_.end() ? nullptr : &*place;
}

const StateDict& Snapshot::operator[](std::string_view name) const {
  if (const Object* object = find(name)) return object->state_dict;
  std::vector<std::string_view> names;
  for (const Object& object : objects_) names.push_back(object.name);
  fail(ErrorCode::kNotFound, "the snapshot has no object '{}'{}", printable(name), format::nearest_names(name, names));
}

StateDict& Snapshot::operator[](std::string_view name) { return const_cast<StateDict&>(std::as_const(*this)[name]); }

}  // namespace cairn
