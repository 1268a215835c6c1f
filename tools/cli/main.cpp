// `cairn`: looks into a store of checkpoints. Parses the arguments, runs the subcommand, turns
// errors into exit statuses.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "cairn/error.h"
#include "cairn/version.h"
#include "cli/command.h"
#include "cli/json.h"
#include "text/terminal.h"

namespace cairn::tools {

namespace {

void report(std::string_view message, std::string_view hint) {
  std::string text = fmt::format("cairn: {}\n", printable(message));
  if (!hint.empty()) text += fmt::format("try: {}\n", hint);
  std::fputs(text.c_str(), stderr);
}

std::string_view hint_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCorruption:
      return "'cairn verify STORE' lists all damage; older checkpoints ('cairn log STORE') may be "
             "whole";
    case ErrorCode::kUnsupportedVersion:
      return "a newer release of cairn";
    case ErrorCode::kBusy:
      return "again in a moment";
    case ErrorCode::kIo:
      return "check the device, and the permissions of the store's directory";
    default:
      return {};
  }
}

void report_to_log(LogLevel level, std::string_view message) {
  if (level != LogLevel::kInfo) report(message, {});
}

/// Which subcommand was being parsed when it failed: ends the hint with its --help.
std::string help_hint(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) return fmt::format("cairn {} --help", command->get_name());
  return "cairn --help";
}

int run(int argc, char** argv) {
  CLI::App app("Looks into a Cairn store: the checkpoints of a training run", "cairn");
  app.set_version_flag("--version", fmt::format("cairn {}", kVersion));
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  app.footer(
      "All but prune and gc open the store for reading only, beside a running trainer or not. Exit status:\n"
      "0 when all is well, 1 on an error or a problem found, 2 on wrong usage.\n\nExample:\n  cairn log runs/lm.cairn");
  Command chosen;
  add_log(app, chosen);
  add_show(app, chosen);
  add_get(app, chosen);
  add_verify(app, chosen);
  add_du(app, chosen);
  add_prune(app, chosen);
  add_gc(app, chosen);
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::as_const(app).get_subcommands(is_named).empty()) {
    report(fmt::format("there is no command '{}'", argv[1]), "cairn --help");
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    report(error.what(), help_hint(app));
    return kUsage;
  }
  try {
    return chosen();
  } catch (const CommandError& error) {
    report(error.what(), error.hint());
  } catch (const Error& error) {
    report(error.what(), hint_for(error.code()));
  } catch (const c10::Error& error) {
    report(error.what_without_backtrace(), {});
  } catch (const std::exception& error) {
    report(error.what(), {});
  }
  return kProblem;
}

}  // namespace

Store Session::open() const {
  StoreOptions options;
  options.log = report_to_log;
  try {
    return Store::open_read_only(path, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound && error.code() != ErrorCode::kInvalidArgument) throw;
    throw CommandError(error.what(), "the directory that the trainer opened; it holds a file named CAIRN");
  }
}

Store Session::open_for_writing() const {
  open();  // a store that is not there would be created
  StoreOptions options;
  options.log = report_to_log;
  try {
    return Store::open(path, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBusy) throw;
    throw CommandError(error.what(),
                       "when that process has ended; a trainer can also prune and collect itself, see "
                       "StoreOptions::retention");
  }
}

void add_session(CLI::App& command, Session& session) {
  command.add_option("store", session.path, "Directory of the store")->type_name("STORE")->required();
  command.add_flag("--json", session.wants_json, std::string(kJsonHelp));
}

}  // namespace cairn::tools

int main(int argc, char** argv) {
  // Character widths need it; numbers stay as in the C locale.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  return cairn::tools::run(argc, argv);
}
