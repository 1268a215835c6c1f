// A tensor seen as the bytes a store keeps of it, in both directions.
//
// A tensor that is dense in memory in some order of its dimensions is taken in that order, without a copy; anything
// else (gaps, expanded, on another device, lazily conjugated or negated) is taken row-major, piece by piece through
// `read`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include "format/layout.h"

namespace cairn::state {

class TensorBytes {
 public:
  /// View of a tensor that is to be stored; layout() says in which order. `owner` ("model/fc.weight") is for messages.
  /// Errors: kInvalidArgument when undefined; kUnsupported, by owner and kind, when sparse, quantized, nested, on the
  /// meta device, or of a dtype the format lacks.
  static TensorBytes of(const at::Tensor& tensor, std::string_view owner);

  /// View of a tensor that is to receive bytes stored in the order of `stored`, whatever its own memory order, device
  /// and (when a cast was allowed) dtype are. Requires: sizes equal, and writable_problem(tensor) empty.
  static TensorBytes in_order(const at::Tensor& tensor, const format::TensorLayout& stored);

  const format::TensorLayout& layout() const noexcept { return layout_; }
  std::uint64_t nbytes() const noexcept { return nbytes_; }
  /// All bytes in stored order when they lie so in CPU memory; null otherwise (and for zero bytes).
  std::byte* data() const noexcept { return data_; }

  /// Copies bytes [offset, offset + size) out of, or into, the tensor. offset and size are multiples of the element
  /// size. Cost: bounded extra memory (the piece), any thread.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  void write(std::uint64_t offset, std::span<const std::byte> bytes) const;

 private:
  static TensorBytes in_order(const at::Tensor& tensor, const format::TensorLayout& stored, bool is_for_writing);

  at::Tensor ordered_;  // dimensions permuted to stored order, conj and neg resolved lazily per piece
  at::ScalarType piece_type_ = at::ScalarType::Byte;  // of the elements in a piece
  format::TensorLayout layout_;
  std::uint64_t nbytes_ = 0;
  std::byte* data_ = nullptr;
};

/// Fresh CPU tensor of a stored layout, same strides. Errors: kUnsupported for a dtype the linked LibTorch lacks.
at::Tensor empty_tensor(const format::TensorLayout& layout);

/// Copies all elements under no-grad, bit by bit where the dtypes are equal, inference tensors included. Requires:
/// sizes equal, and writable_problem(to) empty.
void copy_tensor(const at::Tensor& from, const at::Tensor& to);

/// Why a tensor cannot be stored ("sparse_coo tensors are not supported") or written to ("elements overlap in memory");
/// empty: it can.
std::string storable_problem(const at::Tensor& tensor);
std::string writable_problem(const at::Tensor& tensor);

}  // namespace cairn::state
