#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/number.h"
#include "core/ranges.h"
#include "core/units.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/rules/equal_hosts.h"
#include "probes/sources/tool_output.h"

namespace plumbline {

using enum Standing;
namespace {

constexpr const char* kMissingCause = "artifact.missing";
constexpr const char* kDiffersCause = "artifact.differs";
constexpr size_t kMostTold = 5;  // files in one line

// One host's copy.
struct Copy {
  const JobHost* job = nullptr;
  const HostEvidence* host = nullptr;
  const ArtifactEvidence* artifact = nullptr;
  std::map<std::string, const ArtifactFile*> files = {};
  std::vector<std::string> wrong = {};  // by itself, or against what most have
  bool lacks_parts = false;             // that its own index names

  bool is_there() const { return artifact->found.value_or(false) && !files.empty(); }
};

const ArtifactEvidence* find_artifact(const HostEvidence& host, const std::string& path) {
  return find_where(host.artifacts, [&](const ArtifactEvidence& a) { return a.path == path; });
}

// What makes two files the same, as far as both were read.
std::string signature_of(const ArtifactFile& file) {
  return fmt::format("{} {}", file.bytes, file.digest);
}

std::string file_words(const ArtifactFile& file) {
  return file.name.empty() ? std::string("the file") : file.name;
}

// What one copy has under a name that some copy has; empty = no such file.
struct Vote {
  Copy* copy = nullptr;
  const ArtifactFile* file = nullptr;
  std::string signature = {};
};

// What most have. Of several that are equally frequent a file beats none, else the one that comes
// first counts: rank 0's.
std::string usual_copy(const std::vector<Vote>& votes) {
  std::map<std::string, int> counts;
  for (const Vote& vote : votes) ++counts[vote.signature];
  std::string best;
  int most = 0;
  for (const Vote& vote : votes) {
    const int count = counts[vote.signature];
    if (count > most || (count == most && best.empty())) best = vote.signature;
    most = std::max(most, count);
  }
  return best;
}

class ArtifactJudge {
 public:
  ArtifactJudge(const EvidenceSet& evidence, std::string path)
      : evidence_(evidence), path_(std::move(path)) {
    for (const HostEvidence& host : evidence.hosts) {
      const ArtifactEvidence* artifact = find_artifact(host, path_);
      const JobHost* job = find_job_host(evidence, host.name);
      if (artifact == nullptr || job == nullptr || !same_as_earlier(evidence, *job).empty()) {
        continue;
      }
      Copy& copy = copies_.emplace_back(Copy{job, &host, artifact});
      for (const ArtifactFile& file : artifact->files) copy.files.emplace(file.name, &file);
    }
  }

  std::vector<EqualityVerdict> judge() {
    for (Copy& copy : copies_) look_at(copy);
    compare_files();
    good_ = find_where(copies_, [](const Copy& copy) {
      return copy.is_there() && copy.artifact->listed && copy.artifact->error.empty() &&
             copy.wrong.empty();
    });
    std::vector<EqualityVerdict> out;
    for (const HostEvidence& host : evidence_.hosts) out.push_back(verdict_of(host));
    return out;
  }

 private:
  static void look_at(Copy& copy) {
    const ArtifactEvidence& artifact = *copy.artifact;
    if (!artifact.missing.empty()) {
      copy.lacks_parts = true;
      copy.wrong.push_back("its index names what is not there: " + told(artifact.missing));
    }
    for (const ArtifactFile& file : artifact.files) {
      if (!file.problem.empty()) copy.wrong.push_back(file_words(file) + ": " + file.problem);
    }
  }

  // A copy that is not there, or empty, is no word about what the others should have.
  void compare_files() {
    std::set<std::string> names;
    std::vector<Copy*> there;
    for (Copy& copy : copies_) {
      if (!copy.is_there()) continue;
      there.push_back(&copy);
      for (const ArtifactFile& file : copy.artifact->files) names.insert(file.name);
    }
    compared_ = there.size();
    if (compared_ < 2) return;
    for (const std::string& name : names) compare_file(name, there);
  }

  static void compare_file(const std::string& name, const std::vector<Copy*>& there) {
    std::vector<Vote> votes;
    for (Copy* copy : there) {
      const auto found = copy->files.find(name);
      const ArtifactFile* file = found == copy->files.end() ? nullptr : found->second;
      // One that was not read in time, or has a fault of its own, does not vote; nor does its
      // absence where not all files were listed, or an index misses it already.
      if (file != nullptr && (file->digest.empty() || !file->problem.empty())) continue;
      if (file == nullptr && (!copy->artifact->listed || is_in(copy->artifact->missing, name))) {
        continue;
      }
      votes.push_back({copy, file, file == nullptr ? std::string() : signature_of(*file)});
    }
    const std::string usual = usual_copy(votes);
    for (const Vote& vote : votes) {
      if (vote.signature != usual) vote.copy->wrong.push_back(difference(name, vote.file, usual));
    }
  }

