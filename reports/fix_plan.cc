// The remedies of a diagnosis as a script: doctor_fix_plan().
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/shell_words.h"
#include "reports/doctor.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// A remedy's lines: commands as they are; advice is printed, so that whoever runs the section meets
// it. Control characters cannot leave a line, because clean() has replaced them.
std::string remedy_lines(const std::string& remedy) {
  std::string out;
  std::istringstream in(remedy);
  for (std::string line; std::getline(in, line);) {
    line = clean(line);
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    if (line[0] == '#') line.erase(0, line.find_first_not_of("# "));
    out += (is_remedy_command(line) ? line : "printf '%s\\n' " + shell_quoted("# " + line)) + "\n";
  }
  return out;
}

std::string about(const Finding& finding) {
  std::string ports;
  for (const int port : finding.ports)
    ports += fmt::format("{}{}", ports.empty() ? "" : ", ", port);
  return fmt::format("# {}: {}{}{}\n", to_string(finding.outcome), clean(finding.cause),
                     finding.peer.empty() ? "" : ", peer " + clean(finding.peer),
                     ports.empty() ? "" : ", ports " + ports);
}

// The branch of one host.
std::string section(const DoctorReport& report, const std::string& host) {
  std::string out = "\n# ---- on " + clean(host) + "\n(" + shell_quoted(clean(host)) + ")\n";
  bool anything = false;
  for (const Finding& finding : report.findings) {
    if (finding.host != host || finding.remedy.empty()) continue;
    anything = true;
    out += about(finding) + remedy_lines(finding.remedy);
  }
  if (!anything) out += "printf '%s\\n' " + shell_quoted("nothing to do on " + clean(host)) + "\n";
  return out + ";;\n";
}

}  // namespace

bool is_remedy_command(const std::string& line) {
  static const std::set<std::string> kPrograms = {"sudo",
                                                  "ip",
                                                  "nft",
                                                  "iptables",
                                                  "iptables-legacy",
                                                  "ip6tables",
                                                  "ip6tables-legacy",
                                                  "ebtables",
                                                  "tc",
                                                  "bridge",
                                                  "ethtool",
                                                  "sysctl",
                                                  "kill",
                                                  "ufw",
                                                  "firewall-cmd",
                                                  "ifconfig",
                                                  "route",
                                                  "networksetup",
                                                  "pfctl",
                                                  "echo",
                                                  "rm",
                                                  "setcap",
                                                  "arp",
                                                  "ndp",
                                                  "sntp",
                                                  "timedatectl",
                                                  "hosts=$(sed"};
  return kPrograms.count(line.substr(0, line.find(' '))) > 0;
}

std::string doctor_fix_plan(const DoctorReport& report) {
  std::string out =
      "#!/bin/sh\n# What plumbline doctor would do; nothing of it was executed. Read it, then run "
      "it as root on\n# each host, with the name of that host: sh plan.sh HOST\n";
  const auto to_do = [](const Finding& finding) { return !finding.remedy.empty(); };
  if (std::none_of(report.findings.begin(), report.findings.end(), to_do)) {
    return out + "# Nothing to heal was found.\n";
  }
  // Hosts with something to do first, worst first.
  std::vector<std::string> hosts;
  const auto add = [&](const std::string& host) {
    const bool known = std::find(hosts.begin(), hosts.end(), host) != hosts.end();
    if (!host.empty() && !known) hosts.push_back(host);
  };
  for (const Finding& finding : report.findings) {
    if (to_do(finding)) add(finding.host);
  }
  for (const std::string& host : report.hosts) add(host);
  std::string names;
  for (const std::string& host : hosts) names += " " + clean(host);
  out += "usage() {\n  printf '%s\\n' " +
         shell_quoted("usage: sh plan.sh HOST, as root on that host; one of:" + names) +
         " >&2\n  exit 2\n}\n[ $# -eq 1 ] || usage\ncase \"$1\" in\n";
  for (const std::string& host : hosts) out += section(report, host);
  return out + "\n(*) usage ;;\nesac\n";
}

}  // namespace plumbline
