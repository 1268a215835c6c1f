// Cairn's side of tools/benchmarks/peers.py: one run of every column of its table, for one state.
#pragma once

#include <string>

#include "benchmarks/cases.h"

namespace cairn::benchmarks {

/// `state`: "large" (256 tensors), "tiny" (tensors of 1 KiB) or "frozen" (1 % of the bytes is trained, the rest never
/// changes); settings.bytes in all, for "tiny" a fiftieth of it. Returns one JSON object of seconds and bytes.
std::string peer_json(const Settings& settings, const std::string& state);

}  // namespace cairn::benchmarks
