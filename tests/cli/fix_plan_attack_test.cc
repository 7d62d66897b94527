// Attacks on the plan of `doctor --fix-plan`: real diagnoses with hostile words in their evidence,
// whose plans are then executed, every host's section of them, where each command that a shell
// could find only writes down that it was called. Nothing foreign is ever executed, no file
// appears, and one hostile host has no word in the commands of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "core/diagnosis/remedy.h"
#include "core/json.h"
#include "core/shell_words.h"
#include "probes/probe.h"
#include "reports/doctor.h"
#include "tests/cli/fix_plan_samples.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using AnyJson = nlohmann::json;
using Random = std::mt19937_64;

// The programs that a remedy may call, and those that only an attack would. Whatever is in neither
// list is not found, and the shell says so.
const std::set<std::string> kOurs = {"ip",           "bridge",    "tc",
                                     "nft",          "iptables",  "iptables-legacy",
                                     "ebtables",     "arptables", "ethtool",
                                     "ip6tables",    "sysctl",    "iptables-nft",
                                     "kill",         "ufw",       "ifconfig",
                                     "firewall-cmd", "route",     "ip6tables-legacy",
                                     "arp",          "ndp",       "sntp",
                                     "timedatectl",  "pfctl",     "ip6tables-nft",
                                     "sh",           "sed",       "socketfilterfw"};
const std::set<std::string> kForeign = {"touch", "rm", "sudo", "reboot", "cat", "id", "x"};

