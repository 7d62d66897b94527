#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "core/command.h"
#include "core/fd.h"
#include "core/text.h"
#include "probes/sources/source.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kLongestFile = 1 << 20;    // bytes
constexpr size_t kLongestOutput = 8 << 20;  // bytes, of one row
using State = SourceOutput::State;

std::vector<std::string> strings(const std::vector<std::string_view>& words) {
  return {words.begin(), words.end()};
}

// ---- what a row needs ----

bool loaded_for_sure(const std::string& module) {
  struct stat info {};
  if (::stat(("/sys/module/" + module).c_str(), &info) == 0) return true;
  const auto modules = read_small_file("/proc/modules");
  return modules && ("\n" + *modules).find("\n" + module + " ") != std::string::npos;
}

// A kernel that has modules tells which are loaded and which are built in; one without does not.
bool may_be_there(const std::string& module) {
  if (loaded_for_sure(module)) return true;
  if (!read_small_file("/proc/modules")) return true;
  utsname names{};
  if (::uname(&names) != 0) return true;
  const std::string list = std::string("/lib/modules/") + names.release + "/modules.builtin";
  const auto built_in = read_small_file(list);
  return !built_in || built_in->find("/" + module + ".ko") != std::string::npos;
}

bool runs_here(const std::string& process) {
  const std::string own = link_target("/proc/self/ns/net");
  glob_t found{};
  bool here = false;
  if (::glob("/proc/[0-9]*/comm", 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && !here; ++i) {
      const std::string path = found.gl_pathv[i];
      if (read_small_file(path).value_or("") != process + "\n") continue;
      const std::string other = link_target(path.substr(0, path.rfind('/')) + "/ns/net");
      here = other.empty() || other == own;
    }
  }
  ::globfree(&found);
  return here;
}

// kRead = run it.
State check_need(std::string_view condition, bool& sure) {
  const auto words = words_of(condition);
  if (words.size() != 2) return State::kSkipped;
  const std::string name(words[1]);
  if (words[0] == "has") {
    const auto text = read_small_file(name);
    if (!text) return errno == EACCES || errno == EPERM ? State::kDenied : State::kSkipped;
    sure = !text->empty();
    return sure ? State::kRead : State::kSkipped;
  }
  if (words[0] == "process") return runs_here(name) ? State::kRead : State::kSkipped;
  if (words[0] == "without") return find_program(name).empty() ? State::kRead : State::kSkipped;
  sure = loaded_for_sure(name);
  if (words[0] == "loaded") return sure ? State::kRead : State::kSkipped;
  return may_be_there(name) ? State::kRead : State::kSkipped;
}

State check_needs(std::string_view needs, bool& sure) {
  constexpr std::string_view kAnd = " and ";
  State denied = State::kRead;
  while (!needs.empty()) {
    const size_t end = std::min(needs.find(kAnd), needs.size());
    const State state = check_need(needs.substr(0, end), sure);
    if (state == State::kSkipped) return state;
    if (state == State::kDenied) denied = state;
    needs.remove_prefix(std::min(end + kAnd.size(), needs.size()));
  }
  return denied;
}

// ---- the forms of a command ----

SourceOutput failed(std::string why) { return {State::kFailed, {}, std::move(why)}; }

SourceOutput read_one_file(const std::string& path) {
  auto text = read_small_file(path);
  if (text) return {State::kRead, std::move(*text)};
  const int error = errno;
  if (error == ENOENT) return {State::kAbsent, {}, "there is no " + path};
  return failed("read " + path + ": " + std::strerror(error));
}

SourceOutput read_files(const std::vector<std::string_view>& patterns, Deadline deadline) {
  SourceOutput out{State::kRead};
  for (const std::string_view pattern : patterns) {
    glob_t found{};
    if (::glob(std::string(pattern).c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc && out.text.size() < kLongestOutput; ++i) {
        if (deadline.passed()) break;
        const std::string path = found.gl_pathv[i];
        const auto text = read_small_file(path);
        if (!text) continue;  // many files of /sys cannot always be read
        for (const std::string_view line : lines_of(*text)) {
          out.text.append(path).append(":").append(line).append("\n");
        }
      }
    }
    ::globfree(&found);
  }
  if (deadline.passed()) return failed("not all files could be read in time");
  return out;
}

