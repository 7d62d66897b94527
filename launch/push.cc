#include "launch/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/encode.h"
#include "core/file.h"
#include "core/shell_words.h"
#include "launch/mach_o.h"

namespace plumbline {
namespace {

constexpr std::string_view kSpoken = "plumbline-push ";

// The scripts, piece by piece, each one line: a csh ends a quoted word at a line's end, and takes a
// `!` for a question to its history.
//
// say WORD PRESENT TEXT...; the folder of the copies; the SHA-256 of a file; whether a folder is
// ours alone to write (`ls -ldn`: mode, links, user); whether nobody else can replace what lies in
// the folders from there up to /, as core/file.h has it. $d is then the one at fault.
constexpr const char* kCommon =
    "set -f; umask 077; "
    "say() { printf \"plumbline-push %s\\n\" \"$*\"; }; "
    "case ${XDG_CACHE_HOME-} in /*) base=$XDG_CACHE_HOME;; *) base=${HOME-}/.cache;; esac; "
    "case $base in *[[:cntrl:]]*|/.cache) base=;; /*) ;; *) base=;; esac; "
    "[ -n \"$base\" ] || { say home \"$present\" \"${HOME-}\"; exit 0; }; "
    "base=$base/plumbline; "
    "sum() { if command -v sha256sum >/dev/null; then sha256sum <\"$1\"; "
    "elif command -v shasum >/dev/null; then shasum -a 256 <\"$1\"; "
    "elif command -v openssl >/dev/null; then openssl dgst -sha256 -r <\"$1\"; else echo none; fi; "
    "}; "
    "good() { got=$(sum \"$1\") && [ \"${got%% *}\" = \"$hash\" ]; }; "
    "ours() { row=$(ls -ldn \"$1/.\") || return 1; set -- $row; "
    "case $1 in d????"
    "-??"
    "-*) [ \"$3\" = \"$(id -u)\" ];; *) return 1;; esac; }; "
    "above() { d=$1; while :; do row=$(ls -ldn \"$d/.\") || return 1; set -- $row; "
    "case $3 in 0|$(id -u)) ;; *) return 1;; esac; "
    "case $1 in d????"
    "-??"
    "-*|d????????[tT]*) ;; *) return 1;; esac; "
    "case $d in /|\"\") return 0;; esac; d=${d%/*}; done; }; "
    "safe() { above \"$base\" && above \"$(cd \"$base\" && pwd -P)\"; }; ";

// Arguments: accept_own build program ["system machine=hash"...].
constexpr const char* kLook =
    "accept=$1; build=$2; program=$3; shift 3; present=no; hash=; "
    "if said=$(\"$program\" version 2>/dev/null </dev/null); then present=yes; fi; "
    "if [ $accept$present = yesyes ] && printf \"%s\\n\" \"$said\" | grep -qxF \"build $build\"; "
    "then printf \"plumbline-push own yes\\n\"; exit 0; fi; "
    "platform=\"$(uname -s) $(uname -m)\"; "
    "for pair; do case $pair in \"$platform\"=*) hash=${pair#*=};; esac; done; "
    "[ -n \"$hash\" ] || { printf \"plumbline-push platform %s %s\\n\" $present \"$platform\"; "
    "exit 0; }; ";
constexpr const char* kLookFor =
    "file=$base/$hash/plumbline; "
    "if [ -f \"$file\" ] && [ -x \"$file\" ] && ours \"$base\" && ours \"$base/$hash\" && "
    "safe && good \"$file\"; then touch \"$base/$hash\"; say there $present \"$file\"; "
    "else say send $present \"$platform\"; fi";

// Arguments: hash bytes build id. Copies beyond the newest five are removed: a folder's time is
// that of its last use. Where the network dies in the middle, nothing but `timeout` ends the
// waiting.
constexpr const char* kSend = "hash=$1; bytes=$2; build=$3; id=$4; present=no; ";
constexpr const char* kReceive =
    "folder=$base/$hash; file=$folder/plumbline; temporary=$folder/.sending-$id; "
    "trap \"exit 1\" 1 2 13 15; "
    "clean() { rm -f \"$temporary\"; rmdir \"$folder\" 2>/dev/null; }; trap clean 0; "
    "failed() { say \"$1\" no \"$2\"; exit 0; }; "
    "case $(sum /dev/null) in none*) failed tool \"\";; esac; "
    "said=$(mkdir -p \"$folder\" 2>&1) || failed folder \"$said\"; "
    "ours \"$base\" && ours \"$folder\" || failed owner \"$base\"; "
    "safe || failed above \"$d\"; "
    "limit=; if command -v timeout >/dev/null; then limit=\"timeout 300\"; fi; "
    "said=$({ $limit cat >\"$temporary\"; } 2>&1) || failed write \"$said\"; "
    "good \"$temporary\" || failed sum \"$(wc -c <\"$temporary\") of $bytes bytes came\"; "
    "said=$(chmod 700 \"$temporary\" 2>&1) || failed write \"$said\"; "
    "said=$(\"$temporary\" version 2>&1 </dev/null) || failed run \"$said\"; "
    "printf \"%s\\n\" \"$said\" | grep -qxF \"build $build\" || failed run \"$said\"; "
    "said=$(mv -f \"$temporary\" \"$file\" 2>&1) || failed write \"$said\"; "
    "touch \"$folder\"; "
    "(cd \"$base\" && ls -1t | grep -xE \"[0-9a-f]{64}\" | tail -n +6 | "
    "while read -r old; do rm -rf \"$old\"; done); "
    "say there no \"$file\"";

struct PushFailureRow {
  const char *word, *what, *hint;  // {0} host, {1} what was said, {2} the same as a shell's word
};
constexpr PushFailureRow kFailures[] = {
    {"platform", "{0} runs {1}, and there is no plumbline to copy to that",
     "build plumbline there and name it with \"binary\" in the host file"},
    {"home", "{0} has no folder to copy plumbline to: HOME is '{1}'",
     "set HOME or XDG_CACHE_HOME there, or copy plumbline by hand and name it with \"binary\""},
    {"tool", "{0} has none of sha256sum, shasum and openssl, so that no copy can be checked",
     "copy plumbline there by hand and name it with \"binary\" in the host file"},
    {"folder", "{0} cannot make a folder for plumbline: {1}",
     "make the home folder writable, or set XDG_CACHE_HOME there"},
    {"owner", "on {0} others may write to {1}, so that nothing is started from it",
     "there: chmod 700 {2}, and chown it to the user where it is somebody else's"},
    {"above", "on {0} others may write to {1} and so replace the plumbline that lies below it",
     "there: chmod go-w {2}, and chown it to the user where it is somebody else's"},
    {"write", "{0} cannot store plumbline: {1}",
     "make room there, or set XDG_CACHE_HOME to a disk with room"},
    {"sum", "the copy of plumbline on {0} is not what was sent: {1}",
     "try again; if it stays so, the disk or the memory there is broken"},
    {"run", "the copy of plumbline does not start on {0}: {1}",
     "is that disk mounted noexec? set XDG_CACHE_HOME there to one that is not; is the system "
     "older "
     "than docs/clusters.md says?"},
};

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = 256u << 20;

// Whether a program header asks for a loader (PT_INTERP), see elf(5). Offsets of the 64-bit form.
bool wants_loader(std::string_view content) {
  constexpr uint64_t kTableOffset = 32, kEntrySize = 54, kEntries = 56, kInterpreter = 3;
  const uint64_t table = number_at(content, kTableOffset, 8);
  const uint64_t size = number_at(content, kEntrySize, 2);
  const uint64_t entries = number_at(content, kEntries, 2);
  for (uint64_t i = 0; i < entries && table < content.size(); ++i) {
    if (number_at(content, table + i * size, 4) == kInterpreter) return true;
  }
  return false;
}

std::string why_not_static_elf(std::string_view content, const StaticMachine& machine) {
  constexpr uint64_t kClass = 4, kOrder = 5, kMachine = 18;
  const bool elf = content.substr(0, 4) ==
                   "\x7f"
                   "ELF";
  if (!elf || number_at(content, kClass, 1) != 2 || number_at(content, kOrder, 1) != 1 ||
      number_at(content, kMachine, 2) != machine.elf_machine) {
    return std::string("no program for Linux on ") + machine.name;
  }
  if (wants_loader(content)) return "not static: it needs a loader and shared libraries";
  return {};
}

std::string why_not_mach_o(std::string_view content, const StaticMachine& /*machine*/) {
  return why_not_mac_program(content);
}

// Empty when it cannot be read, with the reason.
std::string read_whole(const std::string& path, std::string& why) {
  const Expected<std::string> content = read_input_file(path, kMostBytes);
  if (!content) {
    why = content.error().message();
    return {};
  }
  if (content->empty()) why = "empty";
  return *content;
}

}  // namespace

std::vector<std::string> push_look_words(const PushQuestion& question) {
  std::vector<std::string> words = {"sh",
                                    "-c",
                                    std::string(kLook) + kCommon + kLookFor,
                                    "plumbline-push",
                                    question.accept_own ? "yes" : "no",
                                    question.build,
                                    question.program};
  for (const auto& [platform, hash] : question.hashes) words.push_back(platform + "=" + hash);
  return words;
}

std::vector<std::string> push_send_words(const PushShipment& shipment) {
  return {"sh",
          "-c",
          std::string(kSend) + kCommon + kReceive,
          "plumbline-push",
          shipment.sha256,
          std::to_string(shipment.bytes),
          shipment.build,
          shipment.id};
}

PushAnswer read_push_answer(const std::string& output) {
  PushAnswer answer;
  size_t at = output.find(kSpoken);
  while (at != std::string::npos && at != 0 && output[at - 1] != '\n') {
    at = output.find(kSpoken, at + 1);
  }
  if (at == std::string::npos) return answer;
  std::string_view rest = std::string_view(output).substr(at + kSpoken.size());
  const auto next = [&rest] {
    const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::string word(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return word;
  };
  answer.word = next();
  answer.present = next() == "yes";
  answer.text = rest;
  while (!answer.text.empty() && answer.text.back() == '\n') answer.text.pop_back();
  const bool path = answer.text.rfind('/', 0) == 0 && answer.text.find('\n') == std::string::npos;
  if (answer.word == "there" && !path) answer.word.clear();
  return answer;
}

Error push_failure(const std::string& host, const PushAnswer& answer) {
  constexpr size_t kMostWords = 300;  // of what was said there
  for (const PushFailureRow& row : kFailures) {
    if (answer.word != row.word) continue;
    const std::string said = answer.text.substr(0, kMostWords);
    return Error{ErrorCode::kUnsupported, fmt::format(fmt::runtime(row.what), host, said), 0,
                 fmt::format(fmt::runtime(row.hint), host, said, shell_word(said)),
                 "ssh.no_binary"};
  }
  return Error{ErrorCode::kProtocol,
               host + " does not answer as a POSIX shell does when it is asked for plumbline", 0,
               "is sh there?", "ssh.no_binary"};
}

const std::vector<StaticMachine>& static_machines() {
  static const std::vector<StaticMachine> table = {
      {"Linux", "x86_64", "plumbline-linux-x86_64", "scripts/static_binary.sh x86_64",
       "build-static", 62, why_not_static_elf},
      {"Linux", "aarch64", "plumbline-linux-aarch64", "scripts/static_binary.sh aarch64",
       "build-static", 183, why_not_static_elf},
      {"Darwin", "arm64", "plumbline-darwin-arm64", "scripts/cross_macos.sh --ship",
       "build-macos-ship", 0, why_not_mach_o},
  };
  return table;
}

std::string platform_of(const StaticMachine& machine) {
  return std::string(machine.system) + " " + machine.name;
}

std::vector<std::string> static_places(const std::string& program, const std::string& folder,
                                       const StaticMachine& machine) {
  if (!folder.empty()) return {(fs::path(folder) / machine.file).string()};
  const fs::path beside = fs::path(program).parent_path();
  return {(beside / machine.file).string(),
          (beside.parent_path() / machine.folder / machine.file).string(), program};
}

std::string why_not_static(std::string_view content, const StaticMachine& machine,
                           const std::string& build) {
  std::string why = machine.why_not(content, machine);
  if (!why.empty()) return why;
  if (content.find(PLUMBLINE_BUILD_MARK + build + ";") == std::string_view::npos) {
    return "not of the build " + build;
  }
  return {};
}

Expected<StaticBinary> find_static_binary(const std::vector<std::string>& places,
                                          const StaticMachine& machine, const std::string& build) {
  std::string looked;
  for (const std::string& path : places) {
    std::string why;
    std::string content = read_whole(path, why);
    if (why.empty()) why = why_not_static(content, machine, build);
    if (why.empty()) {
      return StaticBinary{path, to_hex(sha256(content)), std::move(content)};
    }
    looked += (looked.empty() ? "" : ", ") + path + " (" + why + ")";
  }
  return fail(
      ErrorCode::kConfig,
      "there is no plumbline to copy to " + platform_of(machine) + ": " + looked,
      std::string("build it with ") + machine.builder + ", or say with --static-dir where it lies");
}

}  // namespace plumbline
