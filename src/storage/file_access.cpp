// The numbers are those of statfs(2) and of the kernel's magic.h.
#include "storage/file_access.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace cairn::storage {

namespace {

constexpr std::array<std::uint32_t, 13> kNetworkFileSystems = {
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x01021997,  // 9P
    0x65735546,  // FUSE: sshfs, s3fs and their like
    0x00C36400,  // Ceph
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x5346414F,  // AFS
    0x73757245,  // Coda
    0x7461636F,  // OCFS2
};

}  // namespace

bool is_network_file_system(std::uint32_t kind) noexcept {
  return std::find(kNetworkFileSystems.begin(), kNetworkFileSystems.end(), kind) != kNetworkFileSystems.end();
}

FileAccess resolve(FileAccess access, const std::filesystem::path& directory) {
  if (access != FileAccess::kAutomatic) return access;
  struct statfs about {};
  if (statfs(directory.c_str(), &about) != 0) return FileAccess::kRead;
  return is_network_file_system(static_cast<std::uint32_t>(about.f_type)) ? FileAccess::kRead : FileAccess::kMapped;
}

}  // namespace cairn::storage
