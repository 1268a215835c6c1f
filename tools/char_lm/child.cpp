// The child is spawned, never merely forked: LibTorch's threads would not survive that.
#include "char_lm/child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

extern char** environ;

namespace char_lm {

namespace {

volatile std::sig_atomic_t running_child = 0;

void end_child(int) {
  if (running_child > 0) kill(running_child, SIGTERM);
}

/// Interrupts and requests to end are for the child; the caller sees how it ended and cleans up.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    struct sigaction forward {};
    forward.sa_handler = end_child;
    sigaction(SIGINT, &forward, &interrupt_);
    sigaction(SIGTERM, &forward, &terminate_);
  }
  ~ForwardedSignals() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

}  // namespace

std::string to_string(const Ending& ending) {
  if (!ending.is_signal) return fmt::format("exit status {}", ending.number);
  return fmt::format("signal {} ({})", ending.number, strsignal(ending.number));
}

Ending run_self(const std::vector<std::string>& arguments) {
  const char* self = "/proc/self/exe";
  std::vector<char*> pointers = {const_cast<char*>("char_lm")};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);

  std::fflush(stdout);
  const ForwardedSignals forwarded;
  pid_t child = 0;
  check(posix_spawn(&child, self, nullptr, nullptr, pointers.data(), environ),
        "cannot start this program a second time");
  running_child = child;

  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) check(errno, "waitpid");
  }
  running_child = 0;
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

}  // namespace char_lm
