// How long work tells how far it is.
#pragma once

#include <cstdint>
#include <functional>

namespace cairn {

/// Called with bytes done and bytes in all, first with done = 0 and last with done = total. Calls come
/// one at a time, from a thread of the library or the caller's own, at most a few hundred a second. An
/// exception thrown from it ends the operation as an error of that operation would.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace cairn
