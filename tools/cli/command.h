// What the subcommands of `cairn` share: how one is added, and how one fails.
//
// A subcommand lives in the file of its name. Adding it describes its arguments; once they have
// been parsed, the one that was chosen sets `chosen`, which main runs. Those that change nothing open
// the store for reading only.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "cairn/store.h"

namespace CLI {
class App;
}

namespace cairn::tools {

/// Exit statuses; kUsage is for arguments that make no sense whatever the store holds.
enum Exit : int { kOk = 0, kProblem = 1, kUsage = 2 };

using Command = std::function<Exit()>;

void add_log(CLI::App& app, Command& chosen);
void add_show(CLI::App& app, Command& chosen);
void add_get(CLI::App& app, Command& chosen);
void add_verify(CLI::App& app, Command& chosen);
void add_du(CLI::App& app, Command& chosen);
void add_prune(CLI::App& app, Command& chosen);
void add_gc(CLI::App& app, Command& chosen);

/// Where the store is, and in which form to answer.
struct Session {
  std::string path;
  bool wants_json = false;

  /// Opens the store for reading; its warnings go to standard error.
  Store open() const;
  /// Opens a store that exists for writing too, which only one process can at a time.
  Store open_for_writing() const;
};

/// Adds STORE and --json to a subcommand. Requires: `session` outlives the parsing.
void add_session(CLI::App& command, Session& session);

/// Ends the command with status 1. The hint says what to try, as a phrase to follow "try: "; it may
/// be empty.
class CommandError : public std::runtime_error {
 public:
  explicit CommandError(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}

  const std::string& hint() const noexcept { return hint_; }

 private:
  std::string hint_;
};

}  // namespace cairn::tools