const std::vector<std::string>& hostile_words() {
  static const std::vector<std::string> kWords = {"\ntouch owned\n",
                                                  "\nip link set owned down; touch owned\n",
                                                  "\nsudo touch owned #",
                                                  ";touch owned",
                                                  "a;touch${IFS}owned",
                                                  "a;>owned",
                                                  "$(touch owned)",
                                                  "`touch owned`",
                                                  "'; touch owned; '",
                                                  "\"; touch owned; \"",
                                                  "'\\''; touch owned; '\\''",
                                                  "|touch owned",
                                                  "&& touch owned",
                                                  "\n;;\n('mini1')\ntouch owned\n;;\n",
                                                  "\n;;\nesac\ntouch owned\n",
                                                  ")\ntouch owned\n(",
                                                  "owned; flush ruleset",
                                                  "owned } accept; add rule inet t c",
                                                  "owned/e touch owned",
                                                  "\x1b[2J\x1b]0;owned\x07",
                                                  "\xc2\x9b\x33\x31mowned",
                                                  "\xe2\x80\xae\x64\x65nwo",
                                                  "-h",
                                                  "--help",
                                                  "-rf /",
                                                  "-owned",
                                                  "../../../owned",
                                                  "*",
                                                  "~",
                                                  "#",
                                                  "!",
                                                  "\\",
                                                  "{",
                                                  " ",
                                                  "a\rb",
                                                  "up",
                                                  "dev",
                                                  "all",
                                                  "default",
                                                  "127.0.0.1",
                                                  "0.0.0.0/0",
                                                  "mini1",
                                                  "mini3",
                                                  "eth0",
                                                  "PID 1 (plumbline)",
                                                  "PID -1 (python3)",
                                                  std::string("a\0b", 3),
                                                  std::string(20'000, 'A')};
  return kWords;
}

// Every string below, and every object whose keys are free.
void find_words(AnyJson& json, std::vector<AnyJson*>& words, std::vector<AnyJson*>& maps) {
  if (json.is_string()) words.push_back(&json);
  if (json.is_object() || json.is_array()) {
    for (auto& [key, value] : json.items()) {
      find_words(value, words, maps);
      if (key == "sysctls" || key == "config" || key == "apart") maps.push_back(&value);
    }
  }
}

std::string pick(const std::vector<std::string>& list, Random& random) {
  return list[random() % list.size()];
}

// Some of these words become hostile, or all.
void spoil(const std::vector<AnyJson*>& parts, Random& random) {
  std::vector<AnyJson*> words, maps;
  for (AnyJson* part : parts) find_words(*part, words, maps);
  if (words.empty()) return;
  const std::string evil = pick(hostile_words(), random);
  const auto replace = [&](AnyJson& word, const std::string& with) {
    const auto before = word.get<std::string>();
    const std::string ways[] = {with, before + with, with + before};
    word = ways[random() % 3];
  };
  if (random() % 8 == 0) {
    for (AnyJson* word : words) replace(*word, evil);
  }
  for (size_t i = 1 + random() % 6; i > 0; --i) {
    replace(*words[random() % words.size()], pick(hostile_words(), random));
  }
  if (!maps.empty() && random() % 4 == 0) {
    AnyJson& map = *maps[random() % maps.size()];
    if (map.is_object()) map[evil] = evil;
  }
}

// What one host can say: its own facts, what it met as a caller, and who holds its ports.
void spoil_one_host(AnyJson& json, const std::string& name, Random& random) {
  AnyJson whole = json;
  std::vector<AnyJson*> parts;
  for (AnyJson& host : whole["hosts"]) {
    if (host["name"] == name) parts.push_back(&host);
  }
  for (AnyJson& pair : whole["pairs"]) {
    if (pair["from"] == name) parts.push_back(&pair);
    for (AnyJson& attempt : pair["ports"]) {
      if (pair["to"] != name) continue;
      for (const char* key : {"listener", "listener_error", "holder", "role"}) {
        parts.push_back(&attempt[key]);
      }
    }
  }
  spoil(parts, random);
  // What the coordinator or the other end says stays.
  for (size_t i = 0; i < whole["hosts"].size(); ++i) {
    for (const char* key : {"name", "source"}) whole["hosts"][i][key] = json["hosts"][i][key];
  }
  for (size_t i = 0; i < whole["pairs"].size(); ++i) {
    AnyJson &pair = whole["pairs"][i], &before = json["pairs"][i];
    for (const char* key : {"from", "to", "from_ip", "to_ip", "skipped"}) pair[key] = before[key];
    for (size_t k = 0; before["from"] == name && k < pair["ports"].size(); ++k) {
      for (const char* key : {"listener", "listener_error", "holder", "role", "there"}) {
        pair["ports"][k][key] = before["ports"][k][key];
      }
    }
  }
  json = std::move(whole);
}

struct Case {
  std::string name;
  DoctorReport report;
  std::string hostile;  // the one host that lies; empty: anybody
};

Case case_of(const std::string& name, const AnyJson& json, const std::string& hostile) {
  const ProbeResult result = judge_evidence(json.get<EvidenceSet>());
  Case out{name, {}, hostile};
  for (const JobHost& host : result.evidence.job.hosts) out.report.hosts.push_back(host.name);
  out.report.checks = result.checks;
  out.report.findings = result.findings;
  return out;
}

// Executes plans where nothing can be found but programs that write down their words.
class Recorder {
 public:
  Recorder() {
    namespace fs = std::filesystem;
    for (const char* folder : {"bin", "here"}) fs::create_directory(folder_.path(folder));
    const std::string record =
        "#!/bin/sh\nline=${0##*/}\nfor word; do line=\"$line|$word\"; done\n"
        "printf '%s\\n' \"$line\" >>\"$RECORD\"\n";
    for (const std::set<std::string>* list : {&kOurs, &kForeign}) {
      for (const std::string& name : *list) add(name, record);
    }
    add("sh", record + "exec /bin/sh \"$@\"\n");
    add("killed",
        "#!/bin/sh\nline=kill\nfor word; do line=\"$line|$word\"; done\n"
        "printf '%s\\n' \"$line\" >>\"$RECORD\"\n");
  }

  // What each section of each case did, by number of the case and of the host.
  struct Done {
    std::vector<std::string> commands;  // "ip|link|set|dev|eth1|up"
    std::string said;                   // standard output and error
  };
  std::map<std::pair<size_t, size_t>, Done> run(const std::vector<Case>& cases) {
    std::string driver = "cd " + shell_quoted(folder_.path("here")) + "\n";
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::string plan = folder_.write("plan." + std::to_string(i), text_of(cases[i]));
      for (size_t k = 0; k < cases[i].report.hosts.size(); ++k) {
        const std::string mark = folder_.path(std::to_string(i) + "." + std::to_string(k));
        driver += "RECORD=" + mark + ".did; export RECORD\n/bin/sh " + plan + " " +
                  shell_quoted(cases[i].report.hosts[k]) + " >" + mark + ".said 2>&1\n";
      }
    }
    const Finished done = run_program({"/usr/bin/env", "-i", "PATH=" + folder_.path("bin"),
                                       "/bin/sh", folder_.write("driver", driver)});
    EXPECT_EQ(done.out + done.err, "");
    std::map<std::pair<size_t, size_t>, Done> out;
    for (size_t i = 0; i < cases.size(); ++i) {
      for (size_t k = 0; k < cases[i].report.hosts.size(); ++k) {
        const std::string mark = folder_.path(std::to_string(i) + "." + std::to_string(k));
        Done& one = out[{i, k}];
        one.said = read_file(mark + ".said");
        std::istringstream lines(read_file(mark + ".did"));
        for (std::string line; std::getline(lines, line);) one.commands.push_back(line);
        std::filesystem::remove(mark + ".did");
      }
    }
    return out;
  }

  std::vector<std::string> files_that_appeared() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path("here"))) {
      out.push_back(entry.path().filename().string());
    }
    return out;
  }
  std::string hosts_file() const { return read_file(folder_.path("hosts")); }

 private:
  void add(const std::string& name, const std::string& text) {
    std::filesystem::permissions(folder_.write("bin/" + name, text),
                                 std::filesystem::perms::owner_all);
  }

  // The plan with a file of names of its own, and without the shell's own kill.
  std::string text_of(const Case& each) const {
    std::string text = doctor_fix_plan(each.report);
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
      }
    };
    replace("/etc/hosts", folder_.path("hosts"));
    replace("/usr/libexec/ApplicationFirewall/", "");
    return "kill() { killed \"$@\"; }\n" + text;
  }

  ScratchFolder folder_;
};

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::istringstream in(command);
  for (std::string word; std::getline(in, word, '|');) words.push_back(word);
  return words;
}

