// Tensors as bytes, of every dtype and layout, in both directions and in pieces.
#include "state/tensor_bytes.h"

#include <thread>
#include <vector>

#include "state/dtypes.h"
#include "state/live_state.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;
using state::TensorBytes;

namespace {

std::vector<at::ScalarType> storable_types() {
  std::vector<at::ScalarType> types;
  for (int i = 0; i < static_cast<int>(at::ScalarType::NumOptions); ++i) {
    if (state::to_format(static_cast<at::ScalarType>(i))) types.push_back(static_cast<at::ScalarType>(i));
  }
  return types;
}

/// All bytes of a tensor, taken `piece` elements at a time.
std::vector<std::byte> read_in_pieces(const TensorBytes& bytes, std::uint64_t element, std::uint64_t piece) {
  std::vector<std::byte> out(bytes.nbytes());
  for (std::uint64_t offset = 0; offset < out.size(); offset += piece * element) {
    const std::uint64_t size = std::min<std::uint64_t>(piece * element, out.size() - offset);
    bytes.read(offset, std::span(out).subspan(offset, size));
  }
  return out;
}

/// Through bytes and back, into a tensor of the layout that is stored.
at::Tensor round_trip(const at::Tensor& tensor, std::uint64_t piece) {
  const TensorBytes from = TensorBytes::of(tensor, "test");
  at::Tensor to = state::empty_tensor(from.layout());
  const std::uint64_t element = c10::elementSize(tensor.scalar_type());
  const std::vector<std::byte> bytes = read_in_pieces(from, element, piece);
  const TensorBytes into = TensorBytes::in_order(to, from.layout());
  for (std::uint64_t offset = 0; offset < bytes.size(); offset += piece * element) {
    const std::uint64_t size = std::min<std::uint64_t>(piece * element, bytes.size() - offset);
    into.write(offset, std::span(bytes).subspan(offset, size));
  }
  return to;
}

}  // namespace

TEST_CASE("every dtype of this LibTorch that the format has comes back bit by bit", "[tensor_bytes][dtype]") {
  REQUIRE(storable_types().size() >= 13);
  for (const at::ScalarType type : storable_types()) {
    INFO(state::describe(type));
    for (const at::Tensor& tensor :
         {random_bytes({2, 3}, type), random_bytes({5, 7}, type).slice(0, 1, 5, 2).slice(1, 0, 7, 3),
          random_bytes({4, 6}, type).t(), random_bytes({3, 1}, type).expand({3, 4})}) {
      CHECK(same_bits(round_trip(tensor, 1), tensor));
      CHECK(same_bits(round_trip(tensor, 1000), tensor));
    }
  }
}

TEST_CASE("names of dtypes are Python's, and those of quantized ones have no number in the format",
          "[tensor_bytes][dtype]") {
  CHECK(state::describe(at::kFloat) == "float32");
  CHECK(state::describe(at::kBFloat16) == "bfloat16");
  CHECK(state::describe(at::kComplexDouble) == "complex128");
  CHECK(state::describe(at::kBool) == "bool");
  CHECK(state::describe(at::kQInt8) == "qint8");
  for (const at::ScalarType type : {at::kQInt8, at::kQUInt8, at::kQInt32}) CHECK_FALSE(state::to_format(type));
  for (const at::ScalarType type : storable_types()) CHECK(state::to_torch(*state::to_format(type)) == type);
}

TEST_CASE("tensors of every layout come back with the same values, in pieces of any length", "[tensor_bytes][layout]") {
  const at::Tensor base = torch::randn({6, 5, 7});
  const std::vector<at::Tensor> tensors = {torch::tensor(3.5),
                                           torch::ones({1}),
                                           torch::randn({10}),
                                           base,
                                           base.permute({2, 0, 1}),
                                           base.transpose(0, 2),
                                           base.slice(0, 1, 4),
                                           base.slice(2, 0, 7, 3),
                                           base.slice(0, 1, 6, 2).slice(1, 2, 5, 2),
                                           base.select(1, 3),
                                           torch::randn({5, 5}).diagonal(),
                                           torch::ones({3, 1}).expand({3, 4}),
                                           torch::ones({1}).expand({2, 3, 4}),
                                           torch::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast),
                                           torch::randn({1, 3, 1, 5}).transpose(1, 3),
                                           torch::randn({4, 1, 6}).permute({2, 1, 0})};
  for (const at::Tensor& tensor : tensors) {
    INFO(tensor.sizes() << " strides " << tensor.strides());
    for (const std::uint64_t piece : {1u, 2u, 3u, 7u, 11u, 64u, 100000u}) {
      const at::Tensor back = round_trip(tensor, piece);
      CHECK(back.dim() == tensor.dim());
      CHECK(same_bits(back, tensor));
    }
  }
}

