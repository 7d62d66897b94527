#include <algorithm>
#include <cctype>
#include <string>

#include "core/host/ip.h"
#include "core/text.h"
#include "reports/publish/redact.h"

namespace plumbline {
namespace {

constexpr size_t kLongest = 80;    // characters of an address in any notation
constexpr size_t kWordsAhead = 3;  // within which a slash shows that a path goes on

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_slash(char c) { return c == '/' || c == '\\'; }

// '\0' before the beginning and behind the end.
char char_at(std::string_view text, size_t at) { return at < text.size() ? text[at] : '\0'; }
char before(std::string_view text, size_t at) { return at == 0 ? '\0' : text[at - 1]; }

size_t hex_run(std::string_view text, size_t at) {
  size_t length = 0;
  while (is_hex(char_at(text, at + length))) ++length;
  return length;
}

bool has_letter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return !is_digit(c) && is_hex(c); });
}

// Whether `word` stands there in any case.
bool stands_at(std::string_view text, size_t at, std::string_view word) {
  if (at > text.size() || text.size() - at < word.size()) return false;
  return std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, char b) { return a == lower_case(b); });
}

bool is_ipv6(std::string_view word) { return is_v6(word) && parse_ip(word); }

// Groups of `least` to `most` hex digits with `between` in between: how many, and their length.
std::pair<size_t, size_t> groups_at(std::string_view text, size_t at, char between, size_t least,
                                    size_t most) {
  size_t groups = 0, length = 0;
  for (size_t here = at; length < kLongest; ++here) {
    const size_t run = hex_run(text, here);
    if (run < least || run > most) break;
    ++groups;
    here += run;
    length = here - at;
    if (char_at(text, here) != between) break;
  }
  return {groups, length};
}

size_t mac_at(std::string_view text, size_t at) {
  if (is_hex(before(text, at))) return 0;
  const size_t run = hex_run(text, at);
  if (run == 0) return 0;
  const bool decimal = !has_letter(text.substr(at, run)) &&
                       (before(text, at) == '.' || char_at(text, at + run) == '.');
  if (run == 12 && !decimal) return run;
  if (run == 16 && stands_at(text, at + 6, "fffe")) return run;
  struct Notation {
    char between;
    size_t least, most, groups;
    bool letter;  // must have one, because figures are written so, too
  };
  constexpr Notation kNotations[] = {
      {':', 1, 2, 6, false}, {'-', 2, 2, 6, false}, {' ', 2, 2, 6, true}, {'.', 4, 4, 3, false},
      {':', 4, 4, 3, true},  {'-', 4, 4, 3, true},  {'-', 6, 6, 2, true}};
  for (const Notation& one : kNotations) {
    const auto [groups, length] = groups_at(text, at, one.between, one.least, one.most);
    if (groups >= one.groups && (!one.letter || has_letter(text.substr(at, length)))) return length;
  }
  return 0;
}

size_t ipv6_at(std::string_view text, size_t at) {
  const char prior = before(text, at);
  size_t run = 0;
  const auto part = [](char c) { return is_hex(c) || c == ':' || c == '.'; };
  while (run < kLongest && part(char_at(text, at + run))) ++run;
  if (run < 3 || is_hex(prior) || (text[at] == ':' && prior == ':')) return 0;
  for (size_t length = run; length >= 3; --length) {
    const std::string word(text.substr(at, length));
    const char next = char_at(text, at + length);
    if (is_hex(word.back()) && is_hex(next)) continue;  // never half a group
    // "std::begin" holds d::be.
    const bool apart = !is_alnum(prior) && !is_alnum(next);
    if (!apart && std::count(word.begin(), word.end(), ':') < 4) continue;
    if (std::any_of(word.begin(), word.end(), is_hex) && is_ipv6(word)) return length;
  }
  return 0;
}

// Names that are an address: fe80--1.ipv6-literal.net, 1.0.8.b.d.0.1.0.0.2.ip6.arpa
size_t ipv6_name_at(std::string_view text, size_t at) {
  constexpr std::string_view kLiteral = ".ipv6-literal.net", kReversed = "ip6.arpa";
  if (is_alnum(before(text, at)) || before(text, at) == '.') return 0;
  size_t end = at;
  while (end - at < kLongest && (is_hex(char_at(text, end)) || char_at(text, end) == '-')) ++end;
  if (end > at && stands_at(text, end, kLiteral)) return end - at + kLiteral.size();
  end = at;
  while (end - at < kLongest && is_hex(char_at(text, end)) && char_at(text, end + 1) == '.')
    end += 2;
  return end > at + 2 && stands_at(text, end, kReversed) ? end - at + kReversed.size() : 0;
}