  static std::string difference(const std::string& name, const ArtifactFile* file,
                                const std::string& usual) {
    const std::string shown = name.empty() ? std::string("the file") : name;
    if (file == nullptr) return shown + " is not there, most hosts have it";
    if (usual.empty()) return shown + " is there, most hosts do not have it";
    const int64_t most = parse_whole<int64_t>(usual.substr(0, usual.find(' '))).value_or(0);
    if (most != file->bytes) {
      return fmt::format("{} is {} bytes long, on most hosts {}", shown, file->bytes, most);
    }
    return fmt::format("{} is as long as on most hosts, but not the same ({})", shown,
                       file->sampled ? "by samples" : "by SHA-256");
  }

  static std::string told(const std::vector<std::string>& names) {
    if (names.size() <= kMostTold) return join_words(names);
    const std::vector<std::string> first(names.begin(), names.begin() + kMostTold);
    return fmt::format("{} and {} more", join_words(first), names.size() - kMostTold);
  }

  EqualityVerdict verdict_of(const HostEvidence& host) const {
    const Subject subject = {"artifact", host.name, {}, {}, path_};
    const JobHost* job = find_job_host(evidence_, host.name);
    const std::string earlier = job == nullptr ? std::string() : same_as_earlier(evidence_, *job);
    if (!earlier.empty()) {
      return {make_check(subject, kSkipped, "same machine and addresses as " + earlier)};
    }
    const Copy* copy = find_where(copies_, [&](const Copy& each) { return each.host == &host; });
    if (copy == nullptr) {
      return {make_check(subject, kUnknown,
                         host.source == "none" ? lack_of_facts(host) : "it was not looked at")};
    }
    return verdict_of(subject, *copy);
  }

  EqualityVerdict verdict_of(const Subject& subject, const Copy& copy) const {
    const ArtifactEvidence& artifact = *copy.artifact;
    if (!artifact.found) return {make_check(subject, kUnknown, path_ + ": " + artifact.error)};
    if (!*artifact.found) return broken(subject, copy, kMissingCause, path_ + " is not there");
    if (artifact.files.empty() && artifact.listed) {
      return broken(subject, copy, kMissingCause, path_ + " is empty");
    }
    if (!copy.wrong.empty()) {
      return broken(subject, copy, copy.lacks_parts ? kMissingCause : kDiffersCause,
                    told(copy.wrong));
    }
    if (!artifact.error.empty() || !artifact.listed) {
      return {make_check(subject, kUnknown, path_ + ": " + artifact.error)};
    }
    return {make_check(subject, kPass, whole_words(artifact))};
  }

  std::string whole_words(const ArtifactEvidence& artifact) const {
    uint64_t bytes = 0;
    bool sampled = false;
    for (const ArtifactFile& file : artifact.files) {
      bytes += static_cast<uint64_t>(std::max<int64_t>(0, file.bytes));
      sampled = sampled || file.sampled;
    }
    const bool alone = compared_ < 2;
    return fmt::format("{} files, {}{}{}", artifact.files.size(), format_bytes(bytes),
                       alone ? ", whole as far as it says itself; no other host to compare with"
                             : ", the same as on the other hosts",
                       sampled ? " (large files by samples)" : "");
  }

  EqualityVerdict broken(const Subject& subject, const Copy& copy, const char* cause,
                         const std::string& reason) const {
    EqualityVerdict out;
    out.check = make_check(subject, kFail, reason);
    out.cause = cause;
    out.severity = Severity::kFail;
    out.remedy = remedy_for_copy(copy);
    return out;
  }

  // What ssh connects to, of the words behind it: "-p 2222 -l me mini1", "me@mini1".
  struct Login {
    std::string target;
    int port = 0;
    bool more = false;  // options that a command line of ours does not know
  };
  static Login login_of(const JobHost& job) {
    Login out;
    std::string user;
    const std::vector<std::string_view> words = words_of(job.ssh);
    for (size_t i = 0; i + 1 < words.size(); i += 2) {  // an option and its value
      const std::string_view value = i + 2 < words.size() ? words[i + 1] : std::string_view();
      const auto port = words[i] == "-p" ? parse_port(value) : std::optional<int>();
      if (port) out.port = *port;
      if (words[i] == "-l") user = value;
      out.more = out.more || (!port && words[i] != "-l");
    }
    if (words.empty()) return out;
    out.target = std::string(words.back());
    // What stands in front of the host's name counts less than -l.
    if (!user.empty()) out.target = user + "@" + out.target.substr(out.target.find('@') + 1);
    return out;
  }

