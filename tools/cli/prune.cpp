// `cairn prune`: removes the checkpoints that no rule keeps.
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/policy_argument.h"
#include "text/table.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace cairn::tools {

namespace {

struct PruneCommand : Session {
  RetentionPolicy policy;
  bool is_dry_run = false;
};

Json json_of(const PruneCommand& command, const PruneReport& report) {
  Json document = {{"store", valid_utf8(command.path)},
                   {"dry_run", command.is_dry_run},
                   {"removed", Json::array()},
                   {"kept", report.kept},
                   {"freed_bytes", report.freed_bytes ? Json(*report.freed_bytes) : Json(nullptr)}};
  for (const CheckpointInfo& checkpoint : report.removed) document["removed"].push_back(to_json(checkpoint));
  return document;
}

std::string answer_text(const PruneCommand& command, const PruneReport& report) {
  const std::size_t total = report.removed.size() + report.kept.size();
  if (report.removed.empty()) return fmt::format("nothing to remove: all {} are kept\n", total);
  Table table(
      {{"VERSION", Align::kRight}, {"TIME"}, {"AGE", Align::kRight}, {"STEP", Align::kRight}, {"SIZE", Align::kRight}});
  for (const CheckpointInfo& checkpoint : report.removed) {
    const Value* step = checkpoint.metadata.find("step");
    table.add_row(
        {fmt::format("{}", checkpoint.version), time_text(checkpoint.created_at_us), age_text(checkpoint.created_at_us),
         step == nullptr ? "-" : clip(value_text(*step, Detail::kShort), 24), size_text(checkpoint.logical_bytes)});
  }
  std::string text = table.text();
  text += fmt::format("{} {} of {}", command.is_dry_run ? "would remove" : "removed", report.removed.size(),
                      count_text(total, "checkpoint", "checkpoints"));
  if (report.freed_bytes) {
    text += fmt::format("; 'cairn gc' would free {} then\n", size_text(*report.freed_bytes));
  } else {
    text += "; 'cairn gc' gives the space back\n";
  }
  return text;
}

Exit run(const PruneCommand& command) {
  Store store = command.is_dry_run ? command.open() : command.open_for_writing();
  const PruneReport report = store.prune(command.policy, {command.is_dry_run});
  if (command.wants_json) {
    write_json(json_of(command, report));
  } else {
    write_output(answer_text(command, report));
  }
  return kOk;
}

/// An option whose text `take` turns into a rule; what it cannot is wrong usage.
CLI::Option* add_rule(CLI::App& command, const std::string& name, const std::string& description,
                      const std::function<void(const std::string&)>& take) {
  return command.add_option_function<std::vector<std::string>>(
      name,
      [name, take](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
          try {
            take(text);
          } catch (const std::invalid_argument& error) {
            throw CLI::ValidationError(name, error.what());
          }
        }
      },
      description);
}

}  // namespace

void add_prune(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<PruneCommand>();
  RetentionPolicy& policy = options->policy;
  CLI::App* command = app.add_subcommand("prune", "Remove the checkpoints that no rule keeps");
  add_session(*command, *options);
  add_rule(*command, "--keep-last", "Keep the newest N",
           [&policy](const std::string& text) { policy.keep_last(count_of(text)); })
      ->type_name("N")
      ->expected(1);
  add_rule(*command, "--keep-every", "Keep the first of every N steps (metadata key 'step')",
           [&policy](const std::string& text) { policy.keep_every(static_cast<std::int64_t>(count_of(text))); })
      ->type_name("N")
      ->expected(1);
  add_rule(*command, "--keep-best",
           "Keep the N (1) with the lowest (min, the default) or highest\n(max) METRIC; may be given several times",
           [&policy](const std::string& text) { policy.best.push_back(best_of(text)); })
      ->type_name("METRIC[:min|max][:N]")
      ->expected(1, 1 << 20)
      ->allow_extra_args(false);
  command->add_flag_callback(
      "--keep-tagged", [&policy] { policy.keep_tagged(); },
      "Keep what has a tag, which is kept anyway: for when it is all");
  add_rule(*command, "--keep-newer-than", "Keep what was created within that time: 90s, 30min, 12h, 7d, 2w",
           [&policy](const std::string& text) { policy.keep_newer_than(duration_of(text)); })
      ->type_name("TIME")
      ->expected(1);
  add_rule(*command, "--budget", "Keep as many of the newest as fit, beside what other rules keep: 500MB, 10GiB",
           [&policy](const std::string& text) { policy.keep_within(size_of(text)); })
      ->type_name("SIZE")
      ->expected(1);
  command->add_flag("-n,--dry-run", options->is_dry_run, "Remove nothing, list what would go");
  command->footer(
      "What any rule keeps stays, and so do the newest checkpoint and those that have a tag. Chunks stay until 'cairn "
      "gc'.\n\n"
      "Example:\n  cairn prune runs/lm.cairn --keep-last 5 --keep-best val_loss:min:3 --dry-run");
  command->callback([options, &chosen] {
    if (options->policy.empty()) {
      throw CLI::ValidationError("prune", "no rule is given, and without one nothing would be kept");
    }
    chosen = [options] { return run(*options); };
  });
}

}  // namespace cairn::tools
