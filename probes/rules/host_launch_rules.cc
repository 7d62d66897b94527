// Why no agent answers on a host: what ssh, the shell there or the agent itself said, and what to
// do about it. The cause was named where the agent was started; here it gets its remedy.
#include <algorithm>
#include <map>

#include "core/shell_words.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

struct LaunchRow {
  const char* cause;
  const char* over_ssh;   // {host}, {ssh} = what stands behind ssh, {name} = its last word
  const char* otherwise;  // namespaces and local agents; nullptr = the same
};
constexpr LaunchRow kLaunch[] = {
    {"name.unresolved",
     "give {name} an address: printf 'Host {name}\\n  HostName ADDRESS\\n' >> ~/.ssh/config  # or "
     "correct the name in the host file",
     nullptr},
    {"ssh.unreachable",
     "switch {host} on, and see that its ssh address in the host file is right: ssh -v {ssh} true",
     "see that the namespace of {host} exists and that you may enter it: ip netns list"},
    {"ssh.refused",
     "start the ssh server on {host}: systemctl enable --now ssh  # macOS: systemsetup "
     "-setremotelogin on; another port: key `port` of the host file",
     nullptr},
    {"ssh.auth",
     "ssh-copy-id {ssh}  # makes it accept your key; without a key yet, first: ssh-keygen -t "
     "ed25519; for all hosts of a file: plumbline hosts write FILE --backend ssh",
     nullptr},
    {"ssh.host_key",
     "compare the new key with the one on {host}'s own screen (ssh-keygen -lf "
     "/etc/ssh/ssh_host_ed25519_key.pub), and only when they are equal: ssh-keygen -R {name}; ssh "
     "{ssh} true",
     nullptr},
    {"ssh.key_permissions",
     "chmod 700 ~/.ssh; chmod 600 {key}  # on the machine that starts the job for {host}", nullptr},
    {"ssh.no_binary",
     "install plumbline on {host}, or name its path there in the host file (`binary`); through ssh "
     "--push auto copies it there",
     nullptr},
    {"ssh.wrong_binary",
     "install a plumbline that is built for {host}'s system and processor; --push auto copies one "
     "there",
     nullptr},
    {"rank.agent_lost",
     "look at the memory and the log of {host}: its agent ended or hung; then start again",
     nullptr},
};

std::string filled_in(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const std::string mark = "{" + name + "}";
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      text.replace(at, mark.size(), value);
      at += value.size();
    }
  }
  return text;
}

// The key file that ssh complains about: "Permissions 0644 for 'FILE' are too open."
std::string key_file(const std::string& said) {
  constexpr std::string_view kBefore = " for '", kBehind = "' are too open";
  const size_t end = said.find(kBehind);
  const size_t at = end == std::string::npos ? end : said.rfind(kBefore, end);
  if (at == std::string::npos) return "~/.ssh/id_ed25519";
  const size_t begin = at + kBefore.size();
  return shell_word(said.substr(begin, end - begin));
}

std::string launch_remedy(const EvidenceSet& evidence, const HostEvidence& host) {
  const JobHost* job = find_job_host(evidence, host.name);
  const bool over_ssh = job != nullptr && !job->ssh.empty();
  const std::string ssh = over_ssh ? job->ssh : host.name;
  const std::string name = ssh.substr(ssh.rfind(' ') + 1);
  const auto* row =
      std::find_if(std::begin(kLaunch), std::end(kLaunch),
                   [&](const LaunchRow& candidate) { return host.agent_cause == candidate.cause; });
  std::string text = "start plumbline's agent on {host} by hand: plumbline agent --listen";
  if (row != std::end(kLaunch)) {
    text = over_ssh || row->otherwise == nullptr ? row->over_ssh : row->otherwise;
  }
  return filled_in(text, {{"host", host.name},
                          {"ssh", ssh},
                          {"key", key_file(host.agent_error)},
                          {"name", name.substr(name.find('@') + 1)}});
}

}  // namespace

Candidates propose_launch(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostEvidence& host : evidence.hosts) {
    if (host.agent_cause.empty()) continue;
    out.push_back(Proposal(host.agent_cause, Severity::kFail, host.name)
                      .see(host.name, key_of({"launch", host.name}),
                           host.agent_error.empty() ? host.agent_cause : host.agent_error)
                      .remedy(launch_remedy(evidence, host))
                      .breaks(pairs_of(evidence, host.name))
                      .proven()
                      .take(checks));
    for (const Check& check : checks) {
      if (check.id == "ssh" && check.host == host.name && check.outcome == CheckOutcome::kFail) {
        out.back().finding.explains.push_back(check.key);
      }
    }
  }
  return out;
}

}  // namespace plumbline