  // The folder that must be there before something is copied to this place.
  static std::string folder_for(const std::string& place, bool is_folder) {
    return is_folder ? place : place.substr(0, place.rfind('/'));
  }

  // The words go through a shell there: each is plain, a literal or a path of plain characters.
  static std::vector<Word> over_ssh(const Login& login, std::vector<Word> words) {
    std::vector<Word> out = {"ssh"};
    if (login.port != 0) out.insert(out.end(), {"-p", port_word(login.port)});
    out.push_back(slot(Slot::kLogin, login.target));
    std::move(words.begin(), words.end(), std::back_inserter(out));
    return out;
  }

  // From a host that has it as most have: there, towards this one; or here, where only that way is
  // known.
  Remedy remedy_for_copy(const Copy& copy) const {
    if (good_ == nullptr || good_ == &copy) {
      return fmt::format(
          "no host has {} as it should be: put it there on one host, then copy it to the others (a "
          "shell expands ~ unless the path stands in quotes: '~/models/x' is in the home of each)",
          path_);
    }
    const bool push = !copy.job->ssh.empty();
    const Login login = login_of(push ? *copy.job : *good_->job);
    if (login.target.empty()) {
      return fmt::format("copy {} from {} to {}", path_, good_->host->name, copy.host->name);
    }
    // A folder's contents into a folder, or a file onto a file.
    const bool folder = !good_->artifact->files.front().name.empty();
    const Word end = folder ? Word("/") : Word("");
    const std::string& place = copy.artifact->folder;
    const Word from = slot(Slot::kPath, good_->artifact->folder) + end;
    const Word to = slot(Slot::kPath, place) + end;
    const Word there = slot(Slot::kLogin, login.target) + ":";
    // Links as what they lead to: those of a cache lead out of the folder. Equal lengths and times
    // do not tell files with other contents apart.
    std::vector<Word> words = {"rsync", "-aL", "--checksum", "--partial"};
    if (login.port != 0) {
      words.emplace_back("-e");
      words.push_back(Word("ssh -p ") + port_word(login.port));
    }
    words.push_back(push ? from : there + from);
    words.push_back(push ? there + to : to);
    const std::string& at = push ? good_->host->name : copy.host->name;
    Remedy remedy;
    if (!copy.artifact->found.value_or(false)) {
      remedy.say("if it lies on a disk that is not mounted there, mount that; else copy it:");
      std::vector<Word> mkdir = {"mkdir", "-p", slot(Slot::kPath, folder_for(place, folder))};
      if (push) mkdir = over_ssh(login, std::move(mkdir));
      if (place.find('/', 1) != std::string::npos) {
        remedy.run(Command(std::move(mkdir)).remark("on " + at)).on(at);
      }
    }
    remedy.run(Command(std::move(words)).remark("on " + at)).on(at);
    if (login.more) remedy.say("with the other ssh options that the host file has (rsync -e)");
    const bool extra = any_of(copy.wrong, [](const std::string& line) {
      return line.ends_with("most hosts do not have it");
    });
    if (extra) remedy.say("what the other hosts do not have stays: move it away by hand");
    return remedy;
  }

  const EvidenceSet& evidence_;
  std::string path_;
  std::vector<Copy> copies_;  // of hosts that told, each machine once
  size_t compared_ = 0;       // with each other
  const Copy* good_ = nullptr;
};

}  // namespace

std::vector<std::string> artifact_paths(const EvidenceSet& evidence) {
  std::vector<std::string> out;
  for (const HostEvidence& host : evidence.hosts) {
    for (const ArtifactEvidence& artifact : host.artifacts) {
      if (!is_in(out, artifact.path)) out.push_back(artifact.path);
    }
  }
  return out;
}

std::vector<EqualityVerdict> artifact_verdicts(const EvidenceSet& evidence,
                                               const std::string& path) {
  if (!path.empty()) return ArtifactJudge(evidence, path).judge();
  std::vector<EqualityVerdict> out;
  for (const std::string& each : artifact_paths(evidence)) {
    for (EqualityVerdict& verdict : ArtifactJudge(evidence, each).judge()) {
      out.push_back(std::move(verdict));
    }
  }
  return out;
}

}  // namespace plumbline
