// What leaves the house: nothing that names anybody or anything.
#include "reports/publish/bundle_build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/options/options.h"
#include "core/record/record.h"
#include "reports/publish/bundle.h"
#include "reports/publish/bundle_verify.h"
#include "tests/reports/bundle_samples.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

using nlohmann::json;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string text_of(const std::vector<Record>& run, const BundleStatement& statement) {
  Redactor redactor;
  redactor.know_words({{"transport", {"auto", "tcp", "memory"}}});
  const auto built = build_bundle(run, statement, {"submit"}, redactor);
  EXPECT_TRUE(built) << built.error().message();
  return built ? bundle_text(*built->document) : "";
}

TEST(BundleBuild, NothingOfASeededRunIsPublished) {
  const std::string text = lower(text_of(samples::seeded_run(), samples::statement()));
  for (const std::string& word : samples::seeded_words()) {
    const size_t at = text.find(word);
    EXPECT_EQ(at, std::string::npos)
        << word << " in ..." << text.substr(at < 40 ? 0 : at - 40, 100);
  }
  const json content = json::parse(text)["content"];
  EXPECT_EQ(content["statement"]["cable"], "2 m copper between host1 and addr1, no switch");
  EXPECT_EQ(content["statement"]["notes"], "files in path1, mac mac1, addr2, addr3%eth0, host1");
  EXPECT_EQ(content["statement"]["hardware"][0], "mac mini of user1");
  EXPECT_EQ(content["scenario"]["name"], "own");
  EXPECT_EQ(content["environment"]["options"],
            json({{"chunk_bytes", "256ki"}, {"spin_us", "100"}}));
  EXPECT_EQ(content["rows"][0]["cell"]["params"], json({{"chunk_bytes", "512ki"}}));
}

// The check above can fail.
TEST(BundleBuild, TheSeedIsInTheRecords) {
  std::string text;
  for (const Record& record : samples::seeded_run()) text += to_line(record);
  text = lower(text);
  size_t found = 0;
  for (const std::string& word : samples::seeded_words())
    found += text.find(word) != std::string::npos;
  EXPECT_GE(found, samples::seeded_words().size() - 5);
}

TEST(BundleBuild, TheBundleIsSound) {
  const json document = samples::bundle();
  const BundleReport report =
      verify_bundle(bundle_text(document), document["id"].get<std::string>() + ".json");
  for (const BundleIssue& issue : report.problems)
    ADD_FAILURE() << issue.path << ": " << issue.text;
  for (const BundleIssue& issue : report.flags) ADD_FAILURE() << issue.path << ": " << issue.text;
  EXPECT_EQ(report.rows.size(), 6u);
  const json& content = document["content"];
  EXPECT_EQ(content["scenario"]["left_out"]["noisy"], 1);
  EXPECT_EQ(content["scenario"]["left_out"]["other"], 1);
  EXPECT_EQ(content["environment"]["hosts"][1]["machine"], "machine2");
  EXPECT_EQ(content["date"], "2026-11-20");
}

TEST(BundleBuild, AShippedScenarioIsNamed) {
  std::vector<Record> run = samples::seeded_run();
  for (Record& record : run) record.scenario = "submit";
  const json document = json::parse(text_of(run, samples::statement()));
  EXPECT_EQ(document["content"]["scenario"]["name"], "submit");
}

TEST(BundleBuild, WrongDataSeveralRunsAndNothingCleanAreRefused) {
  Redactor redactor;
  const auto refusal = [&](const std::vector<Record>& run) {
    const auto built = build_bundle(run, samples::statement(), {}, redactor);
    return built ? std::string("accepted") : built.error().message();
  };
  std::vector<Record> run = samples::seeded_run();
  run[2].measurement.wrong = 1;
  EXPECT_NE(refusal(run).find("wrong data"), std::string::npos);
  run = samples::seeded_run();
  run[2].run_id = "other";
  EXPECT_NE(refusal(run).find("2 runs"), std::string::npos);
  run = samples::seeded_run();
  for (Record& record : run) record.noise.verdict = "noisy";
  EXPECT_NE(refusal(run).find("no row to publish"), std::string::npos);
  EXPECT_NE(refusal({}).find("0 runs"), std::string::npos);
}

