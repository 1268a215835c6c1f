// Sizes are chosen for a step of well under 0.1 s on one core with unoptimized BLAS, and for a
// checkpoint of about 12 MiB.
#include "char_lm/model.h"

#include <string>
#include <string_view>

#include <torch/types.h>

#include "char_lm/corpus.h"

namespace char_lm {

namespace {

constexpr std::int64_t kPairRows = 4096;
constexpr std::int64_t kFeatureRows = 16384;
constexpr std::int64_t kFeatureColumns = 128;
constexpr std::int64_t kHidden = 64;
constexpr double kDropout = 0.1;

}  // namespace

LanguageModelImpl::LanguageModelImpl()
    : pairs_(kPairRows, kHidden),
      projection_(kFeatureColumns, kHidden),
      dropout_(kDropout),
      gru_(torch::nn::GRUOptions(kHidden, kHidden).num_layers(2).dropout(kDropout).batch_first(true)),
      head_(kHidden, kVocabularySize) {
  register_module("pairs", pairs_);
  features_ = register_parameter("features", torch::randn({kFeatureRows, kFeatureColumns}) * 0.3,
                                 /*requires_grad=*/false);
  register_module("projection", projection_);
  register_module("dropout", dropout_);
  register_module("gru", gru_);
  register_module("head", head_);
}

torch::Tensor LanguageModelImpl::forward(const torch::Tensor& text) {
  const std::int64_t batch = text.size(0);
  const std::int64_t length = text.size(1) - kContext;
  const torch::Tensor last = text.narrow(1, 2, length);
  const torch::Tensor before = text.narrow(1, 1, length);
  const torch::Tensor first = text.narrow(1, 0, length);
  const torch::Tensor pair = (before * 31 + last).remainder(kPairRows);
  const torch::Tensor triple = ((first * 131 + before) * 131 + last).remainder(kFeatureRows);
  const torch::Tensor features = features_.index_select(0, triple.reshape({-1})).view({batch, length, kFeatureColumns});
  const torch::Tensor input = dropout_(pairs_(pair) + projection_(features));
  const torch::Tensor hidden = std::get<0>(gru_(input));
  return head_(dropout_(hidden) + input);
}

std::vector<torch::Tensor> LanguageModelImpl::decayed_parameters() const { return trained_parameters(true); }

std::vector<torch::Tensor> LanguageModelImpl::other_parameters() const { return trained_parameters(false); }

std::vector<torch::Tensor> LanguageModelImpl::trained_parameters(bool is_decayed) const {
  std::vector<torch::Tensor> parameters;
  for (const auto& item : named_parameters()) {
    const bool is_embedding = item.key() == "pairs.weight";
    if (item.value().requires_grad() && (item.value().dim() >= 2 && !is_embedding) == is_decayed) {
      parameters.push_back(item.value());
    }
  }
  return parameters;
}

}  // namespace char_lm
