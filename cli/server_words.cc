#include "cli/server_words.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

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
  std::string of(const std::string& word) const {
    const auto known = words_.find(word);
    return known == words_.end() ? word : known->second;
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
  int models_ = 0;
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

}  // namespace

void hide_server_words(EvidenceSet& evidence, DoctorReport& report) {
  WordsInstead words;
  for (HostEvidence& host : evidence.hosts) {
    for (EndpointEvidence& endpoint : host.endpoints) hide_in_endpoint(endpoint, words);
  }
  for (Check& check : report.checks) {
    if (check.id == "endpoint") words.put_into(check.reason);
  }
  for (Finding& finding : report.findings) {
    if (!finding.cause.starts_with("endpoint.")) continue;
    for (Evidence& line : finding.evidence) words.put_into(line.text);
  }
}

}  // namespace plumbline
