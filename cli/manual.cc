#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/commands.h"
#include "core/options/options.h"
#include "runs/exit_code.h"

namespace plumbline {
namespace {

// Text as roff shows it: no character is a command, and a dash can be copied into a shell.
std::string roff(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool starts_a_line = at == 0 || text[at - 1] == '\n';
    if (starts_a_line && (c == '.' || c == '\'')) out += "\\&";
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '"':
        out += "\\(dq";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + text + "\n";
}

// "-o,--out" -> "-o, --out"
std::string spaced(const std::string& names) {
  std::string out;
  for (const char c : names) out += c == ',' ? std::string(", ") : std::string(1, c);
  return out;
}

std::string placeholder(const PositionalRow& row) {
  std::string name = row.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string out = italic(name) + (row.repeatable ? "..." : "");
  return row.required ? out : "[" + out + "]";
}

std::string synopsis(const CommandRow& row) {
  std::string out = bold(std::string("plumbline ") + row.name);
  if (!row.flags.empty() || row.takes_options) out += " [" + italic("OPTION") + "]...";
  for (const PositionalRow& positional : row.positionals) out += " " + placeholder(positional);
  return out + "\n";
}

std::string examples(const CommandRow& row) {
  std::string out = ".PP\nExamples:\n";
  for (const ExampleRow& example : row.examples)
    out += tagged(bold(example.line), roff(example.help));
  return row.examples.empty() ? "" : out;
}

std::string command(const CommandRow& row) {
  std::string out =
      fmt::format(".SS plumbline {}\n{}.PP\n{}.\n", roff(row.name), synopsis(row), roff(row.help));
  for (const PositionalRow& positional : row.positionals)
    out += tagged(placeholder(positional), roff(positional.help));
  for (const FlagRow& flag : row.flags) {
    const std::string value = flag.value == nullptr ? "" : " " + italic(flag.value);
    out += tagged(bold(spaced(flag.name)) + value, roff(flag.help));
  }
  if (row.takes_options)
    out += tagged(bold("--OPTION") + " " + italic("VALUE"), "every option of DATA PATH OPTIONS");
  if (*row.notes != '\0') out += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(row.notes));
  return out + examples(row);
}

std::string manual_commands() {
  std::string out = ".SH COMMANDS\n";
  for (const CommandRow& row : command_table()) {
    if (!row.hidden) out += command(row);
  }
  return out;
}

std::string manual_options() {
  std::string out =
      ".SH DATA PATH OPTIONS\nEach is a flag, a key of a scenario\\(aqs \\fBconfig\\fR, and a "
      "variable.\n\\fBplumbline config\\fR shows every value and where it comes from.\n";
  for (const OptionRow& row : option_table()) {
    if (row.refused != nullptr) continue;
    std::string flag = std::string("--") + row.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    const std::string unit = *row.unit == '\0' ? "" : std::string(" ") + row.unit;
    const std::string standard = *row.default_value == '\0' ? "empty" : row.default_value + unit;
    out += tagged(bold(flag) + " " + italic("VALUE"),
                  fmt::format("{} (default: {}; {})", roff(row.help), roff(standard),
                              roff(option_variable(row.name))));
  }
  return out;
}

std::string exit_codes() {
  std::string out = ".SH EXIT STATUS\nWhere several apply, the first of these.\n";
  for (const ExitCodeRow& row : kExitCodes)
    out += tagged(bold(std::to_string(row.code)), roff(row.meaning));
  return out;
}

constexpr const char* kFiles = R"(.SH FILES
.TP
\fI/usr/share/plumbline/scenarios\fR
scenarios that come with plumbline (below the prefix of the installation)
.TP
\fI/usr/share/doc/plumbline/docs\fR
guides, formats and the reference
.TP
\fI$XDG_STATE_HOME/plumbline/runs\fR
the list of runs on this machine
.SH SEE ALSO
.BR ssh (1),
.BR iperf3 (1),
.BR ping (8),
.BR ip (8)
)";

}  // namespace

std::string manual_page() {
  std::string out = ".TH PLUMBLINE 1 \"\" \"plumbline " PLUMBLINE_VERSION
                    "\" \"User Commands\"\n.nh\n.ad l\n"
                    ".SH NAME\nplumbline \\- network diagnostics and collective benchmarks for "
                    "small clusters\n.SH SYNOPSIS\n.nf\n";
  for (const CommandRow& row : command_table()) {
    if (!row.hidden) out += synopsis(row);
  }
  out +=
      ".fi\n.SH DESCRIPTION\nTells whether a small cluster\\(aqs network is sound, why not when it "
      "is not, and how fast collective operations run on it.\nEvery command tells its arguments "
      "with \\fB\\-\\-help\\fR.\n";
  return out + manual_commands() + manual_options() + exit_codes() + kFiles;
}

// The hidden command `man`: prints the page, for the installation.
int run_man(const Args&, Context& context) {
  *context.out << manual_page();
  return 0;
}

}  // namespace plumbline
