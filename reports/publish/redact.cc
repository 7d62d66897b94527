#include "reports/publish/redact.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace plumbline {
namespace {

// Characters of a user's name in a path.
bool in_word(char c) {
  return is_alnum(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("._-:%~@").find(c) != std::string_view::npos;
}

bool is_address(const std::string& name) {
  const Found found = address_at(name, 0);
  return found.length > 0 && found.length == name.size();
}

// Words of products, which say nothing about who calls a host or a user so: a system "Debian" on a
// host "debian".
bool is_product(const std::string& name) {
  constexpr std::array kWords = {
      "linux",     "gnu",        "debian",   "ubuntu",      "fedora", "centos", "rocky",
      "almalinux", "arch",       "alpine",   "suse",        "redhat", "macos",  "darwin",
      "apple",     "amd",        "epyc",     "ryzen",       "intel",  "xeon",   "core",
      "arm",       "ampere",     "graviton", "neoverse",    "cpu",    "server", "generic",
      "virtual",   "hypervisor", "docker",   "kvm",         "qemu",   "vmware", "xen",
      "tsc",       "cubic",      "bbr",      "performance", "amd64",  "x86_64", "aarch64",
      "arm64",     "processor",  "cloud",    "aws",         "azure",  "gcp"};
  return std::find(kWords.begin(), kWords.end(), name) != kWords.end();
}

}  // namespace

void Redactor::learn(const std::string& kind, const std::string& name, const std::string& key) {
  if (name.empty() || lower_case(name) == "localhost") return;
  if (name.find_first_not_of("0123456789") == std::string::npos) return;  // a number is no name
  names_.insert_or_assign(lower_case(name), Name{kind, lower_case(key)});
}

void Redactor::learn_host(const std::string& name, const std::string& as) {
  const auto known = names_.find(lower_case(as.empty() ? name : as));
  if (as.empty() && known != names_.end()) return;
  const std::string key = known == names_.end() ? (as.empty() ? name : as) : known->second.key;
  learn("host", name, key);
  const size_t dot = name.find('.');
  const size_t zone = name.find('%');
  if (zone != std::string::npos && is_address(name.substr(0, zone)))
    learn("host", name.substr(0, zone), key);
  if (dot == std::string::npos || zone != std::string::npos || is_address(name)) return;
  learn("host", name.substr(0, dot), key);
  // The domain, and the domain that it belongs to.
  for (size_t at = dot; name.find('.', at + 1) != std::string::npos; at = name.find('.', at + 1)) {
    const std::string domain = name.substr(at + 1);
    learn("host", domain, domain);
  }
}

std::string Redactor::host(const std::string& name) {
  learn_host(name);
  const auto known = names_.find(lower_case(name));
  return ordinal("host", known == names_.end() ? lower_case(name) : known->second.key, name);
}

void Redactor::learn_user(const std::string& name) {
  if (name != "root" && names_.count(lower_case(name)) == 0) learn("user", name, name);
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
  const auto [it, is_new] = known.emplace(lower_case(key), kind + std::to_string(known.size() + 1));
  if (is_new) said_.push_back(what + " -> " + it->second);
  return it->second;
}

std::string Redactor::address(const std::string& kind, const std::string& what) {
  const auto known = names_.find(lower_case(what));  // a host that is known by its address
  if (known == names_.end()) return ordinal(kind, what, what);
  return ordinal(known->second.kind, known->second.key, what);
}

Redactor::Marked Redactor::without_found(const Marked& from,
                                         Found (*find)(std::string_view, size_t)) {
  Marked out;
  for (size_t at = 0; at < from.text.size();) {
    const Found found = find(from.text, at);
    if (found.length == 0) {
      out.text += from.text[at];
      out.done += from.done[at++];
      continue;
    }
    const std::string instead = address(found.kind, from.text.substr(at, found.length));
    out.text += instead;
    out.done.append(instead.size(), 'x');
    at += found.length;
  }
  return out;
}

// The longest known name that begins there; nullptr = none.
const std::pair<const std::string, Redactor::Name>* Redactor::name_at(const std::string& folded,
                                                                      size_t at,
                                                                      TextFrom from) const {
  const auto letter = [&](size_t i) {
    return i < folded.size() &&
           (is_alnum(folded[i]) || static_cast<unsigned char>(folded[i]) >= 0x80);
  };
  if (at > 0 && letter(at - 1)) return nullptr;
  const std::pair<const std::string, Name>* best = nullptr;
  for (const auto& entry : names_) {
    const std::string& name = entry.first;
    if (folded.compare(at, name.size(), name) != 0 || letter(at + name.size())) continue;
    if (from == TextFrom::kTyped && name.size() == 1) continue;
    if (from == TextFrom::kProduct && entry.second.kind == "user") continue;
    if (from != TextFrom::kTyped && is_product(name)) continue;
    if (best == nullptr || name.size() > best->first.size()) best = &entry;
  }
  return best;
}

std::string Redactor::without_names(const Marked& marked, TextFrom from) {
  std::string folded = lower_case(marked.text);
  for (size_t i = 0; i < folded.size(); ++i) {
    if (marked.done[i] != ' ') folded[i] = '\0';  // an ordinal is nobody's name
  }
  std::string out;
  for (size_t at = 0; at < folded.size();) {
    const auto* best = marked.done[at] == ' ' ? name_at(folded, at, from) : nullptr;
    if (best == nullptr) {
      out += marked.text[at++];
      continue;
    }
    const size_t length = best->first.size();
    const std::string word = marked.text.substr(at, length);
    const bool kept = from == TextFrom::kTyped && kept_.count(best->first) > 0;
    out += kept ? word : ordinal(best->second.kind, best->second.key, word);
    at += length;
  }
  return out;
}

std::vector<NameInText> Redactor::names_in(std::string_view typed) const {
  const std::string folded = lower_case(typed);
  std::vector<NameInText> found;
  for (size_t at = 0; at < folded.size();) {
    const auto* best = name_at(folded, at, TextFrom::kTyped);
    const size_t length = best == nullptr ? 1 : best->first.size();
    if (best != nullptr)
      found.push_back({best->second.kind, std::string(typed.substr(at, length))});
    at += length;
  }
  return found;
}

void Redactor::keep(const std::string& word) { kept_.insert(lower_case(word)); }

std::string Redactor::text(std::string_view original, TextFrom from) {
  // Addresses first: a name may be a part of one ("cc" of a MAC), and a path may hold one.
  const Marked whole{std::string(original), std::string(original.size(), ' ')};
  return without_names(without_found(without_found(whole, address_at), path_at), from);
}

bool is_redacted(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (address_at(text, at).length > 0 || path_at(text, at).length > 0) return false;
  }
  return true;
}

}  // namespace plumbline