TEST_CASE("tensors without elements have no bytes and keep shape and dtype", "[tensor_bytes][shape]") {
  for (const at::Tensor& tensor :
       {torch::empty({0}), torch::empty({3, 0, 2}, torch::kInt8), torch::empty({0, 4}).t()}) {
    const TensorBytes bytes = TensorBytes::of(tensor, "test");
    CHECK(bytes.nbytes() == 0);
    CHECK(bytes.data() == nullptr);
    bytes.read(0, {});
    bytes.write(0, {});
    const at::Tensor back = state::empty_tensor(bytes.layout());
    CHECK(back.sizes() == tensor.sizes());
    CHECK(back.scalar_type() == tensor.scalar_type());
  }
}

TEST_CASE("what is dense in some order is taken where it lies, anything else in pieces", "[tensor_bytes][layout]") {
  const at::Tensor image = torch::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const TensorBytes dense = TensorBytes::of(image, "test");
  CHECK(dense.data() == static_cast<std::byte*>(image.data_ptr()));
  CHECK(state::empty_tensor(dense.layout()).strides() == image.strides());
  const at::Tensor transposed = torch::randn({3, 4}).t();
  CHECK(TensorBytes::of(transposed, "test").data() == static_cast<std::byte*>(transposed.data_ptr()));
  const at::Tensor slice = torch::zeros({1000000}).slice(0, 500, 510);
  CHECK(TensorBytes::of(slice, "test").nbytes() == 40);
  CHECK(TensorBytes::of(slice, "test").data() == static_cast<std::byte*>(slice.data_ptr()));
  CHECK(TensorBytes::of(torch::randn({4, 4}).diagonal(), "test").data() == nullptr);
  CHECK(TensorBytes::of(torch::ones({3, 1}).expand({3, 4}), "test").nbytes() == 48);
}

TEST_CASE("pending conjugation and negation are resolved on the way out and kept on the way in",
          "[tensor_bytes][layout]") {
  const at::Tensor complex = torch::complex(torch::randn({5, 3}), torch::randn({5, 3}));
  const at::Tensor conjugate = torch::conj(complex);
  REQUIRE(conjugate.is_conj());
  CHECK(TensorBytes::of(conjugate, "test").data() == nullptr);
  CHECK(same_bits(round_trip(conjugate, 2), conjugate.resolve_conj()));
  const at::Tensor negated = torch::imag(conjugate);
  REQUIRE(negated.is_neg());
  CHECK(same_bits(round_trip(negated, 2), negated.resolve_neg()));

  const at::Tensor values = torch::complex(torch::randn({5, 3}), torch::randn({5, 3}));
  const TensorBytes from = TensorBytes::of(values, "test");
  at::Tensor target = torch::conj(torch::zeros({5, 3}, torch::kComplexFloat));
  TensorBytes::in_order(target, from.layout()).write(0, read_in_pieces(from, 8, 100));
  CHECK(target.is_conj());
  CHECK(target.resolve_conj().equal(values));
}

TEST_CASE("bytes go into a tensor of another memory order, and of another dtype", "[tensor_bytes][layout]") {
  const at::Tensor image = torch::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const TensorBytes from = TensorBytes::of(image, "test");
  const std::vector<std::byte> bytes = read_in_pieces(from, 4, 1000);
  for (at::Tensor target :
       {torch::zeros({2, 3, 4, 5}), torch::zeros({5, 4, 3, 2}).permute({3, 2, 1, 0}),
        torch::zeros({2, 3, 4, 10}).slice(3, 0, 10, 2), torch::zeros({2, 3, 4, 5}, torch::kDouble)}) {
    const TensorBytes into = TensorBytes::in_order(target, from.layout());
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += 28) {
      into.write(offset, std::span(bytes).subspan(offset, std::min<std::uint64_t>(28, bytes.size() - offset)));
    }
    CHECK(target.to(torch::kFloat).equal(image));
  }
}

