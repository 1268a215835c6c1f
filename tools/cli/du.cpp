// `cairn du`: where the bytes are.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/json.h"
#include "text/table.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace cairn::tools {

namespace {

struct DuCommand : Session {
  bool wants_checkpoints = false;
};

Json json_of(const DuCommand& command, const UsageReport& report) {
  Json document = {{"store", valid_utf8(command.path)}, {"logical_bytes", report.logical_bytes},
                   {"live_bytes", report.live_bytes},   {"garbage_bytes", report.garbage_bytes},
                   {"disk_bytes", report.disk_bytes},   {"objects", Json::array()},
                   {"checkpoints", Json::array()}};
  for (const ObjectUsage& object : report.objects) {
    document["objects"].push_back({{"name", valid_utf8(object.name)},
                                   {"checkpoint_count", object.checkpoint_count},
                                   {"logical_bytes", object.logical_bytes},
                                   {"stored_bytes", object.stored_bytes},
                                   {"own_bytes", object.own_bytes}});
  }
  for (const CheckpointUsage& checkpoint : report.checkpoints) {
    document["checkpoints"].push_back({{"version", checkpoint.version},
                                       {"logical_bytes", checkpoint.logical_bytes},
                                       {"own_bytes", checkpoint.own_bytes}});
  }
  return document;
}

std::string answer_text(const DuCommand& command, const UsageReport& report) {
  if (report.checkpoints.empty()) return "no checkpoints yet\n";
  Table objects({{"OBJECT"},
                 {"CHECKPOINTS", Align::kRight},
                 {"LOGICAL", Align::kRight},
                 {"STORED", Align::kRight},
                 {"OWN", Align::kRight}});
  for (const ObjectUsage& object : report.objects) {
    objects.add_row({printable(object.name), fmt::format("{}", object.checkpoint_count),
                     size_text(object.logical_bytes), size_text(object.stored_bytes), size_text(object.own_bytes)});
  }
  std::string text = objects.text();
  if (command.wants_checkpoints) {
    Table checkpoints({{"VERSION", Align::kRight}, {"LOGICAL", Align::kRight}, {"OWN", Align::kRight}});
    for (auto checkpoint = report.checkpoints.rbegin(); checkpoint != report.checkpoints.rend(); ++checkpoint) {
      checkpoints.add_row({fmt::format("{}", checkpoint->version), size_text(checkpoint->logical_bytes),
                           size_text(checkpoint->own_bytes)});
    }
    text += '\n' + checkpoints.text();
  }
  text += fmt::format("\n{} hold {} in {} of chunks and rows\n",
                      count_text(report.checkpoints.size(), "checkpoint", "checkpoints"),
                      size_text(report.logical_bytes), size_text(report.live_bytes));
  text += fmt::format("{} on disk, of which 'cairn gc' can free {}\n", size_text(report.disk_bytes),
                      size_text(report.garbage_bytes));
  return text;
}

Exit run(const DuCommand& command) {
  const UsageReport report = command.open().usage();
  if (command.wants_json) {
    write_json(json_of(command, report));
  } else {
    write_output(answer_text(command, report));
  }
  return kOk;
}

}  // namespace

void add_du(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<DuCommand>();
  CLI::App* command = app.add_subcommand("du", "Say where the bytes are, and what could be freed");
  add_session(*command, *options);
  command->add_flag("-c,--checkpoints", options->wants_checkpoints,
                    "List the checkpoints too, newest first: OWN is what removing one\nof them would free");
  command->footer(
      "LOGICAL counts every tensor of every checkpoint, STORED every chunk and row once, OWN what nothing else refers\n"
      "to. What removing several checkpoints would free: 'cairn prune --dry-run'.\n\n"
      "Example:\n  cairn du runs/lm.cairn");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace cairn::tools
