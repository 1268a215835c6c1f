// `cairn verify`: reads everything in a store and says what is damaged, a line per problem.
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

Json json_of(const Problem& problem) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(valid_utf8(text));
  };
  Json json;
  json["invariant"] = problem.invariant == 0 ? Json(nullptr) : Json(problem.invariant);
  json["version"] = problem.version == 0 ? Json(nullptr) : Json(problem.version);
  json["object"] = text_or_null(problem.object);
  json["entry"] = text_or_null(problem.entry);
  json["message"] = valid_utf8(problem.message);
  return json;
}

Exit run(const Session& session) {
  const Store store = session.open();
  VerifyReport report;
  {
    ProgressLine progress("verifying");
    report = store.verify([&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); });
  }
  const bool is_whole = report.problems.empty();
  if (session.wants_json) {
    Json document = {{"store", valid_utf8(session.path)},
                     {"is_whole", is_whole},
                     {"checkpoint_count", report.checkpoint_count},
                     {"entry_count", report.entry_count},
                     {"chunk_count", report.chunk_count},
                     {"chunk_bytes", report.chunk_bytes},
                     {"problems", Json::array()}};
    for (const Problem& problem : report.problems) document["problems"].push_back(json_of(problem));
    write_json(document);
  } else {
    std::string text;
    for (const Problem& problem : report.problems) {
      text += fmt::format("{} {}", styled(Style::kBad, "problem:"), printable(problem.message));
      if (problem.invariant != 0) text += fmt::format(" (invariant {})", problem.invariant);
      text += '\n';
    }
    text += fmt::format("{}: {}, {}, {} of {}\n",
                        is_whole ? styled(Style::kGood, "whole")
                                 : styled(Style::kBad, count_text(report.problems.size(), "problem", "problems")),
                        count_text(report.checkpoint_count, "checkpoint", "checkpoints"),
                        count_text(report.entry_count, "entry", "entries"),
                        count_text(report.chunk_count, "chunk", "chunks"), size_text(report.chunk_bytes));
    write_output(text);
  }
  return is_whole ? kOk : kProblem;
}

}  // namespace

void add_verify(CLI::App& app, Command& chosen) {
  const auto session = std::make_shared<Session>();
  CLI::App* command = app.add_subcommand("verify", "Read every row and chunk and say what is damaged");
  add_session(*command, *session);
  command->footer(
      "Exit status 1 when there is a problem. The invariants are those of src/README.md.\n\n"
      "Example:\n  cairn verify runs/lm.cairn");
  command->callback([session, &chosen] { chosen = [session] { return run(*session); }; });
}

}  // namespace cairn::tools
