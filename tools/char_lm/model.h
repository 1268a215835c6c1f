// A small language model over characters.
//
// The last two characters choose a trained embedding, the last three a row of fixed random
// features: a part that is never trained, as the backbone of a fine-tuned model. Two GRU layers
// with a way around them and a linear head make scores for the next character.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/pimpl.h>

namespace char_lm {

/// Characters before the first one whose successor is predicted.
inline constexpr std::int64_t kContext = 2;

class LanguageModelImpl : public torch::nn::Module {
 public:
  LanguageModelImpl();

  /// Takes int64 [batch, kContext + length] and gives scores [batch, length, vocabulary] for the
  /// characters that follow.
  torch::Tensor forward(const torch::Tensor& text);

  /// The trained parameters: matrices, which weight decay may shrink, and the others.
  std::vector<torch::Tensor> decayed_parameters() const;
  std::vector<torch::Tensor> other_parameters() const;

 private:
  std::vector<torch::Tensor> trained_parameters(bool is_decayed) const;

  torch::nn::Embedding pairs_;
  torch::Tensor features_;
  torch::nn::Linear projection_;
  torch::nn::Dropout dropout_;
  torch::nn::GRU gru_;
  torch::nn::Linear head_;
};
TORCH_MODULE(LanguageModel);

}  // namespace char_lm
