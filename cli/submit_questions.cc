#include "cli/submit_questions.h"

#include <fmt/format.h>

#include "core/number.h"
#include "core/options/options.h"
#include "core/text.h"
#include "core/units.h"
#include "reports/links/link_kinds.h"
#include "reports/publish/bundle_words.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kTries = 3;
constexpr size_t kMaxLine = 160, kMaxNotes = 400;  // as in the table of bundle fields

std::string trimmed(const std::string& text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

// Texts for a public page: no markup, no links, one line.
Expected<std::string> plain(const std::string& text, size_t most) {
  constexpr const char* kForbidden = "<>[]|\\`{}@$^";
  const size_t at = text.find_first_of(kForbidden);
  if (at != std::string::npos) {
    return fail(usage_error(fmt::format("'{}' holds '{}'", clean(text), text[at]),
                            fmt::format("leave out {}", kForbidden)));
  }
  const std::string hidden = clean(text) != text ? "holds a control character" : hidden_in(text);
  if (!hidden.empty())
    return fail(usage_error("'" + clean(text) + "' " + hidden, "plain words only"));
  if (characters(text) > most) {
    return fail(usage_error(fmt::format("{} characters", characters(text)),
                            fmt::format("at most {}", most)));
  }
  return text;
}

Status take_link_kind(const std::string& text, BundleStatement& out) {
  std::vector<std::string> names;
  for (const LinkKindRow& row : link_kind_table()) names.emplace_back(row.name);
  if (find_link_kind(text) == nullptr) {
    return fail(usage_error("no link kind '" + clean(text) + "'",
                            near_or(text, names, "one of: " + join(names, ", "))));
  }
  out.link_kind = text;
  return {};
}

Status take_link_speed(const std::string& text, BundleStatement& out) {
  if (text.empty()) return {};
  const Expected<double> speed = parse_bit_rate(text);
  if (!speed) return fail(speed.error());
  if (*speed < 1 || *speed > 1e15)
    return fail(usage_error(text + " is no link's speed", "such as 40Gbit"));
  out.link_speed_bps = static_cast<uint64_t>(*speed);
  return {};
}

Status take_links(const std::string& text, BundleStatement& out) {
  if (text.empty()) return {};
  const std::optional<int> links = parse_whole(text, 1, 64);
  if (!links) return fail(usage_error("'" + clean(text) + "' links", "1 to 64"));
  out.links_per_host = *links;
  return {};
}

Status take_text(const std::string& text, size_t most, std::string& out) {
  const Expected<std::string> checked = plain(text, most);
  if (!checked) return fail(checked.error());
  out = *checked;
  return {};
}

Status take_cable(const std::string& text, BundleStatement& out) {
  return take_text(text, kMaxLine, out.cable);
}
Status take_submitter(const std::string& text, BundleStatement& out) {
  return take_text(text, kMaxLine, out.submitter);
}
Status take_notes(const std::string& text, BundleStatement& out) {
  return take_text(text, kMaxNotes, out.notes);
}
// One answer may name several machines.
Status take_hardware(const std::string& text, BundleStatement& out) {
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(';', from), text.size());
    const std::string one = trimmed(text.substr(from, end - from));
    from = end + 1;
    if (one.empty()) continue;
    out.hardware.emplace_back();
    const Status taken = take_text(one, kMaxLine, out.hardware.back());
    if (!taken) {
      out.hardware.clear();
      return taken;
    }
  }
  return {};
}

bool always(const BundleStatement&) { return true; }
bool never(const BundleStatement&) { return false; }
bool leaves_machine(const BundleStatement& so_far) {
  const LinkKindRow* row = find_link_kind(so_far.link_kind);
  return row != nullptr && row->network;
}
bool without_rate(const BundleStatement& so_far) {
  const LinkKindRow* row = find_link_kind(so_far.link_kind);
  return row != nullptr && row->rate_bps == 0;
}

// Which of this machine's names an answer must not hold by accident.
enum class Watched { kNothing, kHost, kAll };

struct Question {
  FlagRow flag;
  const char* question;
  bool (*required)(const BundleStatement& so_far);  // with the answers before it
  bool (*asked)(const BundleStatement& so_far);     // on a terminal
  Status (*take)(const std::string& text, BundleStatement& out);
  Watched watched;
};

const std::vector<Question>& questions() {
  static const std::vector<Question> kTable = {
      {{"--link-kind", "KIND", "what joins the hosts (plumbline list link-kinds)"},
       "What joins the hosts? (loopback, ethernet-10g, thunderbolt5 ...; plumbline list "
       "link-kinds)",
       always,
       always,
       take_link_kind,
       Watched::kNothing},
      {{"--link-speed", "SPEED", "of one cable, where it is not the kind's own: 10Gbit"},
       "Speed of one cable, if it is not the kind's own (empty = it is)",
       without_rate,
       leaves_machine,
       take_link_speed,
       Watched::kNothing},
      {{"--links", "N", "cables that a host can use at the same time (1)"},
       "Cables that a host can use at the same time (empty = 1)",
       never,
       leaves_machine,
       take_links,
       Watched::kNothing},
      {{"--cable", "TEXT", "cable, and what is between the hosts: 2 m copper, no switch"},
       "Cable, and what is between the hosts? (2 m copper, no switch)",
       leaves_machine,
       leaves_machine,
       take_cable,
       Watched::kAll},
      {{"--hardware", "TEXT",
        "the machines: one text for all hosts, or one for each, in their order", true},
       "Which machines? (one text for all, or one for each host, with ; between)",
       always,
       always,
       take_hardware,
       Watched::kAll},
      {{"--submitter", "TEXT", "name to show with the rows (default: none)"},
       "Your name for the page (empty = none)",
       never,
       always,
       take_submitter,
       Watched::kHost},
      {{"--notes", "TEXT", "anything that a reader should know"},
       "Notes (empty = none)",
       never,
       always,
       take_notes,
       Watched::kAll},
  };
  return kTable;
}