// Four numbers up to 255 with `between`, not a part of more such numbers.
size_t ipv4_at(std::string_view text, size_t at, char between) {
  const char prior = before(text, at);
  if (is_digit(prior) || (prior == between && at > 1 && is_digit(text[at - 2]))) return 0;
  size_t here = at;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && char_at(text, here++) != between) return 0;
    int value = 0;
    size_t digits = 0;
    while (digits < 3 && is_digit(char_at(text, here)))
      value = value * 10 + (text[here++] - '0'), ++digits;
    if (digits == 0 || value > 255) return 0;
  }
  if (is_digit(char_at(text, here))) return 0;
  if (char_at(text, here) == between && is_digit(char_at(text, here + 1))) return 0;
  constexpr std::string_view kReversed = ".in-addr.arpa";
  return here - at + (stands_at(text, here, kReversed) ? kReversed.size() : 0);
}

// ---- paths ----

bool in_name(char c) {
  return is_alnum(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("._-~@%+").find(c) != std::string_view::npos;
}
bool in_path(char c) { return c != '\0' && (in_name(c) || is_slash(c)); }
// Behind a path's beginning more belongs to it.
bool goes_on(char c) {
  return in_path(c) || (c != '\0' && std::string_view(":=#&").find(c) != std::string_view::npos);
}

// A slash with a name behind it, not a prefix length or a fraction.
bool leads_on(std::string_view text, size_t at) {
  if (!is_slash(char_at(text, at)) || !in_path(char_at(text, at + 1))) return false;
  size_t end = at + 1;
  while (end - at <= 3 && is_digit(char_at(text, end))) ++end;
  return end == at + 1 || is_alnum(char_at(text, end)) || is_slash(char_at(text, end));
}

// "GB/s", "and/or" and their like.
bool is_common(std::string_view word) {
  for (const std::string_view known : {"and/or", "gnu/linux", "tcp/ip", "i/o", "w/o", "n/a"}) {
    if (word.size() == known.size() && stands_at(word, 0, known)) return true;
  }
  return word.size() > 2 && stands_at(word, word.size() - 2, "/s");
}

// The end of the path when the words behind `end` belong to it, else `end`.
size_t over_blank(std::string_view text, size_t end) {
  size_t here = end;
  for (size_t words = 0; words < kWordsAhead && char_at(text, here) == ' '; ++words) {
    const size_t from = here + 1;
    size_t to = from;
    bool slash = false;
    while (goes_on(char_at(text, to))) {
      slash = slash || (to > from && leads_on(text, to));
      ++to;
    }
    const char first = char_at(text, from);
    if (to == from || is_slash(first) || first == '~' || first == '.') return end;
    here = to;
    if (slash && !is_common(text.substr(from, to - from))) return to;
  }
  return end;
}

size_t path_end(std::string_view text, size_t from) {
  const char quote = before(text, from);
  if (quote == '"' || quote == '\'') {
    const size_t closed = text.find(quote, from);
    if (closed != std::string_view::npos) return closed;
  }
  size_t end = from;
  while (goes_on(char_at(text, end))) ++end;
  for (size_t more = over_blank(text, end); more > end; more = over_blank(text, end)) end = more;
  return end;
}

}  // namespace

Found address_at(std::string_view text, size_t at) {
  if (!is_hex(char_at(text, at)) && char_at(text, at) != ':') return {};
  if (const size_t length = ipv6_name_at(text, at); length > 0) return {"addr", length};
  // Hardware addresses of 20 bytes begin like an IPv6 address.
  const size_t ipv6 = ipv6_at(text, at), mac = mac_at(text, at);
  if (ipv6 > 0 || mac > 0) return ipv6 >= mac ? Found{"addr", ipv6} : Found{"mac", mac};
  for (const char between : {'.', '-'}) {
    if (const size_t length = ipv4_at(text, at, between); length > 0) return {"addr", length};
  }
  return {};
}

Found path_at(std::string_view text, size_t at) {
  const char first = char_at(text, at), next = char_at(text, at + 1);
  if (first == '\0' || in_name(before(text, at)) || is_slash(before(text, at))) return {};
  bool begins = leads_on(text, at);
  begins = begins || (first == '~' && (is_slash(next) || (is_alnum(next) && !is_digit(next))));
  size_t dots = at;
  while (char_at(text, dots) == '.' && dots < at + 2) ++dots;
  begins = begins || (dots > at && is_slash(char_at(text, dots)));
  if (!begins && in_name(first)) {  // two slashes in one word, or one in an option: -I/srv
    size_t slashes = 0;
    for (size_t here = at; in_path(char_at(text, here)); ++here) slashes += leads_on(text, here);
    begins = slashes >= (first == '-' ? 1U : 2U);
  }
  return begins ? Found{"path", path_end(text, at) - at} : Found{};
}

}  // namespace plumbline
