#include "cli/process_names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ranges.h"

namespace plumbline {
namespace {

constexpr std::string_view kOurs = "plumbline";
// What starts programs on every Mac, and what many start them from: without these names nobody
// could say whom macOS asks about (probes/process_chain.h).
constexpr std::string_view kStarters[] = {"?",
                                          "launchd",
                                          "login",
                                          "sshd",
                                          "sshd-session",
                                          "sh",
                                          "bash",
                                          "zsh",
                                          "fish",
                                          "tmux",
                                          "screen",
                                          "Terminal.app",
                                          "iTerm.app",
                                          "Ghostty.app",
                                          "Warp.app",
                                          "kitty.app",
                                          "Visual Studio Code.app"};

bool is_usual_starter(std::string_view name) { return is_in(kStarters, name); }

// "python3" of "PID 4711 (python3)"; process names are free text.
std::string_view name_in(std::string_view holder) {
  const size_t open = holder.find('('), close = holder.rfind(')');
  return open == holder.npos || close == holder.npos || close < open
             ? std::string_view()
             : holder.substr(open + 1, close - open - 1);
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

class ProcessNames {
 public:
  explicit ProcessNames(const EvidenceSet& evidence) {
    for (const HostEvidence& host : evidence.hosts) {
      for (const SocketEvidence& socket : host.sockets) learn(socket.process);
      for (const std::string& name : host.started_by) {
        if (!is_usual_starter(name)) learn(name);
      }
    }
    if (evidence.job_seen) {
      for (const JobHostEvidence& host : evidence.job_seen->hosts) {
        learn_all(host.first);
        if (host.second) learn_all(*host.second);
      }
    }
    for (const PairEvidence& pair : evidence.pairs) {
      for (const PortTry& attempt : pair.ports) learn(name_in(attempt.holder));
    }
    // A name may be a part of another one.
    std::stable_sort(order_.begin(), order_.end(), [](const std::string& a, const std::string& b) {
      return a.size() > b.size();
    });
  }

  // A field that holds a name and nothing else.
  void replace(std::string& name) const {
    if (!name.empty()) name = hidden_.at(name);
  }
  void replace_holder(std::string& holder) const {
    const std::string_view name = name_in(holder);
    if (name.empty()) return;
    const auto at = static_cast<size_t>(name.data() - holder.data());
    holder.replace(at, name.size(), hidden_.at(std::string(name)));
  }
  // Wherever one stands by itself in a text.
  void replace_in(std::string& text) const {
    for (const std::string& name : order_) {
      const std::string& hidden = hidden_.at(name);
      for (size_t at = text.find(name); at != text.npos; at = text.find(name, at)) {
        const size_t end = at + name.size();
        const bool alone = (at == 0 || !in_name(text[at - 1]) || !in_name(name.front())) &&
                           (end == text.size() || !in_name(text[end]) || !in_name(name.back()));
        if (alone) text.replace(at, name.size(), hidden);
        at += alone ? hidden.size() : 1;
      }
    }
  }

 private:
  void learn_all(const JobLook& look) {
    for (const JobProcess& process : look.processes) {
      learn(process.name);
      learn(process.program);
    }
  }
  void learn(std::string_view text) {
    const std::string name(text);
    if (name.empty() || hidden_.count(name) > 0) return;
    if (name.rfind(kOurs, 0) == 0) {
      hidden_[name] = kOurs;
    } else {
      hidden_[name] = "process" + std::to_string(++count_);
    }
    if (name != kOurs) order_.push_back(name);
  }

  int count_ = 0;
  std::map<std::string, std::string> hidden_;
  std::vector<std::string> order_;  // the longest first
};

void hide_in_look(const ProcessNames& names, JobLook& look) {
  for (JobProcess& process : look.processes) {
    names.replace(process.name);
    names.replace(process.program);
  }
  for (std::string& line : look.unseen) names.replace_in(line);
}

}  // namespace

void hide_process_names(EvidenceSet& evidence, DoctorReport& report) {
  const ProcessNames names(evidence);
  for (HostEvidence& host : evidence.hosts) {
    for (SocketEvidence& socket : host.sockets) names.replace(socket.process);
    for (std::string& name : host.started_by) {
      if (!is_usual_starter(name)) names.replace(name);
    }
    for (std::string& line : host.unreadable) names.replace_in(line);
    for (CommandEvidence& command : host.commands) {
      names.replace_in(command.out);
      names.replace_in(command.error);
    }
    names.replace_in(host.agent_error);
  }
  if (evidence.job_seen) {
    for (JobHostEvidence& host : evidence.job_seen->hosts) {
      hide_in_look(names, host.first);
      if (host.second) hide_in_look(names, *host.second);
      names.replace_in(host.error);
    }
  }
  for (PairEvidence& pair : evidence.pairs) {
    for (PortTry& attempt : pair.ports) {
      names.replace_holder(attempt.holder);
      names.replace_in(attempt.listener_error);
      names.replace_in(attempt.stranger_bytes);
    }
  }
  for (Check& check : report.checks) names.replace_in(check.reason);
  for (Finding& finding : report.findings) {
    finding.remedy.reword([&](std::string text) {
      names.replace_in(text);
      return text;
    });
    for (Evidence& line : finding.evidence) names.replace_in(line.text);
  }
}

}  // namespace plumbline
