#include "cli/diagnosis_archive.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "cli/anonymise.h"
#include "cli/hide_job.h"
#include "cli/process_names.h"
#include "cli/server_words.h"
#include "core/command.h"
#include "core/file.h"
#include "core/host/ip.h"
#include "probes/sources/tool_output.h"
#include "runs/doctor_run.h"
#include "runs/job_run.h"
#include "transport/http/url.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTarMs = 60'000;

bool write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::vector<std::string> names_of(const EvidenceSet& evidence) {
  std::vector<std::string> names;
  for (const JobHost& host : evidence.job.hosts) names.push_back(host.name);
  for (const HostEvidence& host : evidence.hosts) {
    names.push_back(host.hostname);
    names.push_back(host.hostname.substr(0, host.hostname.find('.')));
    for (const NameEvidence& name : host.names) names.push_back(name.name);
    for (const EndpointEvidence& endpoint : host.endpoints) {
      const auto url = parse_http_url(endpoint.url);
      if (url && !parse_zoned_ip(url->host)) names.push_back(url->host);
    }
  }
  for (std::string& name : host_names_in_job(evidence)) names.push_back(std::move(name));
  return names;
}

// Names that every system gives by itself tell nothing; enx... holds a MAC.
bool is_usual_interface(const std::string& name) {
  static const std::regex kUsual(
      "(lo|eth|en|ib|wlan|wl|br|bridge|bond|docker|tun|tap|wg|utun|awdl|llw|ap|usb|virbr|gif|stf|"
      "anpi|vlan)[0-9]*|(en|wl|ib|ww)[ops][0-9a-z]{1,12}");
  return std::regex_match(name, kUsual);
}

bool is_usual_chain(const std::string& name) {
  static const std::set<std::string> kUsual = {
      "filter",      "nat",        "mangle",      "raw",     "security", "input",
      "output",      "forward",    "INPUT",       "OUTPUT",  "FORWARD",  "prerouting",
      "postrouting", "PREROUTING", "POSTROUTING", "ingress", "egress",   "broute",
      "BROUTING",    "firewalld",  "u32",         "bpf",     "flower",   "matchall"};
  return kUsual.count(name) > 0 || name.rfind("ufw", 0) == 0 || name.rfind("filter_", 0) == 0;
}

// Rules without what their owners wrote into them: comments and prefixes of log lines.
std::string without_remarks(const std::string& text) {
  static const std::regex kNft("(comment|prefix) \"[^\"]*\""),
      kIptables("(--comment|--log-prefix) [^ ]+");
  return std::regex_replace(std::regex_replace(text, kNft, "$1 \"...\""), kIptables, "$1 ...");
}

// The evidence without the names of tables and chains: a chain called "drop" or "ports" must not
// take those words out of it.
std::string other_words(EvidenceSet evidence) {
  for (HostEvidence& host : evidence.hosts) {
    for (FilterRule& rule : host.filters) {
      rule.table = rule.chain = rule.target = rule.text = "";
    }
  }
  return evidence_text(evidence);
}

bool is_number(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

// What owners of the hosts named themselves: interfaces, tables and chains; and their remarks.
void hide_own_words(EvidenceSet& evidence, Anonymiser& anonymiser) {
  const std::string words = other_words(evidence);
  std::vector<std::string> interfaces, chains;
  for (HostEvidence& host : evidence.hosts) {
    for (const InterfaceEvidence& interface : host.interfaces) {
      const bool own = !is_usual_interface(interface.name) && !is_number(interface.name);
      if (own) interfaces.push_back(interface.name);
    }
    for (FilterRule& rule : host.filters) {
      rule.text = without_remarks(rule.text);
      for (const std::string& name : {rule.table, rule.chain}) {
        const bool taken = words.find('"' + name + '"') != std::string::npos;
        if (!is_usual_chain(name) && !is_number(name) && !taken) chains.push_back(name);
      }
    }
  }
  for (std::string& name : interfaces_in_job(evidence)) {
    const bool own = !name.empty() && !is_usual_interface(name) && !is_number(name);
    if (own) interfaces.push_back(std::move(name));
  }
  std::vector<std::string> users;
  for (const JobHost& host : evidence.job.hosts) {
    const auto login = words_of(host.ssh);  // "-p 2222 -l me mini1", "me@mini1"
    for (size_t i = 0; i < login.size(); ++i) {
      const size_t at = login[i].find('@');
      if (login[i] == "-l" && i + 1 < login.size()) users.emplace_back(login[i + 1]);
      if (at != std::string_view::npos && at > 0) users.emplace_back(login[i].substr(0, at));
    }
  }
  std::vector<std::string> domains;  // of Thunderbolt: UUIDs, but for what a host makes up
  for (const HostEvidence& host : evidence.hosts) {
    for (const ThunderboltPort& port : host.thunderbolt.value_or(std::vector<ThunderboltPort>())) {
      domains.push_back(port.domain);
      for (const ThunderboltPeer& peer : port.peers) domains.push_back(peer.domain);
    }
  }
  anonymiser.also("user", users);
  anonymiser.also("domain", domains);
  anonymiser.also("if", interfaces);
  anonymiser.also("chain", chains);
}

// "tcp.connect/a>b:29600" with both names replaced.
std::string key_without_letters(const std::string& key, const Anonymiser& anonymiser) {
  const size_t slash = key.find('/');
  if (slash == std::string::npos) return key;
  const auto end_of = [&](size_t from) {
    return std::min(key.find_first_of(">:#", from), key.size());
  };
  const size_t host_end = end_of(slash + 1);
  std::string out =
      key.substr(0, slash + 1) + anonymiser.host(key.substr(slash + 1, host_end - slash - 1));
  if (host_end == key.size() || key[host_end] != '>') return out + key.substr(host_end);
  const size_t peer_end = end_of(host_end + 1);
  return out + ">" + anonymiser.host(key.substr(host_end + 1, peer_end - host_end - 1)) +
         key.substr(peer_end);
}

// One-letter names of hosts, wherever a field holds a host's name.
void hide_letters(EvidenceSet& evidence, const Anonymiser& anonymiser) {
  const auto hide = [&](std::string& name) { name = anonymiser.host(name); };
  for (JobHost& host : evidence.job.hosts) hide(host.name);
  for (HostEvidence& host : evidence.hosts) {
    hide(host.name);
    hide(host.hostname);
    for (NameEvidence& name : host.names) {
      hide(name.name);
      hide(name.of);
    }
  }
  for (PairEvidence& pair : evidence.pairs) {
    hide(pair.from);
    hide(pair.to);
  }
  if (!evidence.job_seen) return;
  for (JobHostEvidence& host : evidence.job_seen->hosts) hide(host.host);
}
void hide_letters(DoctorReport& report, const Anonymiser& anonymiser) {
  const auto hide = [&](std::string& name) { name = anonymiser.host(name); };
  const auto hide_in_key = [&](std::string& key) { key = key_without_letters(key, anonymiser); };
  for (std::string& host : report.hosts) hide(host);
  for (Check& check : report.checks) {
    hide(check.host);
    hide(check.peer);
    hide_in_key(check.key);
  }
  for (Finding& finding : report.findings) {
    hide(finding.host);
    hide(finding.peer);
    for (std::string& key : finding.explains) hide_in_key(key);
    for (Evidence& line : finding.evidence) {
      hide(line.host);
      hide_in_key(line.check);
    }
  }
}

}  // namespace

