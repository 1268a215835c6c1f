// Walks over the elements of a tensor in stored order, a piece at a time, with LibTorch's own copy.
//
// A piece of a tensor in row-major order is at most one run of whole rows and two partial rows, which are pieces of
// tensors of one dimension less; so a piece takes at most two copies a dimension.
#include "state/tensor_bytes.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <vector>

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include "format/fail.h"
#include "state/dtypes.h"

namespace cairn::state {

namespace {

std::vector<std::int64_t> to_vector(at::IntArrayRef values) { return {values.begin(), values.end()}; }

bool is_lazy(const at::Tensor& tensor) { return tensor.is_conj() || tensor.is_neg(); }

/// Elements as integers, which LibTorch copies bit by bit for every type, those without a copy of their own included.
at::Tensor as_bits(const at::Tensor& tensor) {
  if (is_lazy(tensor)) return tensor;
  switch (tensor.element_size()) {
    case 1:
      return tensor.view(at::kByte);
    case 2:
      return tensor.view(at::kShort);
    case 4:
      return tensor.view(at::kInt);
    case 8:
      return tensor.view(at::kLong);
    default:
      return tensor;
  }
}

std::string layout_name(at::Layout layout) {
  if (layout == at::kSparse) return "sparse_coo";
  if (layout == at::kSparseCsr) return "sparse_csr";
  if (layout == at::kSparseCsc) return "sparse_csc";
  if (layout == at::kSparseBsr) return "sparse_bsr";
  if (layout == at::kSparseBsc) return "sparse_bsc";
  std::ostringstream text;
  text << layout;
  std::string name = text.str();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// Bytes from the start of the storage to the end of the last element.
std::uint64_t extent_bytes(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  std::int64_t last = tensor.storage_offset();
  for (std::int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return static_cast<std::uint64_t>(last + 1) * c10::elementSize(tensor.scalar_type());
}

/// Reading through this leaves a copy-on-write storage shared, where LibTorch has such storages.
template <typename Tensor>
void* data_of(const Tensor& tensor, bool is_for_writing) {
  if constexpr (requires { tensor.const_data_ptr(); }) {
    if (!is_for_writing) return const_cast<void*>(tensor.const_data_ptr());
  }
  return tensor.data_ptr();
}

/// Calls visit(part) for consecutive parts of a tensor that make up its elements [begin, end) in row-major order.
template <typename Visit>
void visit_range(const at::Tensor& tensor, std::int64_t begin, std::int64_t end, const Visit& visit) {
  if (begin >= end) return;
  if (begin == 0 && end == tensor.numel()) return visit(tensor);
  const std::int64_t row = tensor.numel() / tensor.size(0);
  if (begin % row != 0) {
    const std::int64_t index = begin / row;
    const std::int64_t stop = std::min(end, (index + 1) * row);
    visit_range(tensor.select(0, index), begin - index * row, stop - index * row, visit);
    begin = stop;
  }
  if (const std::int64_t rows = (end - begin) / row; rows > 0) {
    visit(tensor.narrow(0, begin / row, rows));
    begin += rows * row;
  }
  if (begin < end) visit_range(tensor.select(0, begin / row), 0, end - begin, visit);
}

enum class Direction { kOutOfTensor, kIntoTensor };

/// Copies between elements of `ordered` and bytes that hold them as `type`, one after the other.
void copy_range(const at::Tensor& ordered, at::ScalarType type, std::uint64_t offset, std::byte* bytes,
                std::uint64_t size, Direction direction) {
  const c10::AutoGradMode no_grad(false);
  // Outside of inference mode LibTorch refuses to change an inference tensor.
  std::optional<c10::InferenceMode> inference;
  if (ordered.is_inference()) inference.emplace();
  const std::uint64_t element = c10::elementSize(type);
  std::byte* position = bytes;
  visit_range(ordered, static_cast<std::int64_t>(offset / element),
              static_cast<std::int64_t>((offset + size) / element), [&](const at::Tensor& part) {
                const at::Tensor blob = at::from_blob(position, part.sizes(), at::TensorOptions().dtype(type));
                if (direction == Direction::kIntoTensor) {
                  part.copy_(blob);
                } else {
                  blob.copy_(part);
                }
                position += static_cast<std::uint64_t>(part.numel()) * element;
              });
}

bool is_aligned(const std::byte* bytes, std::uint64_t element) {
  return reinterpret_cast<std::uintptr_t>(bytes) % element == 0;
}

}  // namespace

TensorBytes TensorBytes::of(const at::Tensor& tensor, std::string_view owner) {
  if (std::string problem = storable_problem(tensor); !problem.empty()) {
    fail(tensor.defined() ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument, "{}: {}", owner, problem);
  }
  format::TensorLayout layout;
  layout.dtype = *to_format(tensor.scalar_type());
  layout.sizes = to_vector(tensor.sizes());
  layout.requires_grad = tensor.requires_grad();
  const bool keeps_order = tensor.is_cpu() && !is_lazy(tensor) && !tensor.is_contiguous() && tensor.numel() != 0 &&
                           tensor.is_non_overlapping_and_dense();
  layout.strides = keeps_order ? to_vector(tensor.strides()) : format::row_major_strides(layout.sizes);
  TensorBytes bytes = in_order(tensor, layout, /*is_for_writing=*/false);
  return bytes;
}

TensorBytes TensorBytes::in_order(const at::Tensor& tensor, const format::TensorLayout& stored) {
  return in_order(tensor, stored, /*is_for_writing=*/true);
}

TensorBytes TensorBytes::in_order(const at::Tensor& tensor, const format::TensorLayout& stored, bool is_for_writing) {
  const c10::AutoGradMode no_grad(false);
  const auto type = to_torch(stored.dtype);
  if (!type) {
    fail(ErrorCode::kUnsupported, "this LibTorch has no tensors of dtype {}", format::name_of(stored.dtype));
  }
  TensorBytes bytes;
  bytes.layout_ = stored;
  bytes.nbytes_ = format::nbytes_of(stored);
  if (tensor.scalar_type() == *type && tensor.is_cpu() && !is_lazy(tensor) && bytes.nbytes_ != 0 &&
      tensor.is_contiguous() && stored.strides == format::row_major_strides(stored.sizes)) {
    // Nearly every tensor. Views of it by order and by bits would take longer than all else for a small one.
    bytes.ordered_ = tensor.detach();
    bytes.piece_type_ = *type;
    bytes.data_ = static_cast<std::byte*>(data_of(bytes.ordered_, is_for_writing));
    return bytes;
  }
  bytes.ordered_ = tensor.detach().permute(format::dimension_order(stored));
  bytes.piece_type_ = *type;
  if (tensor.scalar_type() != *type) return bytes;
  if (tensor.is_cpu() && !is_lazy(tensor) && bytes.nbytes_ != 0 && bytes.ordered_.is_contiguous()) {
    bytes.data_ = static_cast<std::byte*>(data_of(bytes.ordered_, is_for_writing));
  }
  bytes.ordered_ = as_bits(bytes.ordered_);
  bytes.piece_type_ = bytes.ordered_.scalar_type();
  return bytes;
}

void TensorBytes::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return;
  if (data_ != nullptr) {
    std::memcpy(out.data(), data_ + offset, out.size());
    return;
  }
  if (is_aligned(out.data(), c10::elementSize(piece_type_))) {
    return copy_range(ordered_, piece_type_, offset, out.data(), out.size(), Direction::kOutOfTensor);
  }
  const std::unique_ptr<std::byte[]> aligned(new std::byte[out.size()]);
  copy_range(ordered_, piece_type_, offset, aligned.get(), out.size(), Direction::kOutOfTensor);
  std::memcpy(out.data(), aligned.get(), out.size());
}

void TensorBytes::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  if (bytes.empty()) return;
  if (data_ != nullptr) {
    std::memcpy(data_ + offset, bytes.data(), bytes.size());
    return;
  }
  if (is_aligned(bytes.data(), c10::elementSize(piece_type_))) {
    // Only read from: from_blob knows no constant memory.
    return copy_range(ordered_, piece_type_, offset, const_cast<std::byte*>(bytes.data()), bytes.size(),
                      Direction::kIntoTensor);
  }
  const std::unique_ptr<std::byte[]> aligned(new std::byte[bytes.size()]);
  std::memcpy(aligned.get(), bytes.data(), bytes.size());
  copy_range(ordered_, piece_type_, offset, aligned.get(), bytes.size(), Direction::kIntoTensor);
}

at::Tensor empty_tensor(const format::TensorLayout& layout) {
  const auto type = to_torch(layout.dtype);
  if (!type) {
    fail(ErrorCode::kUnsupported, "this LibTorch has no tensors of dtype {}", format::name_of(layout.dtype));
  }
  std::vector<std::int64_t> strides = format::row_major_strides(layout.sizes);
  if (format::nbytes_of(layout) != 0) {
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (layout.sizes[i] > 1 || layout.strides[i] >= 0) strides[i] = layout.strides[i];
    }
  }
  return at::empty_strided(layout.sizes, strides, at::TensorOptions().dtype(*type));
}

