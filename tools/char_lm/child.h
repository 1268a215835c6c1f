// Runs this program again as a process of its own.
#pragma once

#include <string>
#include <vector>

namespace char_lm {

/// How a process ended.
struct Ending {
  bool is_signal = false;
  int number = 0;  ///< The signal, or the exit status.

  bool is_success() const noexcept { return !is_signal && number == 0; }
};

/// "exit status 1", "signal 9 (Killed)".
std::string to_string(const Ending& ending);

/// Starts this executable with the arguments, with the same standard output and error, and waits for its end. SIGINT
/// and SIGTERM end the child, not the caller. Errors: std::system_error. Threads: one call at a time.
Ending run_self(const std::vector<std::string>& arguments);

}  // namespace char_lm