std::string option_of(const Question& question) {
  return std::string(question.flag.name).substr(2);
}

// "'VM' is the name of this machine"; empty when there is none. Their user's name is what people
// are asked for as submitter.
std::string own_names_in(const Question& question, const std::string& text, const OwnNames& own,
                         std::vector<std::string>& words) {
  if (question.watched == Watched::kNothing) return "";
  std::vector<std::string> found;
  for (const NameInText& name : own.names.names_in(text)) {
    const bool host = name.kind == "host";
    if (!host && question.watched == Watched::kHost) continue;
    words.push_back(name.word);
    found.push_back(fmt::format("'{}' is {}", clean(name.word),
                                host ? "a name of this machine" : "your user name here"));
  }
  if (own.home.size() > 1 && text.find(own.home) != std::string::npos) {
    found.push_back(fmt::format("'{}' is your home folder (published as path1)", clean(own.home)));
  }
  return join(found, ", ");
}

class Questioner {
 public:
  Questioner(const OwnNames& own, bool all_meant, std::istream* in, std::ostream& out)
      : own_(own), all_meant_(all_meant), in_(in), out_(out) {}

  // What the flags say; `may_ask` whether a name in it can be asked about.
  Status take_flags(const Question& question, const std::vector<std::string>& values,
                    bool may_ask) {
    const BundleStatement before = statement;
    for (const std::string& value : values) {
      const std::string text = trimmed(value);
      if (const Status taken = question.take(text, statement); !taken) {
        Error error = taken.error();
        error.what = std::string(question.flag.name) + ": " + error.what;
        return fail(error);
      }
      const std::string names = unmeant(question, text);
      if (names.empty() || (may_ask && meant(question, text, names))) continue;
      statement = before;
      if (may_ask) return ask(question);
      return fail(usage_error(fmt::format("{}: {}", question.flag.name, names),
                              "say it without, or add --keep-names when it is meant as a word"));
    }
    return {};
  }

  Status ask(const Question& question) {
    const BundleStatement before = statement;
    for (int tries = 0; tries < kTries; ++tries) {
      out_ << question.question << ": " << std::flush;
      std::string line;
      if (!std::getline(*in_, line)) break;
      line = trimmed(line);
      if (line.empty() && question.required(statement)) {
        out_ << "  this one needs an answer\n";
        continue;
      }
      const Status taken = line.empty() ? Status() : question.take(line, statement);
      const std::string names = taken ? unmeant(question, line) : "";
      if (taken && (names.empty() || meant(question, line, names))) return {};
      if (!taken) out_ << "  " << taken.error().message() << "\n";
      statement = before;
    }
    return fail(usage_error(std::string("no answer for ") + question.flag.name,
                            "see plumbline submit --help"));
  }

  BundleStatement statement;

 private:
  std::string unmeant(const Question& question, const std::string& text) {
    std::vector<std::string> words;
    const std::string names = own_names_in(question, text, own_, words);
    if (!all_meant_) return names;
    keep(words);
    return "";
  }
  bool meant(const Question& question, const std::string& text, const std::string& names) {
    if (!confirm(*in_, out_, "  " + names + ". Publish it as it stands?")) return false;
    std::vector<std::string> words;
    own_names_in(question, text, own_, words);
    keep(words);
    return true;
  }
  void keep(const std::vector<std::string>& words) {
    statement.kept.insert(statement.kept.end(), words.begin(), words.end());
  }

  const OwnNames& own_;
  bool all_meant_;
  std::istream* in_;
  std::ostream& out_;
};

}  // namespace

std::vector<FlagRow> question_flags() {
  std::vector<FlagRow> flags;
  for (const Question& question : questions()) flags.push_back(question.flag);
  return flags;
}

Expected<BundleStatement> ask_statement(const Args& args, const OwnNames& own, std::istream* in,
                                        std::ostream& out) {
  Questioner questioner(own, args.has("keep-names"), in, out);
  BundleStatement& statement = questioner.statement;
  const bool may_ask = in != nullptr && !args.has("yes");
  std::vector<std::string> missing;
  for (const Question& question : questions()) {
    const std::vector<std::string> given = args.all(option_of(question));
    Status answered;
    if (!given.empty()) {
      answered = questioner.take_flags(question, given, may_ask);
    } else if (in == nullptr) {
      if (question.required(statement)) missing.emplace_back(question.flag.name);
    } else if (question.asked(statement)) {
      answered = questioner.ask(question);
    }
    if (!answered) return fail(answered.error());
  }
  if (!missing.empty()) {
    return fail(usage_error(
        "there is no terminal to ask on, and these flags are missing: " + join(missing, ", "),
        "see plumbline submit --help"));
  }
  if (statement.hardware.empty())
    return fail(usage_error("--hardware is empty", "name the machines"));
  if (statement.cable.empty() && !leaves_machine(statement)) statement.cable = "none";
  return statement;
}

bool confirm(std::istream& in, std::ostream& out, const std::string& question) {
  out << question << " [y/N] " << std::flush;
  std::string line;
  if (!std::getline(in, line)) return false;
  line = trimmed(line);
  return line == "y" || line == "Y" || line == "yes";
}

}  // namespace plumbline
