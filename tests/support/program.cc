#include "tests/support/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/clock.h"
#include "core/file.h"
#include "tests/support/places.h"

extern char** environ;

namespace plumbline {
namespace {

namespace fs = std::filesystem;

void pause_ms(int ms) { usleep(static_cast<useconds_t>(ms) * 1000); }

// Parent of a process and whether it is a zombie, from /proc/PID/stat.
bool parent_of(const std::string& pid, pid_t& parent, bool& zombie) {
  const std::string text = read_system_file("/proc/" + pid + "/stat");
  const size_t end = text.rfind(')');  // the command name may hold anything
  if (end == std::string::npos) return false;
  std::istringstream rest(text.substr(end + 1));
  char state = 0;
  rest >> state >> parent;
  zombie = state == 'Z';
  return static_cast<bool>(rest);
}

// Its command line, its words apart by '\0'.
std::string command_line_of(pid_t pid) {
  return read_system_file("/proc/" + std::to_string(pid) + "/cmdline");
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "plumbline-test-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

ScratchFolder::~ScratchFolder() {
  std::error_code code;
  fs::remove_all(path_, code);
}

std::string ScratchFolder::path(const std::string& name) const { return (path_ / name).string(); }

std::string ScratchFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name) << text;
  return path(name);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

size_t record_count(const std::string& path) {
  constexpr std::string_view kOnlyInRecords = "\"cell_id\":";
  const std::string text = read_file(path);
  size_t count = 0;
  for (size_t at = text.find(kOnlyInRecords); at != std::string::npos;
       at = text.find(kOnlyInRecords, at + 1)) {
    ++count;
  }
  return count;
}

Program::Program(const std::vector<std::string>& argv,
                 const std::vector<std::string>& environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, folder_.path("out").c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, folder_.path("err").c_str(), kFlags, 0600);
  std::vector<char*> arguments;
  for (const std::string& text : argv) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  // The list of runs of whoever runs the tests is not the tests' to fill. The first one counts.
  std::string state = "XDG_STATE_HOME=" + folder_.path("state");
  std::string config = "XDG_CONFIG_HOME=" + folder_.path("config");  // nor are their options
  std::vector<char*> variables;
  for (const std::string& text : environment) variables.push_back(const_cast<char*>(text.c_str()));
  variables.push_back(state.data());
  variables.push_back(config.data());
  for (char** entry = environ; *entry != nullptr; ++entry) variables.push_back(*entry);
  variables.push_back(nullptr);
  const int err =
      posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(err, 0) << "start " << argv[0];
  ended_ = err != 0;
}

Program::~Program() {
  if (!running()) return;
  signal(SIGKILL);
  waitpid(pid_, &status_, 0);
}

void Program::signal(int number) const { kill(pid_, number); }

bool Program::running() {
  if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
  return !ended_;
}

int Program::wait(int timeout_ms) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  while (running() && !deadline.passed()) pause_ms(5);
  if (running()) {
    ADD_FAILURE() << "still running after " << timeout_ms << " ms\n" << out() << err();
    signal(SIGKILL);
    waitpid(pid_, &status_, 0);
    ended_ = true;
  }
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string Program::out() const { return read_file(folder_.path("out")); }
std::string Program::err() const { return read_file(folder_.path("err")); }

std::vector<pid_t> Program::children() const {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    pid_t parent = 0;
    bool zombie = false;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (parent_of(name, parent, zombie) && parent == pid_ && !zombie) {
      found.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool Program::wait_for_children(size_t count, int timeout_ms) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  while (running() && !deadline.passed()) {
    // A child that has not exec'ed yet is a copy of its parent, which waits for it: whoever stopped
    // it now would stop both.
    const std::vector<pid_t> all = children();
    const std::string own = command_line_of(pid_);
    const auto begun = std::count_if(all.begin(), all.end(), [&own](pid_t child) {
      const std::string words = command_line_of(child);
      return !words.empty() && words != own;
    });
    if (all.size() == count && static_cast<size_t>(begun) == count) return true;
    pause_ms(5);
  }
  return false;
}

Finished run_program(const std::vector<std::string>& argv,
                     const std::vector<std::string>& environment, int timeout_ms) {
  Program program(argv, environment);
  const int status = program.wait(timeout_ms);
  return {status, program.out(), program.err()};
}

std::vector<std::string> plumbline_argv(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {test::program_path()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

bool all_gone(const std::vector<pid_t>& pids, int timeout_ms) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  const auto exists = [](pid_t pid) {
    pid_t parent = 0;
    bool zombie = false;
    return parent_of(std::to_string(pid), parent, zombie) && !zombie;
  };
  while (std::any_of(pids.begin(), pids.end(), exists)) {
    if (deadline.passed()) return false;
    pause_ms(5);
  }
  return true;
}

}  // namespace plumbline
