// What stands in the archive of a diagnosis (doctor --bundle), made of evidence that was built
// here.
#include "cli/diagnosis_archive.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>

#include "core/json.h"
#include "probes/cables.h"
#include "tests/probes/evidence_builder.h"
#include "tests/support/paper_macs.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using AnyJson = nlohmann::json;

struct Archive {
  std::string evidence, doctor, text;  // files of it
};

Archive archive_of(const EvidenceSet& evidence) {
  const ScratchFolder folder;
  const std::string file = folder.path("bundle.tar.gz");
  const Status written = write_diagnosis_archive(file, judge_evidence(evidence));
  EXPECT_TRUE(written) << (written ? "" : written.error().message());
  EXPECT_EQ(run_program({"tar", "-C", folder.path(), "-xzf", file}).status, 0);
  const auto read = [&](const char* name) {
    return read_file(folder.path(std::string("plumbline-bundle/") + name));
  };
  return {read("evidence.json"), read("doctor.json"), read("doctor.txt")};
}

EvidenceSet renamed(const EvidenceSet& set, const std::map<std::string, std::string>& names) {
  AnyJson json = AnyJson::parse(evidence_text(set));
  const std::function<void(AnyJson&)> rename = [&](AnyJson& value) {
    if (value.is_string() && names.count(value) > 0) value = names.at(value);
    if (value.is_structured()) {
      for (AnyJson& child : value) rename(child);
    }
  };
  rename(json);
  return parse_evidence(json.dump()).value();
}

// All texts in the values of a document.
std::vector<std::string> texts_in(const AnyJson& json) {
  std::vector<std::string> out;
  const AnyJson flat = json.flatten();
  for (const AnyJson& value : flat) {
    if (value.is_string()) out.push_back(value);
  }
  return out;
}

std::vector<std::string> causes(const ProbeResult& result) {
  std::vector<std::string> out;
  for (const Finding& finding : result.findings) out.push_back(finding.cause);
  return out;
}

TEST(DiagnosisArchive, AHostWithOneLetterIsNoLongerCalledSo) {
  EvidenceSet set = test::healthy_star(3);
  test::nic(set, "mini2", "eth1").up = false;
  test::silence(set, "mini1", "mini2");
  // The last one has the name that the first would get.
  set = renamed(set, {{"mini1", "a"}, {"mini2", "b"}, {"mini3", "host2"}});
  const Archive archive = archive_of(set);
  const AnyJson evidence = AnyJson::parse(archive.evidence),
                doctor = AnyJson::parse(archive.doctor);
  for (const AnyJson& json : {evidence, doctor}) {
    const std::vector<std::string> texts = texts_in(json);
    EXPECT_THAT(texts, Not(Contains("a")));
    EXPECT_THAT(texts, Not(Contains("b")));
    for (const std::string& text : texts) {
      for (const char* key : {"/a>", "/b>", ">a", ">b", "/a:", "/b:", "/a#", "/b#"}) {
        EXPECT_THAT(text, Not(HasSubstr(key)));
      }
      EXPECT_FALSE(text.size() > 2 && text[text.size() - 2] == '/' && text.back() <= 'b' &&
                   text.back() >= 'a')
          << text;  // "link/a"
    }
  }
  std::set<std::string> hosts;
  for (const AnyJson& host : evidence["job"]["hosts"]) hosts.insert(host["name"]);
  EXPECT_EQ(hosts.size(), 3u) << "three hosts, three names";
  for (const AnyJson& pair : evidence["pairs"]) {
    EXPECT_EQ(hosts.count(pair["from"]), 1u) << pair["from"];
    EXPECT_EQ(hosts.count(pair["to"]), 1u) << pair["to"];
  }
  ASSERT_FALSE(doctor["findings"].empty());
  for (const AnyJson& finding : doctor["findings"]) EXPECT_EQ(hosts.count(finding["host"]), 1u);
  // It can still be repeated.
  const auto again = parse_evidence(archive.evidence);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(causes(judge_evidence(*again)), causes(judge_evidence(set)));
}

// The ends of Thunderbolt cables are known by UUIDs: as ordinals the cables can still be followed.
TEST(DiagnosisArchive, UuidsAreOrdinalsThatStillFit) {
  test::PaperCluster cluster = test::paper_mesh(3);
  cluster.macs[2].socket(1).domain = "made-up-by-a-host";
  cluster.macs[0].socket(2).peer = "made-up-by-a-host";
  const EvidenceSet set = cluster.evidence();
  const Archive archive = archive_of(set);
  for (const std::string* text : {&archive.evidence, &archive.doctor, &archive.text}) {
    EXPECT_THAT(*text, Not(HasSubstr("-4000-8000-")));
    EXPECT_THAT(*text, Not(HasSubstr("made-up-by-a-host")));
  }
  const auto fresh = parse_evidence(archive.evidence);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(find_cables(*fresh).cables.size(), 3u);
}

