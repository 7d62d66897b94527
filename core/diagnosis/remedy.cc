#include "core/diagnosis/remedy.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/shell_words.h"
#include "core/text.h"

namespace plumbline {
namespace {

// Only letters, digits and what is in `more`, from 1 to `most` bytes, not beginning like an option.
bool is_plain(std::string_view text, std::string_view more, size_t most) {
  return !text.empty() && text.size() <= most && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter(c) || is_digit(c) || more.find(c) != more.npos;
         });
}

// ASCII without spaces and control characters.
bool is_printable(std::string_view text, size_t most) {
  return !text.empty() && text.size() <= most && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// Linux forbids '/', ':', spaces and "..", and has room for 15 bytes; a backslash is how control
// characters are shown. In our commands a name stands where nothing else can: first, or behind
// `dev`, `master` or `name`. Those that ip, tc and ifconfig have a meaning of their own for are
// refused all the same.
bool is_interface(std::string_view text) {
  constexpr std::string_view kTaken[] = {
      "mtu",   "arp",  "brd",   "broadcast", "index",    "xdp", "alias",  "promisc", "multicast",
      "dev",   "type", "group", "master",    "nomaster", "via", "table",  "up",      "down",
      "netns", "name", "link",  "address",   "help",     "all", "default"};
  constexpr size_t kLongest = 15;
  return is_printable(text, kLongest) && text.find_first_of("/:\\") == text.npos && text != "." &&
         text != ".." && std::find(std::begin(kTaken), std::end(kTaken), text) == std::end(kTaken);
}

bool is_address(std::string_view text) { return parse_ip(text).has_value(); }

bool is_destination(std::string_view text) {
  return text == "default" || is_address(text) || parse_ip_subnet(text).has_value();
}

bool is_routing_table(std::string_view text) { return is_plain(text, "_.-", 64); }
bool is_filter_name(std::string_view text) {
  constexpr size_t kLongest = 64;
  return is_printable(text, kLongest) && text[0] != '!';
}
bool is_nft_name(std::string_view text) { return is_plain(text, "_-./", 255); }
bool is_tc_handle(std::string_view text) { return is_plain(text, ":", 32); }
// It stands where tc also looks for words of its own (help, root, and abbreviations of them).
bool is_tc_kind(std::string_view text) {
  constexpr std::string_view kKnown[] = {"basic",  "bpf",  "cgroup", "flow",
                                         "flower", "fw",   "u32",    "matchall",
                                         "route",  "rsvp", "rsvp6",  "tcindex"};
  return std::find(std::begin(kKnown), std::end(kKnown), text) != std::end(kKnown);
}
// sysctl turns dots into slashes and back: no way up the folders.
bool is_sysctl_key(std::string_view text) {
  return is_plain(text, "_./-", 128) && is_letter(text[0]) && text.find("..") == text.npos &&
         text.find("//") == text.npos;
}
bool is_sysctl_value(std::string_view text) { return is_plain(text, "_.,:-", 1024); }
bool is_host_name(std::string_view text) { return is_plain(text, "._-", 253) && text[0] != '.'; }
bool is_match_value(std::string_view text) { return is_plain(text, "._:/,+-", 128); }
// rsync takes a ':' for the end of a host's name, and hands the path to a shell there.
bool is_path(std::string_view text) {
  return text.size() > 1 && text[0] == '/' && is_plain(text, "/._+@=-", 1024) &&
         text.find("..") == text.npos;
}
bool is_login(std::string_view text) {
  const size_t at = text.find('@');
  if (at == text.npos) return is_host_name(text);
  return is_plain(text.substr(0, at), "._-", 64) && is_host_name(text.substr(at + 1));
}
bool is_package(std::string_view text) { return is_plain(text, "._-", 64); }
bool is_version(std::string_view text) { return is_plain(text, ".+!_-", 64); }
bool is_variable(std::string_view text) { return is_variable_name(text) && text.size() <= 64; }

struct SlotRow {
  Slot slot;
  const char* name;
  bool (*fits)(std::string_view text);
};
constexpr SlotRow kSlots[] = {
    {Slot::kInterface, "name of an interface", is_interface},
    {Slot::kAddress, "address", is_address},
    {Slot::kDestination, "destination of a route", is_destination},
    {Slot::kRoutingTable, "table of routes", is_routing_table},
    {Slot::kFilterName, "name of a table or chain", is_filter_name},
    {Slot::kNftName, "name that nft takes without quotes", is_nft_name},
    {Slot::kTcHandle, "handle of tc", is_tc_handle},
    {Slot::kTcKind, "kind of classifier", is_tc_kind},
    {Slot::kSysctlKey, "kernel parameter", is_sysctl_key},
    {Slot::kSysctlValue, "plain value", is_sysctl_value},
    {Slot::kHostName, "host name of letters, digits, '.', '-' and '_'", is_host_name},
    {Slot::kMatchValue, "plain value", is_match_value},
    {Slot::kPath, "absolute path of plain characters", is_path},
    {Slot::kLogin, "host to log in on", is_login},
    {Slot::kPackage, "name of a package", is_package},
    {Slot::kVersion, "version", is_version},
    {Slot::kVariable, "name of a variable", is_variable},
};

const SlotRow& row_of(Slot slot) { return kSlots[static_cast<size_t>(slot)]; }
static_assert([] {
  for (size_t i = 0; i < std::size(kSlots); ++i) {
    if (kSlots[i].slot != static_cast<Slot>(i)) return false;
  }
  return std::size(kSlots) == static_cast<size_t>(Slot::kVariable) + 1;
}());

constexpr const char* kSilently = " 2>/dev/null || true";

}  // namespace