bool fits_a_slot(const std::string& word) {
  for (int kind = 0; kind <= static_cast<int>(Slot::kMatchValue); ++kind) {
    if (fits(static_cast<Slot>(kind), word)) return true;
  }
  return false;
}

// The command without the values in it: what it does, not to whom.
std::string shape_of(const std::string& command) {
  std::string out;
  for (const std::string& word : words_of(command)) {
    const bool literal = word.find_first_of("0123456789") == word.npos && word.size() < 12;
    out += literal ? word + " " : "_ ";
  }
  return out;
}

class PlanAttack : public testing::Test {
 protected:
  static size_t rounds(size_t usual, size_t all) {
    return std::getenv("TEST_EXHAUSTIVE") != nullptr ? all : usual;
  }

  void SetUp() override {
    samples_ = test::plan_samples();
    std::vector<Case> sound;
    for (const test::PlanSample& sample : samples_) {
      sound.push_back(case_of(sample.name, sample.evidence, ""));
    }
    for (const auto& [where, done] : recorder_.run(sound)) {
      const std::string host = sound[where.first].report.hosts[where.second];
      for (const std::string& command : done.commands) {
        usual_[sound[where.first].name + " " + host].insert(shape_of(command));
        programs_.insert(command.substr(0, command.find('|')));
      }
    }
  }

