#include "probes/process_chain.h"

#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostInTable = 65'536, kLongestProgram = 64, kLongestCommand = 1024;
constexpr std::string_view kNotTold = "?", kFirstProcess = "launchd";
constexpr std::string_view kSshDaemons[] = {"sshd", "sshd-session", "sshd-auth",
                                            "sshd-keygen-wrapper"};

std::string_view up_to(std::string_view text, std::string_view end) {
  return text.substr(0, text.find(end));
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

ProcessTable parse_processes(std::string_view text) {
  ProcessTable out;
  for (const std::string_view whole : lines_of(text)) {
    const std::string_view line = whole.substr(0, kLongestCommand);
    const auto words = words_of(line);
    if (words.size() < 2 || out.size() >= kMostInTable) continue;
    const auto pid = parse_whole<int64_t>(words[0], 1, INT32_MAX);
    const auto parent = parse_whole<int64_t>(words[1], 0, INT32_MAX);
    if (!pid || !parent) continue;
    ProcessRow row;
    row.parent = *parent;
    if (words.size() > 2) row.command = line.substr(words[2].data() - line.data());
    out.emplace(*pid, std::move(row));
  }
  return out;
}

std::vector<int64_t> parents_of(const ProcessTable& table, int64_t pid) {
  std::vector<int64_t> out;
  while (out.size() < kMostParents && table.count(pid) != 0 && !is_in(out, pid)) {
    out.push_back(pid);
    pid = table.at(pid).parent;
  }
  return out;
}

bool is_program_name(std::string_view name) {
  constexpr std::string_view kOthers = "._+- ";
  if (name == kNotTold) return true;
  return !name.empty() && name.size() <= kLongestProgram && name.front() != ' ' &&
         all_of(name, [&](char c) { return is_alnum(c) || kOthers.find(c) != kOthers.npos; }) &&
         any_of(name, [](char c) { return is_alnum(c); });
}

std::string program_name(std::string_view command) {
  constexpr std::string_view kApplication = ".app/";
  const size_t application = command.find(kApplication);
  std::string_view name;
  if (application != std::string_view::npos) {
    name = last_part(command.substr(0, application + kApplication.size() - 1));
  } else {
    // Arguments are not asked for; a daemon's own words may hold who is logged in.
    name = up_to(up_to(last_part(command), ": "), " -");
    if (name.starts_with('-')) name.remove_prefix(1);
  }
  name = name.substr(0, name.find_last_not_of(" \t") + 1);
  return std::string(is_program_name(name) ? name : kNotTold);
}

Starter starter_of(const std::vector<std::string>& started_by) {
  Starter out;
  out.whole = !started_by.empty() && started_by.back() == kFirstProcess;
  for (auto name = started_by.rbegin(); name != started_by.rend(); ++name) {
    if (*name == kFirstProcess || *name == "login") continue;
    if (is_in(kSshDaemons, *name)) {
      out.over_ssh = true;
      return out;
    }
    if (*name != kNotTold && is_program_name(*name)) out.program = *name;
    return out;
  }
  return out;
}

}  // namespace plumbline