// A model's folder begins with its owner's home, and its files are called as the model is.
TEST(DiagnosisArchive, ModelsAndInterpretersHaveNoNameAnyMore) {
  EvidenceSet set = test::healthy_star(3);
  for (HostEvidence& host : set.hosts) {
    SoftwareEvidence& software = host.software.emplace();
    software.python = "/Volumes/anna/.venv/bin/python3";
    software.versions = {{"python", "3.12.1"}, {"mlx", "0.31.0"}};
    software.python_error = "/Volumes/anna/.venv is locked";
    software.versions["acme-secrets"] = "1.0";
    host.unreadable = {"artifact: '~/models/secret-9b' is slow"};
    ArtifactEvidence& artifact = host.artifacts.emplace_back();
    artifact.path = "~/models/secret-9b";
    artifact.folder = "/Volumes/anna/models/secret-9b";
    artifact.found = true;
    artifact.listed = true;
    artifact.files = {{"anna.d/secret-9b", 7, "cafe1234"},
                      {"secret-9b.safetensors", 700, "cafe5678"}};
  }
  set.hosts[1].software->versions["mlx"] = "0.30.0";
  set.hosts[1].software->versions["acme-secrets"] = "0.9";
  set.job.packages = {"acme-secrets"};
  set.hosts[2].artifacts[0].files[1].bytes = 600;
  set.hosts[2].artifacts[0].missing = {"secret-9b-2.safetensors"};
  for (JobHost& host : set.job.hosts) host.ssh = "-p 22 -l anna " + host.name;
  const Archive archive = archive_of(set);
  for (const std::string* text : {&archive.evidence, &archive.doctor, &archive.text}) {
    EXPECT_THAT(*text, Not(HasSubstr("anna")));
    EXPECT_THAT(*text, Not(HasSubstr("secret")));
    EXPECT_THAT(*text, Not(HasSubstr("cafe")));
  }
  EXPECT_THAT(archive.doctor, HasSubstr("/artifact1"));
  EXPECT_THAT(archive.doctor, HasSubstr("rsync"));
  EXPECT_THAT(archive.doctor, HasSubstr(".safetensors is 600 bytes long"));
  const auto again = parse_evidence(archive.evidence);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(causes(judge_evidence(*again)), causes(judge_evidence(set)));
}

TEST(DiagnosisArchive, ALetterThatIsNoHostIsLeftAlone) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[0].interfaces[0].state = "a";
  set.hosts[0].commands = {{"a", "echo a b", 0, "a b\n", ""}};
  const AnyJson evidence = AnyJson::parse(archive_of(renamed(set, {{"mini1", "a"}})).evidence);
  EXPECT_EQ(evidence["hosts"][0]["interfaces"][0]["state"], "a");
  EXPECT_EQ(evidence["hosts"][0]["commands"][0]["out"], "a b\n");
}

FilterRule rule_in(const std::string& chain) {
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "inet";
  rule.table = "filter";
  rule.chain = chain;
  rule.action = "drop";
  rule.matches = {{"protocol", false, {"tcp"}}, {"dport", false, {"29600"}}};
  rule.text = "tcp dport 29600 jump " + chain;
  return rule;
}

TEST(DiagnosisArchive, AChainIsNoLongerCalledWhatItsOwnerCalledIt) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[0].filters = {rule_in("acme-payroll"), rule_in("dropped")};
  const std::string text = archive_of(set).evidence;
  EXPECT_THAT(text, Not(HasSubstr("acme-payroll")));
  EXPECT_THAT(text, Not(HasSubstr("dropped")));
  EXPECT_THAT(text, HasSubstr("jump chain1"));
}

