// Reads a page as strictly as it was written: every element is closed where it should be, attribute
// values stand in quotes. For tests that ask what elements a page has.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline::samples {

struct HtmlScan {
  std::string error;  // "" = well-formed
  std::map<std::string, int> tags;
  std::set<std::string> attributes;  // names
  std::vector<std::string> values;   // of attributes, as written
  std::string text;                  // between tags, without scripts and styles
};

inline HtmlScan scan_html(const std::string& page) {
  static const std::set<std::string> kVoid = {"meta", "link", "br", "!DOCTYPE"};
  HtmlScan scan;
  std::vector<std::string> open;
  for (size_t at = 0; at < page.size();) {
    if (page[at] != '<') {
      const size_t next = std::min(page.find('<', at), page.size());
      scan.text += page.substr(at, next - at);
      at = next;
      continue;
    }
    const bool closing = page.compare(at, 2, "</") == 0;
    size_t i = at + (closing ? 2 : 1);
    const size_t name_end = page.find_first_of(" />\n", i);
    if (name_end == std::string::npos) {
      scan.error = "open tag at the end";
      return scan;
    }
    const std::string tag = page.substr(i, name_end - i);
    i = name_end;
    bool alone = false;
    for (;;) {
      i = page.find_first_not_of(" \n", i);
      if (i == std::string::npos) {
        scan.error = "tag " + tag + " does not end";
        return scan;
      }
      if (page[i] == '>') break;
      if (page[i] == '/') {
        alone = true;
        ++i;
        continue;
      }
      const size_t equals = page.find_first_of("= >/", i);
      scan.attributes.insert(page.substr(i, equals - i));
      if (page[equals] != '=') {
        i = equals;
        continue;
      }
      if (page[equals + 1] != '"') {
        scan.error = "attribute without quotes in " + tag;
        return scan;
      }
      const size_t end = page.find('"', equals + 2);
      scan.values.push_back(page.substr(equals + 2, end - equals - 2));
      i = end + 1;
    }
    at = i + 1;
    if (closing) {
      if (open.empty() || open.back() != tag) {
        scan.error = "closes " + tag;
        return scan;
      }
      open.pop_back();
      continue;
    }
    ++scan.tags[tag];
    if (alone || kVoid.count(tag) > 0) continue;
    if (tag == "script" || tag == "style") {
      at = page.find("</" + tag + ">", at);
      if (at == std::string::npos) {
        scan.error = "open " + tag;
        return scan;
      }
      at += tag.size() + 3;
      continue;
    }
    open.push_back(tag);
  }
  if (!open.empty()) scan.error = "never closed: " + open.back();
  return scan;
}

}  // namespace plumbline::samples
