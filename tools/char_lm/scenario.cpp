// Every claim that is printed has been checked on the stores: how the first process ended, that its
// last checkpoint is not there, that the second one resumed from the one before, that both stores
// verify, that the runs agree.
#include "char_lm/scenario.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/cairn.h>
#include <fmt/format.h>

#include "char_lm/child.h"
#include "char_lm/comparison.h"
#include "char_lm/corpus.h"
#include "char_lm/stores_folder.h"
#include "text/table.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace char_lm {

namespace fs = std::filesystem;
namespace tools = cairn::tools;
using tools::size_text;

namespace {

constexpr std::int64_t kCheckpoints = 25;  // at most, in one run
constexpr std::size_t kShownDifferences = 10;
constexpr const char* kTextFile = "text.txt";

struct Plan {
  std::int64_t steps = 0;
  std::int64_t checkpoint_every = 0;
  std::int64_t kill_at_step = 0;
  std::uint64_t whole_before_kill = 0;  // checkpoints
  std::uint64_t checkpoint_count = 0;   // of a whole run
};

Plan plan_for(std::int64_t steps) {
  Plan plan;
  plan.steps = steps;
  plan.checkpoint_every = (steps + kCheckpoints - 1) / kCheckpoints;
  const std::int64_t count = (steps + plan.checkpoint_every - 1) / plan.checkpoint_every;
  const std::int64_t killed = (count + 1) / 2;
  plan.kill_at_step = killed * plan.checkpoint_every;
  plan.whole_before_kill = static_cast<std::uint64_t>(killed - 1);
  plan.checkpoint_count = static_cast<std::uint64_t>(count);
  return plan;
}

/// A copy of the text, so that all processes learn the same even where somebody edits it meanwhile.
void write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write '{}'", file.string()));
}

std::vector<std::string> train_arguments(const Plan& plan, const fs::path& store) {
  return {"train",
          "--store",
          store.string(),
          "--text",
          (store.parent_path() / kTextFile).string(),
          "--steps",
          std::to_string(plan.steps),
          "--every",
          std::to_string(plan.checkpoint_every)};
}

void run_to_the_end(const std::vector<std::string>& arguments) {
  const Ending ending = run_self(arguments);
  if (ending.is_success()) return;
  throw std::runtime_error("the training process failed: " + to_string(ending));
}

void print_title(std::string_view title) { fmt::print("\n{}\n", tools::styled(tools::Style::kTitle, title)); }

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

void check_whole(const cairn::Store& store) {
  const cairn::VerifyReport report = store.verify();
  if (!report.problems.empty()) {
    throw std::runtime_error(
        fmt::format("'{}' is damaged: {}", store.path().string(), report.problems.front().message));
  }
}

/// Looks at what the killed process left.
void check_after_kill(const fs::path& path, const Plan& plan) {
  const cairn::Store store = cairn::Store::open_read_only(path);
  const auto latest = store.latest();
  const std::uint64_t newest = latest ? latest->version() : 0;
  if (newest != plan.whole_before_kill) {
    throw std::runtime_error(
        fmt::format("after the kill the newest checkpoint is {}, not {}", newest, plan.whole_before_kill));
  }
  check_whole(store);
  fmt::print(
      "   It left {} whole checkpoints, the last of them after step {}. Of checkpoint {} there is\n"
      "   nothing but {} in staging. Every chunk has been read and checked.\n",
      newest, latest->metadata().at("step").as_int(), newest + 1, size_text(bytes_below(path / "staging")));
}

void run_interrupted(const Plan& plan, const fs::path& store) {
  print_title("1. A run is killed in the middle of a commit");
  std::vector<std::string> arguments = train_arguments(plan, store);
  arguments.insert(arguments.end(), {"--kill-at-step", std::to_string(plan.kill_at_step)});
  const Ending ending = run_self(arguments);
  if (!ending.is_signal || ending.number != SIGKILL) {
    throw std::runtime_error("the training process was to be killed in the middle of a commit, but ended with " +
                             to_string(ending));
  }
  check_after_kill(store, plan);

  print_title("2. The same command again: it resumes");
  run_to_the_end(train_arguments(plan, store));
}

