// What most of several say: to tell who differs from the others. Pure, thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace plumbline {

// The word that occurs most often; of several such `favourite` if it is among them, else the one
// that comes first. Empty for no words.
inline std::string usual_of(const std::vector<std::string>& words,
                            const std::string& favourite = {}) {
  std::map<std::string, int> counts;
  for (const std::string& word : words) ++counts[word];
  std::string best;
  int most = 0;
  for (const std::string& word : words) {
    const int count = counts[word];
    if (count > most || (count == most && word == favourite)) {
      most = count;
      best = word;
    }
  }
  return best;
}

}  // namespace plumbline
