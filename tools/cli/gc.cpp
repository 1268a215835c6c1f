// `cairn gc`: gives the space of what was removed back.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/progress_line.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace cairn::tools {

namespace {

Exit run(const Session& session) {
  Store store = session.open_for_writing();
  GcReport report;
  {
    ProgressLine progress("collecting");
    GcOptions options;
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    report = store.gc(options);
  }
  if (session.wants_json) {
    write_json({{"store", valid_utf8(session.path)},
                {"freed_bytes", report.freed_bytes},
                {"bytes", report.bytes},
                {"live_chunks", report.live_chunks},
                {"live_bytes", report.live_bytes},
                {"removed_chunks", report.removed_chunks},
                {"removed_digest_rows", report.removed_digest_rows},
                {"dropped_segments", report.dropped_segments},
                {"rewritten_segments", report.rewritten_segments},
                {"skipped_segments", report.skipped_segments}});
    return kOk;
  }
  std::string text = fmt::format("freed {}: {} removed; {} dropped, {} rewritten\n", size_text(report.freed_bytes),
                                 count_text(report.removed_chunks, "chunk", "chunks"),
                                 count_text(report.dropped_segments, "file", "files"), report.rewritten_segments);
  if (report.skipped_segments != 0) {
    text += fmt::format(
        "{} would be smaller rewritten, but there was no room for it: free some space, or collect "
        "again later\n",
        count_text(report.skipped_segments, "file", "files"));
  }
  text += fmt::format("{} left, of which {} are needed by checkpoints\n", size_text(report.bytes),
                      size_text(report.live_bytes));
  write_output(text);
  return kOk;
}

}  // namespace

void add_gc(CLI::App& app, Command& chosen) {
  const auto session = std::make_shared<Session>();
  CLI::App* command = app.add_subcommand("gc", "Give the space of removed checkpoints back");
  add_session(*command, *session);
  command->footer(
      "May be interrupted at any moment: checkpoints stay whole, and the next run goes on.\n\n"
      "Example:\n  cairn gc runs/lm.cairn");
  command->callback([session, &chosen] { chosen = [session] { return run(*session); }; });
}

}  // namespace cairn::tools
