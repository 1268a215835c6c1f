// Names for versions, one row each in family `tag`. A tag points to a checkpoint that exists: writing one checks it
// under the write lock, and a tagged checkpoint is not removed.
//
// Threads: all functions may be called at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/database.h"

namespace cairn::storage {

struct StoredTag {
  std::string name;
  std::uint64_t version = 0;
};

/// In the order of their names' bytes. Errors: kCorruption, kIo.
std::vector<StoredTag> all_tags(const Database& database);
std::optional<std::uint64_t> find_tag(const Database& database, std::string_view name);
/// Any tag of the version, for messages; null: it has none.
std::optional<std::string> a_tag_of(const Database& database, std::uint64_t version);

/// Names a version. A name that stands for it already stays as it is.
/// Durability: as a commit. Errors: kInvalidArgument for the name; kNotFound when there is no such version;
///             kAlreadyExists when the name stands for another version and is not to be moved; those of WriteLock.
void set_tag(Database& database, std::uint64_t version, std::string_view name, bool may_move);
/// False when there is no such tag.
bool delete_tag(Database& database, std::string_view name);

}  // namespace cairn::storage
