// Everything that decides the next step is in a checkpoint: weights, optimizer, the generator that
// dropout and shuffling draw from, the place in the shuffled text. The losses of all steps are an
// object as well, so that two runs can be compared.
#include "char_lm/training.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <cairn/cairn.h>
#include <fmt/format.h>
#include <torch/data/samplers/random.h>
#include <torch/nn/functional/loss.h>
#include <torch/optim/adamw.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "char_lm/corpus.h"
#include "char_lm/model.h"
#include "text/wording.h"

namespace char_lm {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSeed = 20;
constexpr std::int64_t kBatch = 16;
constexpr std::int64_t kLength = 48;
constexpr double kPeakLearningRate = 1.5e-2;
constexpr double kWeightDecay = 0.05;
/// Progress is printed about this often in a run.
constexpr std::int64_t kReports = 5;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Linear warm-up over the first tenth, then a half cosine down to a tenth.
double learning_rate_at(std::int64_t step, std::int64_t steps) {
  const double warm_up = std::max(1.0, static_cast<double>(steps) / 10);
  const double place = static_cast<double>(step);
  if (place < warm_up) return kPeakLearningRate * (place + 1) / warm_up;
  const double part = (place - warm_up) / (static_cast<double>(steps) - warm_up);
  return kPeakLearningRate * (0.1 + 0.45 * (1 + std::cos(std::numbers::pi * part)));
}

torch::optim::AdamW make_optimizer(const LanguageModelImpl& model) {
  auto decayed = std::make_unique<torch::optim::AdamWOptions>(kPeakLearningRate);
  decayed->weight_decay(kWeightDecay);
  auto others = std::make_unique<torch::optim::AdamWOptions>(kPeakLearningRate);
  others->weight_decay(0);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(model.decayed_parameters(), std::move(decayed));
  groups.emplace_back(model.other_parameters(), std::move(others));
  return torch::optim::AdamW(groups, torch::optim::AdamWOptions(kPeakLearningRate));
}

class Trainer {
 public:
  explicit Trainer(const TrainingOptions& options)
      : options_(options),
        corpus_(read_corpus(options.text)),
        optimizer_(make_optimizer(*model_)),
        sampler_((corpus_.characters.numel() - kContext - 1) / kLength),
        losses_(torch::full({options.steps}, std::numeric_limits<float>::quiet_NaN())),
        store_(cairn::Store::open(options.store)) {
    sampler_.reset();
  }

  /// Goes on after the newest checkpoint of the store, if it has any.
  void resume() {
    if (const auto latest = store_.latest()) check_config(latest->metadata());
    const auto resumed = store_.resume(targets());
    if (!resumed) {
      fmt::print("   process {} starts with step 1\n", getpid());
      return;
    }
    step_ = resumed->metadata().at("step").as_int();
    fmt::print("   process {} resumes from checkpoint {}, after step {}\n", getpid(), resumed->version(), step_);
  }

  void run() {
    const auto start = Clock::now();
    const std::int64_t report_every = std::max<std::int64_t>(1, options_.steps / kReports);
    while (step_ < options_.steps) {
      const double learning_rate = take_step();
      if (step_ % report_every == 0 || step_ == options_.steps) {
        fmt::print("   step {:>4}: loss {:.4f}, learning rate {:.5f}\n", step_, loss_, learning_rate);
      }
      if (step_ % options_.checkpoint_every == 0 || step_ == options_.steps) create_checkpoint(learning_rate);
    }
    fmt::print("   finished in {:.1f} s, {:.2f} s of it for {}\n", seconds_since(start), create_seconds_,
               cairn::tools::count_text(created_count_, "checkpoint", "checkpoints"));
    if (options_.kill_at_step) {
      throw std::runtime_error(fmt::format("this process was to end in the commit after step {}, but there was none",
                                           *options_.kill_at_step));
    }
  }

 private:
  cairn::Targets targets() {
    return {{"model", model_},
            {"optimizer", optimizer_},
            {"rng", cairn::cpu_rng()},
            {"sampler", sampler_},
            {"losses", losses_}};
  }