void print_checkpoints(const cairn::Store& store, std::uint64_t resumed_from) {
  using tools::Align;
  tools::Table table({{"VERSION", Align::kRight},
                      {"STEP", Align::kRight},
                      {"LOSS", Align::kRight},
                      {"SIZE", Align::kRight},
                      {"WRITTEN", Align::kRight},
                      {"TIME"},
                      {""}});
  for (const cairn::CheckpointInfo& info : store.list()) {
    table.add_row({fmt::format("{}", info.version), fmt::format("{}", info.metadata.at("step").as_int()),
                   fmt::format("{:.4f}", info.metadata.at("loss").as_double()), size_text(info.logical_bytes),
                   size_text(info.written_bytes), tools::time_text(info.created_at_us),
                   info.version == resumed_from       ? "killed during the next"
                   : info.version == resumed_from + 1 ? "by the resumed process"
                                                      : ""});
  }
  tools::write_output(table.text("   "));
}

void print_savings(const cairn::Store& store) {
  std::uint64_t logical = 0;
  std::uint64_t written = 0;
  const std::vector<cairn::CheckpointInfo> checkpoints = store.list();
  for (const cairn::CheckpointInfo& info : checkpoints) {
    logical += info.logical_bytes;
    written += info.written_bytes;
  }
  fmt::print(
      "   {} whole files would be {}. The store wrote {}, {:.0f} % of that: what had not\n"
      "   changed, above all the frozen features, is there once. On disk it takes {}.\n",
      checkpoints.size(), size_text(logical), size_text(written),
      100 * static_cast<double>(written) / static_cast<double>(std::max<std::uint64_t>(1, logical)),
      size_text(bytes_below(store.path())));
}

bool print_comparison(const Comparison& comparison, std::int64_t steps) {
  if (!comparison.is_identical()) {
    fmt::print("{}: {} differences\n", tools::styled(tools::Style::kBad, "the runs differ"),
               comparison.differences.size());
    for (std::size_t i = 0; i < std::min(kShownDifferences, comparison.differences.size()); ++i) {
      fmt::print("   {}\n", tools::printable(comparison.differences[i]));
    }
    return false;
  }
  fmt::print(
      "   Compared: all {} checkpoints with {} tensors ({}) and {} values,\n"
      "   among them weights, optimizer state, generator, place in the text and {} losses.\n\n{}\n",
      comparison.checkpoint_count, comparison.tensor_count, size_text(comparison.bytes), comparison.value_count, steps,
      tools::styled(tools::Style::kGood, "the resumed run is bit-identical"));
  return true;
}

/// The losses are compared with everything else; this makes sure that all of them are there.
void check_losses(const cairn::Store& store, std::int64_t steps) {
  const cairn::StateDict object = store.latest().value().state_dict("losses");
  const at::Tensor losses = object.begin()->tensor();
  if (losses.numel() != steps || losses.isnan().any().item<bool>()) {
    throw std::runtime_error(fmt::format("'{}' does not hold the losses of {} steps", store.path().string(), steps));
  }
}

}  // namespace

bool play(const ScenarioOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Plan plan = plan_for(options.steps);
  const StoresFolder folder(options.folder, options.keeps_stores);
  const fs::path interrupted = folder.path() / "interrupted.cairn";
  const fs::path uninterrupted = folder.path() / "uninterrupted.cairn";
  const std::string text = read_text(options.text);
  write_text(folder.path() / kTextFile, text);

  fmt::print(
      "A small language model learns {} of text, character by character, in {} steps.\n"
      "One run is killed while it commits a checkpoint, and then resumed; another is left alone.\n"
      "Both must end the same.\n",
      size_text(text.size()), plan.steps);
  run_interrupted(plan, interrupted);

  print_title("3. The same run, undisturbed, in another store");
  run_to_the_end(train_arguments(plan, uninterrupted));

  const cairn::Store resumed = cairn::Store::open_read_only(interrupted);
  const cairn::Store whole = cairn::Store::open_read_only(uninterrupted);
  print_title("4. What the killed and resumed run left");
  print_checkpoints(resumed, plan.whole_before_kill);
  print_savings(resumed);

  print_title("5. The two runs compared, bit for bit");
  for (const cairn::Store* store : {&resumed, &whole}) {
    check_whole(*store);
    check_losses(*store, plan.steps);
    if (store->list().size() != plan.checkpoint_count) {
      throw std::runtime_error(fmt::format("'{}' has {} checkpoints, not {}", store->path().string(),
                                           store->list().size(), plan.checkpoint_count));
    }
  }
  const bool is_identical = print_comparison(compare(resumed, whole), plan.steps);
  if (folder.is_kept()) {
    fmt::print("The stores are in {}: try 'cairn log {}'.\n", folder.path().string(), interrupted.string());
  }
  fmt::print("{:.0f} s in all.\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return is_identical;
}

}  // namespace char_lm