const char* name_of(Slot slot) { return row_of(slot).name; }
bool fits(Slot slot, std::string_view text) { return row_of(slot).fits(text); }

Word operator+(const Word& a, const Word& b) {
  Word out(a.text_ + b.text_, a.is_sound() ? b.problem_ : a.problem_);
  out.literal_ = a.literal_ && b.literal_;
  return out;
}

Word slot(Slot kind, std::string_view value) {
  if (fits(kind, value)) return Word(std::string(value), "");
  return Word(escaped_short(value),
              fmt::format("'{}' is no {}", escaped_short(value), name_of(kind)));
}

Word number(int64_t value, int64_t least, int64_t most, int base) {
  const bool inside = value >= least && value <= most;
  return Word(base == 16 ? fmt::format("{:#x}", value) : std::to_string(value),
              inside ? "" : fmt::format("{} is out of range", value));
}

Word one_of(std::string_view value, const std::vector<Word>& known) {
  for (const Word& word : known) {
    if (word.text() == value) return word;
  }
  return Word(escaped_short(value),
              fmt::format("'{}' is no word that is known here", escaped_short(value)));
}

Word pid_word(int64_t pid) {
  constexpr int64_t kMost = int64_t{1} << 31;
  return number(pid, 2, kMost);
}

Word port_word(int port) { return number(port, 1, 65535); }

std::vector<std::pair<int, int>> port_ranges(std::vector<int> ports) {
  std::erase_if(ports, [](int port) { return port < 1 || port > 65535; });
  return runs_of(std::move(ports));
}

Word ports_word(const std::vector<std::pair<int, int>>& ranges, const Word& to,
                const Word& between) {
  Word word = "";
  for (const auto& [first, last] : ranges) {
    if (!word.text().empty()) word = word + between;
    word = word + port_word(first);
    if (last != first) word = word + to + port_word(last);
  }
  return word;
}

Command&& Command::may_fail() && {
  may_fail_ = true;
  return std::move(*this);
}

Command&& Command::remark(const std::string& text) && {
  remark_ = escaped(text);
  return std::move(*this);
}

std::string Command::problem() const {
  if (words_.empty() || !words_[0].is_literal()) return "it names no program";
  for (const Word& word : words_) {
    if (!word.is_sound()) return word.problem();
  }
  return {};
}

std::vector<std::string> Command::argv() const {
  std::vector<std::string> argv;
  if (may_fail_) argv = {"sh", "-c", std::string("\"$@\"") + kSilently, "sh"};
  for (const Word& word : words_) argv.push_back(word.text());
  return argv;
}

std::string shell_text(const Command& command) {
  std::vector<std::string> words;
  for (const Word& word : command.words_) words.push_back(word.text());
  return shell_line(words) + (command.may_fail_ ? kSilently : "");
}

Remedy& Remedy::say(const std::string& advice) & {
  if (!advice.empty()) steps_.push_back({std::nullopt, escaped(advice), false});
  return *this;
}

Remedy& Remedy::run(const Command& command) & {
  const std::string problem = command.problem();
  if (!problem.empty()) {
    return say(fmt::format("# no command, because {}; it would have been: {}", problem,
                           shell_text(command)));
  }
  const std::string remark = command.remark_.empty() ? "" : "  # " + command.remark_;
  steps_.push_back({command, shell_text(command) + remark, true});
  return *this;
}

Remedy& Remedy::then(const Remedy& other) & {
  for (const RemedyStep& step : other.steps_) {
    const bool known = std::any_of(steps_.begin(), steps_.end(), [&](const RemedyStep& mine) {
      const bool same_host =
          !mine.command || !step.command || mine.command->host_ == step.command->host_;
      return mine.text == step.text && mine.is_code == step.is_code && same_host;
    });
    if (!known) steps_.push_back(step);
  }
  return *this;
}

Remedy& Remedy::on(const std::string& host) {
  for (RemedyStep& step : steps_) {
    if (step.command && step.command->host_.empty()) step.command->host_ = host;
  }
  return *this;
}

Remedy Remedy::only_shown(const std::string& text, const std::vector<std::string>& code) {
  Remedy out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.say(text.substr(at, end - at));
    if (end > at) {
      const std::string& line = out.steps_.back().text;
      out.steps_.back().is_code = std::any_of(code.begin(), code.end(), [&](const auto& command) {
        return line == command || line.rfind(command + " ", 0) == 0;
      });
    }
    at = end + 1;
  }
  return out;
}

std::vector<HostCommand> Remedy::commands() const {
  std::vector<HostCommand> out;
  for (const RemedyStep& step : steps_) {
    if (step.command) out.push_back({step.command->host_, step.command->argv()});
  }
  return out;
}

std::string Remedy::text() const {
  std::string out;
  for (const RemedyStep& step : steps_) out += (out.empty() ? "" : "\n") + step.text;
  return out;
}

void Remedy::reword(const std::function<std::string(const std::string&)>& reworded) {
  for (RemedyStep& step : steps_) {
    if (!step.command) step.text = escaped(reworded(step.text));
  }
}

}  // namespace plumbline