  /// What must be the same for a run to be the continuation of another.
  cairn::ValueMap config() const {
    return {{"steps", options_.steps},
            {"checkpoint_every", options_.checkpoint_every},
            {"text_bytes", corpus_.characters.numel()},
            {"text_digest", corpus_.digest}};
  }

  void check_config(const cairn::Metadata& metadata) const {
    const cairn::Value* found = metadata.find("config");
    const cairn::Value expected = config();
    if (found != nullptr && *found == expected) return;
    throw std::runtime_error(
        fmt::format("'{}' belongs to another run: it has config {}, this run has {}; give another --store",
                    options_.store.string(), found == nullptr ? "none" : to_string(*found), to_string(expected)));
  }

  /// int64 [batch, context + length + 1]: the next windows of the shuffled text.
  torch::Tensor next_batch() {
    auto chosen = sampler_.next(kBatch);
    if (!chosen || chosen->size() < static_cast<std::size_t>(kBatch)) {
      sampler_.reset();
      chosen = sampler_.next(kBatch);
    }
    std::vector<torch::Tensor> windows;
    for (const std::size_t index : *chosen) {
      windows.push_back(
          corpus_.characters.narrow(0, static_cast<std::int64_t>(index) * kLength, kContext + kLength + 1));
    }
    return torch::stack(windows).to(torch::kInt64);
  }

  /// Returns the learning rate of the step.
  double take_step() {
    const double learning_rate = learning_rate_at(step_, options_.steps);
    for (torch::optim::OptimizerParamGroup& group : optimizer_.param_groups()) {
      static_cast<torch::optim::AdamWOptions&>(group.options()).lr(learning_rate);
    }
    const torch::Tensor batch = next_batch();
    const torch::Tensor scores = model_->forward(batch.narrow(1, 0, kContext + kLength));
    const torch::Tensor wanted = batch.narrow(1, kContext + 1, kLength);
    const torch::Tensor loss =
        torch::nn::functional::cross_entropy(scores.reshape({-1, kVocabularySize}), wanted.reshape({-1}));
    optimizer_.zero_grad();
    loss.backward();
    optimizer_.step();
    loss_ = loss.item<float>();
    losses_[step_] = loss_;
    ++step_;
    return learning_rate;
  }

  void create_checkpoint(double learning_rate) {
    cairn::CreateOptions create;
    const bool is_last = options_.kill_at_step == step_;
    if (is_last) create.progress = [](std::uint64_t done, std::uint64_t total) { end_while_writing(done, total); };
    const auto start = Clock::now();
    const cairn::Created created = store_.create_checkpoint(
        targets(), {{"step", step_}, {"loss", loss_}, {"lr", learning_rate}, {"config", config()}}, create);
    create_seconds_ += seconds_since(start);
    ++created_count_;
    if (is_last) {
      throw std::runtime_error(fmt::format("checkpoint {} was to be cut off, but was committed", created.version));
    }
  }

  /// What the store has already is counted as done at once, so the last part is where bytes are
  /// being written.
  static void end_while_writing(std::uint64_t done, std::uint64_t total) {
    // The library skips calls that follow each other too fast; after a slow one it does not.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (done < total - total / 10 || done == total) return;
    fmt::print("   process {} ends itself by SIGKILL in the middle of a commit: {} of {} are done\n", getpid(),
               cairn::tools::size_text(done), cairn::tools::size_text(total));
    std::fflush(stdout);
    kill(getpid(), SIGKILL);
  }

  const TrainingOptions options_;
  const Corpus corpus_;
  LanguageModel model_;
  torch::optim::AdamW optimizer_;
  torch::data::samplers::RandomSampler sampler_;
  torch::Tensor losses_;  // float32 [steps]; NaN: not there yet
  cairn::Store store_;
  std::int64_t step_ = 0;  // taken so far
  float loss_ = 0;
  double create_seconds_ = 0;
  std::uint64_t created_count_ = 0;
};

}  // namespace

void train(const TrainingOptions& options) {
  // Sums are taken in another order with another number of threads, and one is as fast for matrices
  // this small.
  at::set_num_threads(1);
  torch::manual_seed(kSeed);
  Trainer trainer(options);
  trainer.resume();
  trainer.run();
}

}  // namespace char_lm
