// State of a random number generator as a tensor of bytes.
#pragma once

#include <string>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace cairn::state {

/// Fresh uint8 tensor; for the CPU 5,056 bytes, a cached normal value included. Takes the generator's lock.
at::Tensor generator_state(const at::Generator& generator);
void set_generator_state(const at::Generator& generator, const at::Tensor& state);

/// Why a state does not fit a generator, found by trying it on a clone; empty: it fits.
std::string generator_problem(const at::Generator& generator, const at::Tensor& state);

}  // namespace cairn::state
