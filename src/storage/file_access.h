// Whether files can be mapped: on a network file system, a server that goes away turns a mapped read into the end of
// the process, and a read call into an error.
#pragma once

#include <cstdint>
#include <filesystem>

namespace cairn::storage {

/// How table files are read.
enum class FileAccess { kAutomatic, kMapped, kRead };

/// Whether a kind of file system, as statfs(2) numbers them, has its files on another machine.
bool is_network_file_system(std::uint32_t kind) noexcept;

/// kMapped or kRead: kAutomatic becomes kRead on a network file system, and where the kind cannot be told.
FileAccess resolve(FileAccess access, const std::filesystem::path& directory);

}  // namespace cairn::storage