// What else runs on a machine is nobody's business.
TEST(DiagnosisArchive, HoldsNoNameOfAProcess) {
  EvidenceSet set = test::healthy_star(3);
  const std::vector<std::string> names = {"acme-payroll", "Web Content",  "python3.11",
                                          "sshd",         "tmux: server", "(sd-pam)"};
  int port = 29600;
  for (const std::string& name : names) {
    SocketEvidence socket;
    socket.protocol = "tcp";
    socket.ip = "0.0.0.0";
    socket.port = port++;
    socket.state = "LISTEN";
    socket.pid = 4000 + port;
    socket.process = name;
    set.hosts[1].sockets.push_back(socket);
  }
  size_t next = 0;
  for (PairEvidence& pair : set.pairs) {
    for (PortTry& attempt : pair.ports) {
      attempt.listener = "in_use";
      attempt.holder = "PID 4711 (" + names[next++ % names.size()] + ")";
    }
  }
  set.hosts[0].unreadable = {"nftables: acme-payroll holds the lock"};
  set.hosts[0].commands = {{"x", "ps", 0, "4711 acme-payroll\n4712 plumbline\n", ""}};
  const Archive archive = archive_of(set);
  for (const std::string& text : {archive.evidence, archive.doctor, archive.text}) {
    for (const std::string& name : names) EXPECT_THAT(text, Not(HasSubstr(name)));
  }
  EXPECT_THAT(archive.doctor, HasSubstr("PID 4711 (process"));
  EXPECT_THAT(archive.evidence, HasSubstr("4712 plumbline"));
  // The diagnosis stays the same.
  const auto again = parse_evidence(archive.evidence);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(causes(judge_evidence(*again)), causes(judge_evidence(set)));
}

// Who started the agent of a Mac is a name like others, but for those that every Mac has.
TEST(DiagnosisArchive, OfStartersOnlyTheUsualOnesKeepTheirNames) {
  EvidenceSet set = test::healthy_star(3);
  set.hosts[0].system = "macos";
  set.hosts[0].started_by = {"plumbline", "zsh", "acme-payroll", "iTerm.app", "launchd"};
  set.hosts[0].commands = {{"nc", "/usr/bin/nc -z -v -w 2 10.10.0.2 29500", 0, "", ""}};
  for (PortTry& attempt : test::pair(set, "mini1", "mini2").ports) {
    const int port = attempt.port;
    attempt = PortTry{};
    attempt.port = port;
    attempt.result = "unreachable";
    attempt.error = "EHOSTUNREACH";
  }
  const Archive archive = archive_of(set);
  for (const std::string& text : {archive.evidence, archive.doctor, archive.text}) {
    EXPECT_THAT(text, Not(HasSubstr("acme-payroll")));
  }
  const auto again = parse_evidence(archive.evidence);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_THAT(again->hosts[0].started_by,
              testing::ElementsAre("plumbline", "zsh", "process1", "iTerm.app", "launchd"));
  EXPECT_THAT(archive.doctor, HasSubstr("allow iTerm.app"));
  EXPECT_EQ(causes(judge_evidence(*again)), causes(judge_evidence(set)));
}

TEST(DiagnosisArchive, AChainNamedLikeAWordOfTheEvidenceTakesNoWordOutOfIt) {
  EvidenceSet set = test::healthy_star(2);
  // "drop" and "tcp" are what the rules say, "ports" and "connected" what the evidence says.
  set.hosts[0].filters = {rule_in("drop"), rule_in("tcp"), rule_in("ports"), rule_in("connected")};
  const AnyJson evidence = AnyJson::parse(archive_of(set).evidence);
  const AnyJson& filters = evidence["hosts"][0]["filters"];
  ASSERT_EQ(filters.size(), 4u);
  EXPECT_EQ(filters[0]["action"], "drop");
  EXPECT_EQ(filters[0]["matches"][0]["values"][0], "tcp");
  EXPECT_EQ(filters[0]["text"], "tcp dport 29600 jump drop");
  EXPECT_EQ(evidence["pairs"][0]["ports"][0]["result"], "connected");
}

// Models are called by the path of their folder, and a server's error may say anything.
TEST(DiagnosisArchive, WhatAServerSaidIsLeftOut) {
  EvidenceSet set = test::healthy_star(2);
  EndpointEvidence endpoint;
  endpoint.url = "http://secret-server.example:8080";
  endpoint.model = "/srv/lovelace/models/own.model";
  endpoint.models = {"/srv/lovelace/models/own.model", "/srv/lovelace/models/own.model.2"};
  EndpointTry models, chat;
  models.what = "models";
  models.end = "answered";
  chat.what = "chat";
  chat.end = "gone";
  chat.error = "POST secret-server.example:8080/v1/chat: /srv/lovelace/run.py: no worker";
  endpoint.tries = {models, chat};
  set.hosts[0].endpoints = {endpoint};
  const Archive archive = archive_of(set);
  for (const std::string& file : {archive.evidence, archive.doctor, archive.text}) {
    EXPECT_THAT(file, Not(HasSubstr("lovelace")));
    EXPECT_THAT(file, Not(HasSubstr("secret-server")));
    EXPECT_THAT(file, Not(HasSubstr("own.model")));
  }
  EXPECT_THAT(archive.doctor, HasSubstr("endpoint.stalled"));
  EXPECT_THAT(archive.evidence, HasSubstr("model1"));
}

}  // namespace
}  // namespace plumbline
