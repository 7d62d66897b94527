#include "core/diagnosis/symptom.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/diagnosis/symptom_rows.h"
#include "core/lower_case.h"

namespace plumbline {
namespace {

// Do the parts of the pattern stand in the text, in their order? A part that begins or ends with a
// digit must not be a piece of a longer number.
bool fits(const std::string& text, const std::string& pattern) {
  const auto digit = [&](size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  size_t at = 0, begin = 0;
  while (begin <= pattern.size()) {
    const size_t end = std::min(pattern.find('*', begin), pattern.size());
    const std::string part = pattern.substr(begin, end - begin);
    size_t found = at;
    while (true) {
      found = text.find(part, found);
      if (found == std::string::npos) return false;
      const size_t after = found + part.size();
      const bool cut = !part.empty() && ((digit(found) && found > 0 && digit(found - 1)) ||
                                         (digit(after - 1) && digit(after)));
      if (!cut) break;
      ++found;
    }
    at = found + part.size();
    begin = end + 1;
  }
  return true;
}

// A name of errno, as a word of its own: "EPIPE" is no part of "thePipeline".
bool names(const std::string& text, const char* errno_name) {
  if (errno_name == nullptr) return false;
  const auto word = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  const std::string name = lower_case(errno_name);
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at) {
    if ((at == 0 || !word(at - 1)) && !word(at + name.size())) return true;
  }
  return false;
}

}  // namespace

const std::vector<SymptomRow>& symptom_table() {
  static const std::vector<SymptomRow> kTable = [] {
    std::vector<SymptomRow> all = system_symptoms();
    for (const auto& more : {program_symptoms(), ssh_symptoms()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return kTable;
}

std::vector<const SymptomRow*> explain(std::string_view message) {
  const std::string text = lower_case(message);
  std::vector<const SymptomRow*> out;
  for (const SymptomRow& row : symptom_table()) {
    if (fits(text, row.pattern) || names(text, row.errno_name)) out.push_back(&row);
  }
  const auto rank = [](const SymptomRow* row) {
    const bool anybody = std::strcmp(row->source, "any") == 0;
    return std::pair(anybody, -static_cast<int64_t>(std::strlen(row->pattern)));
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const SymptomRow* a, const SymptomRow* b) { return rank(a) < rank(b); });
  return out;
}

}  // namespace plumbline
