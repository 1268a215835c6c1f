// What Cairn is held against: the least that has to be done by anybody, done without a library.
//
// Each walks the whole state, source and destination, on as many threads as the case: a control that reuses one warm
// buffer would measure the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <ATen/core/Tensor.h>

namespace cairn::benchmarks {

/// memcpy of all bytes from one list of tensors to another of the same sizes.
void copy_all(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& to, unsigned threads);
/// XXH3-128 of every MiB of all bytes. Returns something that depends on all of them.
std::uint64_t digest_all(const std::vector<at::Tensor>& tensors, unsigned threads);
/// write() of all bytes into a new file, fdatasync, close; on one thread. Errors: std::system_error.
void write_and_sync(const std::vector<at::Tensor>& tensors, const std::filesystem::path& path);

}  // namespace cairn::benchmarks