void copy_tensor(const at::Tensor& from, const at::Tensor& to) {
  const c10::AutoGradMode no_grad(false);
  std::optional<c10::InferenceMode> inference;
  if (to.is_inference()) inference.emplace();
  const at::Tensor source = from.detach();
  if (from.scalar_type() != to.scalar_type() || is_lazy(from) || is_lazy(to)) {
    to.copy_(source);
  } else {
    as_bits(to.detach()).copy_(as_bits(source));
  }
}

std::string storable_problem(const at::Tensor& tensor) {
  if (!tensor.defined()) return "the tensor is undefined";
  if (tensor.is_nested()) return "nested tensors are not supported";
  if (tensor.layout() != at::kStrided) {
    return fmt::format("{} tensors are not supported", layout_name(tensor.layout()));
  }
  if (tensor.is_quantized()) {
    return fmt::format("quantized tensors ({}) are not supported", describe(tensor.scalar_type()));
  }
  if (tensor.is_meta()) return "tensors on the meta device have no content";
  if (!to_format(tensor.scalar_type())) {
    return fmt::format("dtype {} is not supported", describe(tensor.scalar_type()));
  }
  if (tensor.has_storage()) {
    const auto needed = extent_bytes(tensor);
    const auto held = static_cast<std::uint64_t>(tensor.storage().nbytes());
    if (held < needed) return fmt::format("its storage holds {} bytes, its elements take {}", held, needed);
  }
  return {};
}

std::string writable_problem(const at::Tensor& tensor) {
  if (std::string problem = storable_problem(tensor); !problem.empty()) return problem;
  if (tensor.is_non_overlapping_and_dense() || tensor.numel() <= 1) return {};
  std::vector<std::int64_t> order(static_cast<std::size_t>(tensor.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::int64_t left, std::int64_t right) { return tensor.stride(left) < tensor.stride(right); });
  // Elements lie apart when every dimension steps over all that the smaller steps reach.
  std::int64_t reach = 0;
  for (const std::int64_t i : order) {
    if (tensor.size(i) <= 1) continue;
    if (tensor.stride(i) <= reach) return "its elements overlap in memory (expanded?)";
    reach += (tensor.size(i) - 1) * tensor.stride(i);
  }
  return {};
}

}  // namespace cairn::state
