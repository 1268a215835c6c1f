// Output goes through files, so that no pipe can fill up while nobody reads.
#include "tools/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include <pty.h>

extern char** environ;

namespace cairn::testing {

namespace fs = std::filesystem;

namespace {

pid_t start(const std::string& program, const std::vector<std::string>& arguments, int out, int err) {
  std::vector<char*> pointers = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + program);
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("waitpid failed");
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int open_file(const fs::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("cannot open " + path.string());
  return file;
}

Outcome run(const std::string& program, const std::vector<std::string>& arguments) {
  const int out = open_file(scratch() / "out");
  const int err = open_file(scratch() / "err");
  Outcome outcome;
  outcome.status = wait_for(start(program, arguments, out, err));
  close(out);
  close(err);
  outcome.out = contents_of(scratch() / "out");
  outcome.err = contents_of(scratch() / "err");
  return outcome;
}

void make_store(const std::vector<std::string>& arguments) {
  const Outcome outcome = run(CAIRN_MAKE_STORE_PATH, arguments);
  if (outcome.status != 0) throw std::runtime_error("make_store failed: " + outcome.err);
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "cairn-tools-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a scratch folder");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

Outcome run_cairn(const std::vector<std::string>& arguments) { return run(CAIRN_CLI_PATH, arguments); }
Outcome run_bench(const std::vector<std::string>& arguments) { return run(CAIRN_BENCH_PATH, arguments); }

Outcome run_cairn_on_terminal(const std::vector<std::string>& arguments, unsigned short columns) {
  int master = 0;
  int slave = 0;
  winsize size{};
  size.ws_col = columns;
  size.ws_row = 50;
  if (openpty(&master, &slave, nullptr, nullptr, &size) != 0) throw std::runtime_error("cannot open a terminal");
  fcntl(master, F_SETFD, FD_CLOEXEC);
  const int err = open_file(scratch() / "err");
  const pid_t child = start(CAIRN_CLI_PATH, arguments, slave, err);
  close(slave);
  Outcome outcome;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = read(master, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;  // EIO once the child has closed its end
    outcome.out.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(master);
  close(err);
  outcome.status = wait_for(child);
  outcome.out.erase(std::remove(outcome.out.begin(), outcome.out.end(), '\r'), outcome.out.end());
  outcome.err = contents_of(scratch() / "err");
  return outcome;
}

const fs::path& scratch() {
  static const ScratchFolder folder;
  return folder.path();
}

const fs::path& sample_store() {
  static const fs::path path = [] {
    fs::path made = scratch() / "sample.cairn";
    make_store({made.string()});
    return made;
  }();
  return path;
}

fs::path empty_store() {
  fs::path path = scratch() / "empty.cairn";
  if (!fs::exists(path)) make_store({"--empty", path.string()});
  return path;
}

fs::path damaged_store() {
  fs::path path = scratch() / "damaged.cairn";
  if (fs::exists(path)) return path;
  fs::copy(sample_store(), path, fs::copy_options::recursive);
  // Part of model/big of step 100, as make_store fills it.
  std::string needle;
  for (int i = 0; i < 16; ++i) {
    const float element = 101'000.0F + static_cast<float>(i);
    needle.append(reinterpret_cast<const char*>(&element), sizeof element);
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.path().extension() != ".sst") continue;
    const std::string bytes = contents_of(entry.path());
    const std::size_t place = bytes.find(needle);
    if (place == std::string::npos) continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(place));
    file.put(static_cast<char>(bytes[place] ^ 1));
    if (!file.good()) break;
    return path;
  }
  throw std::runtime_error("no file of the store holds the bytes to damage");
}

LiveWriter::LiveWriter(const fs::path& store) {
  const std::string command = "exec '" CAIRN_MAKE_STORE_PATH "' --hold '" + store.string() + "'";
  pipe_ = popen(command.c_str(), "r");
  if (pipe_ == nullptr || std::fscanf(pipe_, "%d", &process_) != 1) throw std::runtime_error("no live writer");
}

LiveWriter::~LiveWriter() {
  if (process_ != 0) kill(process_, SIGTERM);
  if (pipe_ != nullptr) pclose(pipe_);
}

std::string contents_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(part) != std::string::npos) return line;
  }
  return {};
}

}  // namespace cairn::testing