TEST_CASE("bytes at any address are taken", "[tensor_bytes]") {
  const at::Tensor tensor = torch::randn({4, 6}).slice(1, 0, 6, 2);
  const TensorBytes from = TensorBytes::of(tensor, "test");
  std::vector<std::byte> memory(from.nbytes() + 3);
  from.read(0, std::span(memory).subspan(3));
  at::Tensor target = torch::zeros({4, 6}).slice(1, 0, 6, 2);
  TensorBytes::in_order(target, from.layout()).write(0, std::span(memory).subspan(3));
  CHECK(target.equal(tensor));
}

TEST_CASE("several threads read and write pieces of one tensor", "[tensor_bytes][threads]") {
  const at::Tensor tensor = torch::randn({64, 200}).slice(1, 0, 200, 2);
  const TensorBytes from = TensorBytes::of(tensor, "test");
  at::Tensor target = torch::zeros({200, 64}).t().slice(1, 0, 200, 2);
  const TensorBytes into = TensorBytes::in_order(target, from.layout());
  std::vector<std::thread> threads;
  for (std::uint64_t worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&, worker] {
      std::vector<std::byte> piece(400 * 4);
      for (std::uint64_t offset = worker * piece.size(); offset < from.nbytes(); offset += 4 * piece.size()) {
        const std::uint64_t size = std::min<std::uint64_t>(piece.size(), from.nbytes() - offset);
        from.read(offset, std::span(piece).first(size));
        into.write(offset, std::span(piece).first(size));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(target.equal(tensor));
}

TEST_CASE("a leaf that asks for a gradient and an inference tensor can be written to", "[tensor_bytes]") {
  const at::Tensor tensor = torch::randn({3, 4});
  const TensorBytes from = TensorBytes::of(tensor, "test");
  const std::vector<std::byte> bytes = read_in_pieces(from, 4, 100);
  at::Tensor leaf = torch::zeros({4, 3}).t().requires_grad_();
  TensorBytes::in_order(leaf, from.layout()).write(0, bytes);
  CHECK(leaf.equal(tensor));
  CHECK(leaf.requires_grad());
  at::Tensor inference;
  {
    const c10::InferenceMode mode;
    inference = torch::zeros({4, 3}).t();
  }
  TensorBytes::in_order(inference, from.layout()).write(0, bytes);
  CHECK(inference.equal(tensor));
  state::copy_tensor(torch::ones({3, 4}), inference);
  CHECK(inference.equal(torch::ones({3, 4})));
}

TEST_CASE("tensors that cannot be stored or written to are known by what they are", "[tensor_bytes][errors]") {
  const at::Tensor sparse = torch::eye(3).to_sparse();
  CHECK(contains(state::storable_problem(sparse), "sparse_coo"));
  CHECK(contains(state::storable_problem(torch::eye(3).to_sparse_csr()), "sparse_csr"));
  CHECK(
      contains(state::storable_problem(torch::quantize_per_tensor(torch::ones({2}), 0.1, 2, torch::kQInt8)), "qint8"));
  CHECK(contains(state::storable_problem(torch::empty({2}, torch::kMeta)), "meta"));
  CHECK(contains(state::storable_problem(at::Tensor()), "undefined"));
  at::Tensor emptied = torch::ones({8});
  emptied.storage().unsafeGetStorageImpl()->set_nbytes(4);
  CHECK(contains(state::storable_problem(emptied), "holds 4 bytes"));
  CHECK(code_of([&] { TensorBytes::of(sparse, "model/w"); }) == ErrorCode::kUnsupported);
  CHECK(contains(message_of([&] { TensorBytes::of(sparse, "model/w"); }), "model/w"));
  CHECK(code_of([] { TensorBytes::of(at::Tensor(), "model/w"); }) == ErrorCode::kInvalidArgument);

  CHECK(contains(state::writable_problem(torch::ones({3, 1}).expand({3, 4})), "overlap"));
  CHECK(contains(state::writable_problem(torch::ones({5}).unfold(0, 3, 1)), "overlap"));
  for (const at::Tensor& tensor :
       {torch::ones({4, 4}).diagonal(), torch::ones({9}).slice(0, 0, 9, 2), torch::ones({3, 4}).t(),
        torch::ones({1}).expand({1, 1}), torch::tensor(1), torch::empty({0, 3}).expand({2, 0, 3})}) {
    CHECK(state::writable_problem(tensor).empty());
  }
}
