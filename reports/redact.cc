#include "reports/redact.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace plumbline {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Characters of names, addresses and paths; everything else separates words.
bool in_word(char c) {
  return is_alnum(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("._-:/%~@\\").find(c) != std::string_view::npos;
}

bool is_address(int family, const std::string& word) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(family, word.c_str(), bytes.data()) == 1;
}
bool is_ipv4(const std::string& word) { return is_address(AF_INET, word); }
bool is_ipv6(const std::string& word) {
  return word.find(':') != std::string::npos && is_address(AF_INET6, word);
}

// The same address as a part of a host's name ("ip-10-0-0-1") or of a reversed one.
bool is_address_name(const std::string& word) {
  const std::string_view arpa = ".arpa";
  const std::string folded = lower(word);
  if (folded.size() > arpa.size() &&
      folded.compare(folded.size() - arpa.size(), arpa.size(), arpa) == 0) {
    return true;
  }
  std::string dotted = word;
  std::replace(dotted.begin(), dotted.end(), '-', '.');
  return word.find('.') == std::string::npos && is_ipv4(dotted);
}

// Six pairs of hex digits with ':' or '-' between, three fours with '.', or twelve digits, as in
// enx0200c0ffee01.
bool is_mac(const std::string& word) {
  const size_t group = word.size() == 14 ? 4 : 2;
  const char between = word.size() == 14 ? '.' : word.size() == 17 ? word[2] : '\0';
  if (word.size() == 12) return std::all_of(word.begin(), word.end(), is_hex);
  if (between != '.' && between != ':' && between != '-') return false;
  if (between == '.' && word.size() != 14) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (i % (group + 1) == group ? word[i] != between : !is_hex(word[i])) return false;
  }
  return true;
}

bool is_path(const std::string& word) {
  return word.size() > 1 &&
         (word[0] == '/' || word.rfind("~/", 0) == 0 || word.rfind("./", 0) == 0 ||
          word.rfind("../", 0) == 0 || word.rfind("\\\\", 0) == 0);
}

}  // namespace

void Redactor::learn(const std::string& kind, const std::string& name, const std::string& key) {
  if (name.empty() || lower(name) == "localhost") return;
  if (name.find_first_not_of("0123456789") == std::string::npos) return;  // a number is no name
  names_.insert_or_assign(lower(name), Name{kind, lower(key)});
}

void Redactor::learn_host(const std::string& name, const std::string& as) {
  const auto known = names_.find(lower(as.empty() ? name : as));
  if (as.empty() && known != names_.end()) return;
  const std::string key = known == names_.end() ? (as.empty() ? name : as) : known->second.key;
  learn("host", name, key);
  const size_t dot = name.find('.');
  if (dot == std::string::npos || is_ipv4(name) || is_ipv6(name)) return;
  learn("host", name.substr(0, dot), key);
  const std::string domain = name.substr(dot + 1);
  if (domain.find('.') != std::string::npos) learn("host", domain, domain);
}

std::string Redactor::host(const std::string& name) {
  learn_host(name);
  const auto known = names_.find(lower(name));
  return ordinal("host", known == names_.end() ? lower(name) : known->second.key, name);
}

void Redactor::learn_user(const std::string& name) {
  if (name != "root" && names_.count(lower(name)) == 0) learn("user", name, name);
}

void Redactor::learn_from(const std::string& text) {
  for (const std::string_view home : {"/home/", "/Users/"}) {
    for (size_t at = text.find(home); at != std::string::npos; at = text.find(home, at + 1)) {
      const size_t from = at + home.size();
      size_t end = from;
      while (end < text.size() && text[end] != '/' && in_word(text[end])) ++end;
      learn_user(text.substr(from, end - from));
    }
  }
  const auto part_of_name = [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; };
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
    size_t from = at, end = at + 1;
    while (from > 0 && part_of_name(text[from - 1])) --from;
    while (end < text.size() && part_of_name(text[end])) ++end;
    learn_user(text.substr(from, at - from));
    learn_host(text.substr(at + 1, end - at - 1));
  }
}

std::string Redactor::ordinal(const std::string& kind, const std::string& key,
                              const std::string& what) {
  std::map<std::string, std::string>& known = ordinals_[kind];
  const auto [it, is_new] = known.emplace(lower(key), kind + std::to_string(known.size() + 1));
  if (is_new) said_.push_back(what + " -> " + it->second);
  return it->second;
}

// Known names that stand between other characters than letters and digits, the longest first.
std::string Redactor::without_names(std::string_view original, bool typed) {
  const std::string folded = lower(original);
  const auto letter = [&](size_t at) {
    return at < folded.size() &&
           (is_alnum(folded[at]) || static_cast<unsigned char>(folded[at]) >= 0x80);
  };
  std::string out;
  for (size_t at = 0; at < folded.size();) {
    const std::pair<const std::string, Name>* best = nullptr;
    for (const auto& entry : names_) {
      const std::string& name = entry.first;
      const bool here = folded.compare(at, name.size(), name) == 0 && !letter(at + name.size());
      if (here && (name.size() > 1 || !typed) && (!best || name.size() > best->first.size())) {
        best = &entry;
      }
    }
    if (best == nullptr || (at > 0 && letter(at - 1))) {
      out += original[at++];
      continue;
    }
    const size_t length = best->first.size();
    out += ordinal(best->second.kind, best->second.key, std::string(original.substr(at, length)));
    at += length;
  }
  return out;
}

// One word without white space, brackets or quotes: addresses and paths.
std::string Redactor::word(const std::string& original) {
  if (is_mac(original)) return ordinal("mac", original, original);
  if (is_ipv4(original) || is_ipv6(original)) return ordinal("addr", original, original);
  if (is_path(original)) return ordinal("path", original, original);
  if (is_address_name(original)) return ordinal("addr", original, original);
  if (original.size() == 15 && original.rfind("enx", 0) == 0 && is_mac(original.substr(3))) {
    return "enx" + ordinal("mac", original.substr(3), original.substr(3));
  }
  // user@host, a prefix length, a zone, a port: the parts.
  for (const char separator : {'@', '/', '%', '\\', '~'}) {
    const size_t at = original.find(separator);
    if (at == std::string::npos) continue;
    return word(original.substr(0, at)) + separator + word(original.substr(at + 1));
  }
  const size_t colon = original.rfind(':');
  if (colon != std::string::npos) {
    return word(original.substr(0, colon)) + ":" + word(original.substr(colon + 1));
  }
  // "10.0.0.1." and "1.0.0.10.in-addr.arpa" begin with an address, "x-10.0.0.1" ends with one.
  for (size_t at = original.rfind('.'); at != std::string::npos && at > 0;
       at = original.rfind('.', at - 1)) {
    const std::string head = original.substr(0, at);
    if (is_ipv4(head) || is_mac(head)) return word(head) + "." + word(original.substr(at + 1));
  }
  const size_t dash = original.find_first_of("-_");
  if (dash == std::string::npos) return original;
  return original.substr(0, dash + 1) + word(original.substr(dash + 1));
}

std::string Redactor::text(std::string_view original, bool typed) {
  const std::string named = without_names(original, typed);
  std::string out;
  for (size_t at = 0; at < named.size();) {
    if (!in_word(named[at])) {
      out += named[at++];
      continue;
    }
    size_t end = at;
    while (end < named.size() && in_word(named[end])) ++end;
    out += word(named.substr(at, end - at));
    at = end;
  }
  return out;
}

}  // namespace plumbline