// They differ in what may not be published, so in the bundle one would be the other again.
TEST(BundleBuild, CellsThatLookAlikeAreLeftOut) {
  std::vector<Record> run = samples::seeded_run();
  Record other = run[0];
  other.cell.params["ifname"] = "en5";
  for (int i = 0; i < 7; ++i) other.measurement.hist.add(20'000 + i);
  run.push_back(other);
  const json content = json::parse(text_of(run, samples::statement()))["content"];
  EXPECT_EQ(content["rows"].size(), 6u);
  EXPECT_EQ(content["scenario"]["left_out"]["other"], 2);
}

// As ordinary cells, which is all that a bundle could say of them, they would be slow ones.
TEST(BundleBuild, ListsOfArraysAndGroupsAreLeftOut) {
  const auto published = [](const std::vector<Record>& run) {
    const json content = json::parse(text_of(run, samples::statement()))["content"];
    return std::pair(content["rows"].size(), content["scenario"]["left_out"].value("other", 0));
  };
  const std::vector<Record> run = samples::seeded_run();
  std::vector<Record> list = run, groups = run;
  list[0].cell.arrays = 64;
  groups[0].cell.split = "mod:2";
  const auto usual = published(run);
  const std::pair without(usual.first - 1, usual.second + 1);
  EXPECT_EQ(published(list), without);
  EXPECT_EQ(published(groups), without);
}

// They are words of tables where this program wrote the record; elsewhere they may be anything.
TEST(BundleBuild, WordsThatAreNamesAreNotPublished) {
  std::vector<Record> run = samples::seeded_run();
  for (Record& record : run) {
    record.cell.engine = "annette-engine";
    record.measurement.resolved.algorithm = "Zebra7-ring";
    record.measurement.resolved.congestion_control = "boris";
    record.measurement.resolved.kernel = "10.77.0.1";
    record.environment.auth = "carla";
    record.environment.control = "Zebra7.acme.example";
    for (HostFacts& host : record.environment.hosts) host.nics[0].kind = "Zebra7";
  }
  const std::string text = lower(text_of(run, samples::statement()));
  for (const std::string& word : samples::seeded_words()) {
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  }
  const json content = json::parse(text)["content"];
  EXPECT_EQ(content["rows"][0]["cell"]["engine"], "unknown");
  EXPECT_EQ(content["rows"][0]["resolved"]["transport"], "tcp");
}

// What stands behind the colon of an algorithm is kept, if it is a parameter.
TEST(BundleBuild, ParametersOfAlgorithmsArePublished) {
  std::vector<Record> run = samples::seeded_run();
  run[0].cell.algorithm = "exchange:2x2";
  run[0].measurement.resolved.algorithm = "halving_doubling:16x4";
  run[1].cell.algorithm = "ring:Zebra7";
  run[1].measurement.resolved.algorithm = "Zebra7:2";
  const std::string text = text_of(run, samples::statement());
  EXPECT_EQ(text.find("Zebra7"), std::string::npos);
  std::set<std::string> asked, ran;
  const json content = json::parse(text)["content"];
  for (const json& row : content["rows"]) {
    asked.insert(row["cell"]["algorithm"].get<std::string>());
    ran.insert(row["resolved"]["algorithm"].get<std::string>());
  }
  EXPECT_EQ(asked.count("exchange:2x2"), 1u) << text;
  EXPECT_EQ(asked.count("ring"), 1u) << text;
  EXPECT_EQ(ran.count("halving_doubling:16x4"), 1u) << text;
  EXPECT_EQ(ran.count("unknown"), 1u) << text;

  run[0].cell.algorithm = run[0].measurement.resolved.algorithm = "ring:2:0-2-1-3";
  const json again = json::parse(text_of(run, samples::statement()))["content"];
  bool found = false;
  for (const json& row : again["rows"]) {
    found = found || (row["cell"]["algorithm"] == "ring:2:0-2-1-3" &&
                      row["resolved"]["algorithm"] == "ring:2:0-2-1-3");
  }
  EXPECT_TRUE(found) << again;
}

// `run --repeat` on a noisy machine: one clean launch of a cell is a row.
TEST(BundleBuild, OfSeveralLaunchesACleanOneIsTaken) {
  std::vector<Record> run = samples::seeded_run();
  run.resize(1);
  for (int i = 2; i <= 4; ++i) run.push_back(run[0]);
  for (size_t i = 0; i < run.size(); ++i) {
    run[i].launch = LaunchMark{static_cast<int64_t>(i + 1), 1, ""};
    for (size_t k = 0; k <= i; ++k) run[i].measurement.hist.add(20'000);
    if (i != 1) run[i].noise = {"noisy", {"load"}};
  }
  const json content = json::parse(text_of(run, samples::statement()))["content"];
  ASSERT_EQ(content["rows"].size(), 1u);
  EXPECT_EQ(content["rows"][0]["hist"]["n"], 2002);
  EXPECT_EQ(content["scenario"]["left_out"]["noisy"], 0);
  run[1].noise = {"noisy", {"load"}};
  EXPECT_FALSE(judge_rows(run));
  run[3].measurement.wrong = 1;
  run[3].measurement.outcome = Outcome::kFailed;
  EXPECT_NE(judge_rows(run).error().message().find("wrong data"), std::string::npos);
}

// USER=epyc LOGNAME=amd HOME=/home/debian on a host "linux".
TEST(BundleBuild, NamesThatAreProductsLeaveTheFactsAlone) {
  Redactor redactor;
  for (const char* user : {"epyc", "amd", "debian", "bookworm"}) redactor.learn_user(user);
  redactor.learn_host("linux");
  const auto built =
      build_bundle(samples::seeded_run(), samples::statement(), {"submit"}, redactor);
  ASSERT_TRUE(built);
  const json host = (*built->document)["content"]["environment"]["hosts"][0];
  EXPECT_EQ(host["cpu_model"], "AMD EPYC");
  EXPECT_EQ(host["os"], "Debian GNU/Linux 12 (bookworm) of host1");
  EXPECT_EQ(host["kernel"], "Linux 6.1.0-host1-amd64 x86_64");
  EXPECT_EQ(redactor.text("of debian and amd", TextFrom::kTyped), "of user2 and user3");
}

TEST(BundleBuild, WhatStayedOnOneMachineIsLeftOutForANetwork) {
  std::vector<Record> run = samples::seeded_run();
  run[0].measurement.per_rank[1].host = "Zebra7";
  const json content = json::parse(text_of(run, samples::statement()))["content"];
  EXPECT_EQ(content["rows"].size(), 5u);
  for (Record& record : run) {
    for (HostFacts& host : record.environment.hosts) host.boot_id = "one";
  }
  Redactor redactor;
  const auto built = build_bundle(run, samples::statement(), {}, redactor);
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().message().find("loopback or virtual"), std::string::npos);
}

// The machine whose host name is part of every line of the hardware's description.
TEST(BundleBuild, HostsOfOneSystemShareItsName) {
  std::vector<Record> run = samples::seeded_run();
  for (Record& record : run) {
    for (HostFacts& host : record.environment.hosts) {
      host.hostname = "vm";
      host.boot_id = "one";
    }
    record.measurement.per_rank[0].host = "local0";
    record.measurement.per_rank[1].host = "local1";
  }
  BundleStatement statement = samples::statement();
  statement.link_kind = "loopback";
  statement.hardware = {"vm with local1"};
  const json content = json::parse(text_of(run, statement))["content"];
  EXPECT_EQ(content["statement"]["hardware"][0], "host4 with host2");
  EXPECT_EQ(content["rows"][0]["rank_hosts"], json({"host1", "host2"}));
  EXPECT_EQ(content["environment"]["hosts"][1]["machine"], "machine1");
}

// Words of our own tables are no names, although somebody calls a host so.
TEST(BundleBuild, AHostCalledTcpLeavesTheTransportAlone) {
  std::vector<Record> run = samples::seeded_run();
  for (Record& record : run) record.measurement.per_rank[1].host = "tcp";
  const json content = json::parse(text_of(run, samples::statement()))["content"];
  EXPECT_EQ(content["rows"][0]["resolved"]["transport"], "tcp");
  EXPECT_EQ(content["rows"][0]["rank_hosts"], json({"host1", "host2"}));
}

// A record says what its author wants: only words of the table are published.
TEST(BundleBuild, ATransportThatTheTableDoesNotHaveIsNotPublished) {
  std::vector<Record> run = samples::seeded_run();
  for (Record& record : run) record.environment.options["transport"] = {"eves-secret", "flag"};
  const std::string with_table = text_of(run, samples::statement());
  EXPECT_EQ(with_table.find("eves-secret"), std::string::npos);
  Redactor knows_nothing;
  const auto built = build_bundle(run, samples::statement(), {"submit"}, knows_nothing);
  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ(bundle_text(*built->document).find("eves-secret"), std::string::npos);
}

TEST(BundleBuild, EveryHostFactIsOnTheList) {
  std::vector<std::string> facts;  // that are copied from a record's hosts
  for (const Field<HostFacts>& field : FieldsOf<HostFacts>::all()) {
    if (field.publish != nullptr) facts.emplace_back(field.words.name);
  }
  for (const char* never : {"hostname", "boot_id", "environment", "nics", "libraries"}) {
    EXPECT_EQ(std::count(facts.begin(), facts.end(), never), 0) << never;
  }
  EXPECT_EQ(std::count(facts.begin(), facts.end(), "cpu_model"), 1);
  EXPECT_EQ(facts.size(), 13u);
  for (const std::string& name : published_options()) {
    const OptionRow* row = find_option(name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_NE(row->type, OptionType::kText) << name;
    EXPECT_NE(row->type, OptionType::kAddress) << name;
  }
}

}  // namespace
}  // namespace plumbline