Status write_diagnosis_archive(const std::string& path, const ProbeResult& result) {
  const TemporaryFolder folder;
  if (folder.path().empty())
    return fail_errno(ErrorCode::kSystem, "make a temporary folder", errno);
  const fs::path inside = folder.path() / "plumbline-bundle";
  std::error_code code;
  fs::create_directories(inside / "traces", code);

  // What identifies a machine and explains nothing is left out altogether.
  EvidenceSet evidence = result.evidence;
  evidence.job.file = "hosts.json";
  // A path, which may begin with a user's home.
  const auto hide_path = [](std::map<std::string, std::string>& config) {
    const auto found = config.find("ssh_config");
    if (found != config.end() && !found->second.empty()) found->second = "ssh_config";
  };
  hide_path(evidence.job.config);
  for (HostEvidence& host : evidence.hosts) hide_path(host.config);
  for (JobHost& host : evidence.job.hosts) {
    const size_t line = host.where.rfind(':');
    host.where = line == std::string::npos ? "" : "hosts.json" + host.where.substr(line);
  }
  for (HostEvidence& host : evidence.hosts) {
    host.boot_id.clear();
    host.sysctls.erase("kernel.random.boot_id");
  }
  hide_job(evidence);
  Anonymiser anonymiser(names_of(evidence));
  hide_own_words(evidence, anonymiser);
  hide_letters(evidence, anonymiser);
  DoctorReport report = report_of(result);
  hide_process_names(evidence, report);
  hide_server_words(evidence, report);
  report.job = shown_job(evidence);
  hide_letters(report, anonymiser);
  for (Check& check : report.checks) check.reason = without_remarks(check.reason);
  for (Finding& finding : report.findings) {
    finding.remedy.reword(without_remarks);
    for (Evidence& line : finding.evidence) line.text = without_remarks(line.text);
  }
  if (!result.evidence.job.file.empty()) {
    for (Check& check : report.checks)
      replace_all(check.reason, result.evidence.job.file, "hosts.json");
  }
  bool written =
      write_file(inside / "evidence.json", anonymiser.text(evidence_text(evidence))) &&
      write_file(inside / "doctor.json", anonymiser.text(doctor_json(report))) &&
      write_file(inside / "doctor.txt", anonymiser.text(doctor_text(report, 0, false, true)));
  int number = 0;
  for (const std::string& trace : result.traces) {
    std::ifstream file(trace, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    const std::string clean = anonymiser.trace(bytes.str());
    const std::string name = "trace" + std::to_string(++number) + ".pcap";
    if (!clean.empty()) written = written && write_file(inside / "traces" / name, clean);
  }
  if (!written) return fail(ErrorCode::kSystem, "write into " + inside.string());
  // Nobody's name in the archive either: GNU's words for it, or else bsdtar's.
  Expected<CommandResult> tar = fail(ErrorCode::kSystem, "");
  for (const auto& owner :
       {std::array{"--owner=0", "--group=0"}, std::array{"--uid=0", "--gid=0"}}) {
    tar = run_command({"tar", owner[0], owner[1], "--numeric-owner", "-C", folder.path().string(),
                       "-czf", path, "plumbline-bundle"},
                      Deadline::after_ms(kTarMs));
    if (!tar) return fail(tar.error());
    if (tar->status == 0) return {};
  }
  return fail(ErrorCode::kConfig, "write " + path + ": " + tar->err.substr(0, 200),
              "choose a writable place");
}

}  // namespace plumbline
