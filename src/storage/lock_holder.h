// Who holds a lock, for the message of a second writer.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace cairn::storage {

/// Process that holds a POSIX lock on the file, as /proc/locks tells. The file is never opened: closing any descriptor
/// of it would drop this process's own lock. Empty where it cannot be told.
std::optional<pid_t> lock_holder(const std::filesystem::path& file);

}  // namespace cairn::storage
