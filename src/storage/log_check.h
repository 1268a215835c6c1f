// Whether a log of RocksDB rotted. Its recovery ends at the first record that is not whole, as it must for one that a
// crash cut short; but a record in front of a whole one was durable once, since every commit is synced before the next
// begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cairn::storage {

/// Place of the first bad record that has a whole one behind it; empty when there is none: the log is whole, or ends in
/// a record that was cut short. Pure; any bytes will do.
std::optional<std::uint64_t> rot_in_log(std::string_view log);

}  // namespace cairn::storage