SourceOutput run_program(const std::vector<std::string>& argv, Deadline deadline) {
  CommandOptions options;
  options.max_bytes = kLongestOutput;
  auto result = run_command(argv, deadline, options);
  if (!result) {
    const bool absent = result.error().code == ErrorCode::kUnsupported;
    return {absent ? State::kAbsent : State::kFailed, {}, result.error().message()};
  }
  if (result->status != 0) {
    const std::string why = first_line(result->err);
    return failed(why.empty() ? "ended with status " + std::to_string(result->status) : why);
  }
  if (result->truncated) return failed("its output is longer than 8 MiB");
  return {State::kRead, std::move(result->out)};
}

// "qdisc clsact ffff: dev eth0 parent ffff:fff1": the devices whose edge can have filters.
std::set<std::string> devices_with_filters(const std::string& qdiscs) {
  std::set<std::string> out;
  for (const std::string_view line : lines_of(qdiscs)) {
    const auto words = words_of(line);
    if (words.size() < 2 || words[0] != "qdisc") continue;
    const std::string_view device = word_after(words, "dev");
    if ((words[1] == "clsact" || words[1] == "ingress") && !device.empty()) out.emplace(device);
  }
  return out;
}

SourceOutput run_clsact(const std::vector<std::string>& argv, Deadline deadline) {
  SourceOutput out = run_program({argv.front(), "qdisc", "show"}, deadline);
  if (out.state != State::kRead) return out;
  const std::set<std::string> devices = devices_with_filters(out.text);
  out.text = "qdiscs\n" + out.text;
  for (const std::string& device : devices) {
    for (const char* direction : {"ingress", "egress"}) {
      std::vector<std::string> words = argv;
      words.push_back(device);
      words.emplace_back(direction);
      const SourceOutput one = run_program(words, deadline);
      // An ingress qdisc has no egress side, which older versions call an error.
      if (one.state != State::kRead && std::string(direction) == "egress") continue;
      if (one.state != State::kRead) return one;
      out.text += "dev " + device + " " + direction + "\n" + one.text;
      if (!one.text.empty() && one.text.back() != '\n') out.text += '\n';
    }
  }
  return out;
}

SourceOutput run_form(const SourceRow& row, Deadline deadline) {
  auto words = words_of(row.command);
  if (words.empty()) return failed("the row has no command");
  const std::string_view form = words.front();
  if (form.front() != '@') return run_program(strings(words), deadline);
  words.erase(words.begin());
  if (form == "@file" && words.size() == 1) return read_one_file(std::string(words[0]));
  if (form == "@files") return read_files(words, deadline);
  if (form == "@clsact" && !words.empty()) return run_clsact(strings(words), deadline);
  return failed("the row's command has an unknown form");
}

// ---- into the evidence ----

bool is_filter(const SourceRow& row) { return row.filter[0] != '\0'; }

void note(const SourceRow& row, const std::string& why, HostEvidence& host) {
  host.unreadable.push_back(std::string(row.name) + ": " + valid_utf8(first_line(why)));
  if (is_filter(row)) note_filter(host, {row.filter, true, false, host.unreadable.back(), {}});
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return std::nullopt;
  std::string out;
  std::array<char, 16384> buffer;
  while (out.size() < kLongestFile) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    out.append(buffer.data(), static_cast<size_t>(got));
  }
  return out;
}

std::string link_target(const std::string& path) {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<size_t>(length)) : std::string();
}

SourceOutput run_source(const SourceRow& row, Deadline deadline) {
  bool sure = false;
  const State needs = check_needs(row.needs, sure);
  SourceOutput out{needs, {}, needs == State::kDenied ? "Permission denied" : ""};
  if (needs == State::kRead) out = run_form(row, deadline);
  out.sure = sure;
  return out;
}

void apply_output(const SourceRow& row, const SourceOutput& output, HostEvidence& host) {
  switch (output.state) {
    case State::kSkipped:
      if (is_filter(row)) note_filter(host, {row.filter, false, false, {}, {}});
      return;
    case State::kAbsent:
      // Without the tool its rules can still be there, when the kernel has that part.
      if (is_filter(row) && output.sure) {
        note(row, output.why, host);
      } else if (is_filter(row)) {
        note_filter(host, {row.filter, false, false, {}, {}});
      } else if (!row.slow) {
        note(row, output.why, host);
      }
      return;
    case State::kDenied:
    case State::kFailed:
      note(row, output.why, host);
      return;
    case State::kRead:
      break;
  }
  const Status status = row.parse(valid_utf8(output.text), host);
  if (!status) {
    note(row, status.error().message(), host);
  } else if (is_filter(row)) {
    note_filter(host, {row.filter, true, true, {}, {}});
  }
}

}  // namespace plumbline
