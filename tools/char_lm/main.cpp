// `char_lm`: shows what Cairn does for a training run. Without arguments the whole show; `char_lm
// train` is one run of it.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <string>

#include <CLI/CLI.hpp>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "char_lm/scenario.h"
#include "char_lm/training.h"

namespace char_lm {

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int run(int argc, char** argv) {
  ScenarioOptions show;
  show.text = CHAR_LM_TEXT_FOLDER;
  TrainingOptions training;
  training.text = CHAR_LM_TEXT_FOLDER;
  std::string show_folder;
  std::string training_store;
  std::string text_path;

  CLI::App app(
      "Trains a small language model, kills it in the middle of a commit, resumes it and compares "
      "it with a run that "
      "was left alone",
      "char_lm");
  app.require_subcommand(0, 1);
  app.add_option("--steps", show.steps, "Steps of training (default: 200)")
      ->type_name("N")
      ->check(CLI::Range(kLeastSteps, std::int64_t{1'000'000}));
  app.add_option("--store", show_folder, "Folder for the two stores, which are kept (default: a temporary one)")
      ->type_name("PATH");
  app.add_flag("--keep", show.keeps_stores, "Keep the temporary folder");
  app.add_option("--text", text_path, "File or folder with the text to learn (default: this repository)")
      ->type_name("PATH")
      ->check(CLI::ExistingPath);
  app.footer(
      "Exit status 0 only when the resumed run is bit-identical.\n\nExample:\n  char_lm --steps "
      "100 --store /tmp/runs");

  CLI::App* train_command = app.add_subcommand("train", "Train, or resume, one run in one store");
  train_command->add_option("--store", training_store, "The store")->type_name("PATH")->required();
  train_command->add_option("--steps", training.steps, "Steps of the whole run (default: 200)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  train_command->add_option("--every", training.checkpoint_every, "Steps between checkpoints (default: 8)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  train_command->add_option("--text", text_path, "File or folder with the text to learn (default: this repository)")
      ->type_name("PATH")
      ->check(CLI::ExistingPath);
  train_command
      ->add_option("--kill-at-step", training.kill_at_step,
                   "End the process by SIGKILL while it commits after this step")
      ->type_name("N");
  train_command->footer("Example:\n  char_lm train --store lm.cairn --steps 400");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    fmt::print(stderr, "char_lm: {}\ntry: char_lm --help\n", error.what());
    return kUsage;
  }
  if (!text_path.empty()) show.text = training.text = text_path;
  show.folder = show_folder;
  training.store = training_store;
  if (train_command->parsed()) {
    train(training);
    return 0;
  }
  return play(show) ? 0 : kFailed;
}

}  // namespace

}  // namespace char_lm

int main(int argc, char** argv) {
  // Lines of this process and its children come in order, and the last ones of a killed process are
  // not lost.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    return char_lm::run(argc, argv);
  } catch (const c10::Error& error) {
    fmt::print(stderr, "char_lm: {}\n", error.what_without_backtrace());
  } catch (const std::exception& error) {
    fmt::print(stderr, "char_lm: {}\n", error.what());
  }
  return 1;
}
