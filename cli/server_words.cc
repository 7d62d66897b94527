#include "cli/server_words.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/ranges.h"
#include "core/text.h"
#include "probes/job/job_variables.h"
#include "probes/software.h"

namespace plumbline {
namespace {

// Words and what stands for them, the longest first: one may be a part of another.
class WordsInstead {
 public:
  void add(const std::string& word, const std::string& instead) {
    if (!word.empty()) words_.emplace(word, instead);
  }
  void add_model(const std::string& name) {
    if (name.empty() || words_.contains(name)) return;
    words_.emplace(name, "model" + std::to_string(++models_));
  }
  void add_path(const std::string& path) {
    if (path.empty() || words_.contains(path)) return;
    words_.emplace(path, "/artifact" + std::to_string(++paths_));
  }
  // Of a file that what its kind is called by stays.
  void add_file(const std::string& name) {
    constexpr size_t kLongestEnd = 16;
    if (name.empty() || words_.contains(name)) return;
    const std::string last = name.substr(name.rfind('/') + 1);
    const std::string end = last.substr(std::min(last.rfind('.'), last.size()));
    const bool plain = end.size() > 1 && end.size() <= kLongestEnd &&
                       all_of(end.substr(1), [](char c) { return is_alnum(c); });
    words_.emplace(name, "file" + std::to_string(++files_) + (plain ? end : ""));
  }
  // Hashes tell which public model it is; equal ones stay equal.
  void add_digest(const std::string& digest) {
    if (digest.empty() || words_.contains(digest)) return;
    words_.emplace(digest, "digest" + std::to_string(++digests_));
  }
  void add_package(const std::string& name) {
    if (name.empty() || words_.contains(name)) return;
    words_.emplace(name, "package" + std::to_string(++packages_));
  }
  std::string of(const std::string& word) const {
    const auto known = words_.find(word);
    return known == words_.end() ? word : known->second;
  }
  // Its commands as well, which are only shown from there on.
  Remedy put_into(const Remedy& remedy) const {
    std::string all;
    std::vector<std::string> code;
    for (const RemedyStep& step : remedy.steps()) {
      std::string line = step.text;
      put_into(line);
      if (step.is_code) code.push_back(line);
      all += (all.empty() ? "" : "\n") + line;
    }
    return Remedy::only_shown(all, code);
  }
  void put_into(std::string& text) const {
    std::vector<std::pair<std::string, std::string>> sorted(words_.begin(), words_.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    for (const auto& [word, instead] : sorted) {
      for (size_t at = text.find(word); at != std::string::npos;
           at = text.find(word, at + instead.size())) {
        text.replace(at, word.size(), instead);
      }
    }
  }

 private:
  std::map<std::string, std::string> words_;
  int models_ = 0, paths_ = 0, files_ = 0, digests_ = 0, packages_ = 0;
};

void hide_in_endpoint(EndpointEvidence& endpoint, WordsInstead& words) {
  words.add(endpoint.error, "(its words)");
  words.add_model(endpoint.model);
  for (const std::string& model : endpoint.models) words.add_model(model);
  endpoint.error = words.of(endpoint.error);
  endpoint.model = words.of(endpoint.model);
  for (std::string& model : endpoint.models) model = words.of(model);
  for (EndpointTry& asked : endpoint.tries) {
    words.add(asked.error, "(" + asked.end + ")");
    words.add(asked.text, "...");
    words.add_model(asked.model);
    asked.error = words.of(asked.error);
    asked.model = words.of(asked.model);
    asked.text.clear();
  }
}

// Where a model lies, and what its files are called: both may hold its name, or its owner's.
void hide_in_artifact(ArtifactEvidence& artifact, WordsInstead& words) {
  words.add_path(artifact.path);
  artifact.path = words.of(artifact.path);
  words.add(artifact.folder, artifact.path);
  artifact.folder = artifact.path;
  words.add(artifact.error, "(not all of it could be read)");
  artifact.error = words.of(artifact.error);
  for (ArtifactFile& file : artifact.files) {
    words.add_file(file.name);
    words.add_digest(file.digest);
    file.name = words.of(file.name);
    file.digest = words.of(file.digest);
  }
  for (std::string& name : artifact.missing) {
    words.add_file(name);
    name = words.of(name);
  }
}

// An interpreter's path begins with a home, what a program printed may hold anything, and a package
// that only a scenario names may be its author's own.
void hide_in_software(SoftwareEvidence& software, WordsInstead& words) {
  words.add(software.python, "python3");
  words.add(software.python_error, "(its words)");
  words.add(software.error, "(its words)");
  software.python = words.of(software.python);
  software.python_error = words.of(software.python_error);
  software.error = words.of(software.error);
  std::map<std::string, std::string> versions;
  for (const auto& [name, version] : software.versions) versions[words.of(name)] = version;
  software.versions = std::move(versions);
  software.variables = public_variables(software.variables);
}

bool names_files(const std::string& probe) {
  return probe == "endpoint" || probe == "artifact" || probe == "software";
}

void hide_in_finding(Finding& finding, const WordsInstead& words) {
  const bool named = any_of(finding.evidence, [](const Evidence& line) {
    return names_files(line.check.substr(0, line.check.find('/')));
  });
  if (!named && !finding.cause.starts_with("endpoint.")) return;
  for (Evidence& line : finding.evidence) {
    words.put_into(line.text);
    words.put_into(line.check);
  }
  for (std::string& key : finding.explains) words.put_into(key);
  finding.remedy = words.put_into(finding.remedy);
}

}  // namespace

void hide_server_words(EvidenceSet& evidence, DoctorReport& report) {
  WordsInstead words;
  for (std::string& name : evidence.job.packages) {
    if (find_software(name) == nullptr) words.add_package(name);
    name = words.of(name);
  }
  for (HostEvidence& host : evidence.hosts) {
    for (EndpointEvidence& endpoint : host.endpoints) hide_in_endpoint(endpoint, words);
    for (ArtifactEvidence& artifact : host.artifacts) hide_in_artifact(artifact, words);
    if (host.software) hide_in_software(*host.software, words);
    for (std::string& line : host.unreadable) words.put_into(line);
  }
  for (Check& check : report.checks) {
    if (!names_files(check.id)) continue;
    words.put_into(check.reason);
    words.put_into(check.key);
  }
  for (Finding& finding : report.findings) hide_in_finding(finding, words);
}

}  // namespace plumbline
