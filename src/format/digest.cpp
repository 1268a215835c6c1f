// XXH3 by way of its run-time dispatch on x86-64: AVX2 where the machine has it, without -march.
#include "format/digest.h"

#include <new>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace cairn::format {

namespace {

Digest from_xxh(const XXH128_hash_t& hash) { return {hash.low64, hash.high64}; }

}  // namespace

Digest digest_of(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  return from_xxh(XXH3_128bits_dispatch(bytes.data(), bytes.size()));
#else
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
#endif
}

std::string to_hex(const Digest& digest) { return fmt::format("{:016x}{:016x}", digest.high, digest.low); }

struct DigestStream::State {
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
  }
  ~State() { XXH3_freeState(xxh); }

  XXH3_state_t* const xxh = XXH3_createState();  // aligned for vector instructions
};

DigestStream::DigestStream() : state_(std::make_unique<State>()) { reset(); }
DigestStream::~DigestStream() = default;

void DigestStream::reset() { XXH3_128bits_reset(state_->xxh); }

void DigestStream::update(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  XXH3_128bits_update_dispatch(state_->xxh, bytes.data(), bytes.size());
#else
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
#endif
}

Digest DigestStream::finish() const { return from_xxh(XXH3_128bits_digest(state_->xxh)); }

}  // namespace cairn::format