  // Runs the plans of all cases, and looks at what they did.
  void attack(const std::vector<Case>& cases) {
    const auto done = recorder_.run(cases);
    EXPECT_THAT(recorder_.files_that_appeared(), testing::IsEmpty());
    for (const auto& [where, section] : done) {
      const Case& each = cases[where.first];
      const std::string about = each.name + ", section of host " + std::to_string(where.second) +
                                "\n" + doctor_fix_plan(each.report).substr(0, 6000);
      EXPECT_EQ(section.said.find("not found"), std::string::npos) << about << section.said;
      EXPECT_EQ(section.said.find("yntax error"), std::string::npos) << about << section.said;
      for (const std::string& command : section.commands) {
        EXPECT_EQ(kOurs.count(command.substr(0, command.find('|'))), 1u) << command << about;
      }
      if (each.hostile.empty() || each.report.hosts[where.second] == each.hostile) continue;
      bystander(each, each.report.hosts[where.second], section.commands, about);
    }
  }

  // A host that is honest beside one that lies.
  void bystander(const Case& each, const std::string& host,
                 const std::vector<std::string>& commands, const std::string& about) {
    for (const std::string& command : commands) {
      for (const std::string& word : words_of(command)) {
        const bool typed = word.find("owned") == word.npos || fits_a_slot(word);
        EXPECT_TRUE(typed) << command << about;
      }
      const std::string shape = shape_of(command);
      if (usual_[each.name + " " + host].count(shape) == 0) others_[shape] = each.name;
    }
  }

  std::vector<test::PlanSample> samples_;
  Recorder recorder_;
  std::map<std::string, std::set<std::string>> usual_;  // by sample and host: shapes of commands
  std::map<std::string, std::string> others_;           // shapes that a lie brought about: where
  std::set<std::string> programs_;
};

TEST_F(PlanAttack, TheSamplesCallWhatRemediesCall) {
  for (const char* name : {"ip", "sysctl", "nft", "iptables", "kill", "bridge", "tc", "sh", "sed",
                           "ufw", "firewall-cmd", "ebtables", "ethtool", "timedatectl", "ifconfig",
                           "pfctl", "socketfilterfw"}) {
    EXPECT_EQ(programs_.count(name), 1u) << name << ": no sample needs it";
  }
  EXPECT_THAT(recorder_.hosts_file(), testing::HasSubstr("10.10.0.2 mini2.local\n"));
}

TEST_F(PlanAttack, NothingForeignIsExecuted) {
  constexpr size_t kBatch = 200;
  const size_t all = rounds(300, 10'000);
  for (size_t seed = 0; seed < all;) {
    std::vector<Case> cases;
    for (; cases.size() < kBatch && seed < all; ++seed) {
      Random random(seed);
      const test::PlanSample& sample = samples_[seed % samples_.size()];
      AnyJson json = sample.evidence;
      AnyJson& part = random() % 4 == 0 ? json : random() % 2 == 0 ? json["hosts"] : json["pairs"];
      spoil({&part}, random);
      cases.push_back(case_of(sample.name, json, ""));
    }
    attack(cases);
    if (HasFailure()) return;
  }
}

TEST_F(PlanAttack, OneHostileHostHasNoWordInTheCommandsOfOthers) {
  constexpr size_t kBatch = 200;
  const size_t all = rounds(300, 10'000);
  for (size_t seed = 0; seed < all;) {
    std::vector<Case> cases;
    for (; cases.size() < kBatch && seed < all; ++seed) {
      Random random(seed + 1'000'000);
      const test::PlanSample& sample = samples_[seed % samples_.size()];
      AnyJson json = sample.evidence;
      const std::string hostile =
          sample.evidence.hosts[random() % sample.evidence.hosts.size()].name;
      spoil_one_host(json, hostile, random);
      cases.push_back(case_of(sample.name, json, hostile));
    }
    attack(cases);
    if (HasFailure()) return;
  }
  EXPECT_THAT(others_, testing::IsEmpty()) << "commands of other kinds than without the lie";
}

}  // namespace
}  // namespace plumbline
