// Every row of the table against output that is cut, spoilt or not its own: nothing may crash, and
// whatever comes out must be evidence that can be written.
#include <gtest/gtest.h>

#include <random>

#include "probes/sources/collected.h"
#include "probes/sources/source.h"
#include "sample.h"

namespace plumbline {
namespace {

std::string with_host(HostEvidence host) {
  EvidenceSet set;
  set.hosts.push_back(std::move(host));
  return evidence_text(set);  // throws on text that is no UTF-8
}

void feed(const SourceRow& row, const std::string& text) {
  HostEvidence host;
  // Rows that complete what others found need something to complete.
  InterfaceEvidence interface;
  interface.name = "v0";
  interface.kind = "ethernet";
  interface.index = 2;
  host.interfaces.push_back(interface);
  SourceOutput output;
  output.state = SourceOutput::State::kRead;
  output.text = text;
  apply_output(row, output, host);
  EXPECT_FALSE(with_host(std::move(host)).empty());
}

std::vector<std::string> recorded() {
  std::vector<std::string> out;
  for (const char* name : {"host_a.txt", "host_b.txt"}) {
    const auto file = take_apart(test::sample(name));
    EXPECT_TRUE(file);
    for (const CollectedSection& section : file->sections) {
      if (!section.output.text.empty()) out.push_back(section.output.text);
    }
  }
  for (const char* name : {"ss.txt", "proc_net.txt"}) out.push_back(test::sample(name));
  return out;
}

std::string spoilt(std::string text, std::mt19937& random) {
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (size_t i = 0, count = 1 + below(8); i < count && !text.empty(); ++i) {
    const size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, 1 + below(30));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

TEST(Hostile, EveryRowSurvivesForeignOutput) {
  for (const SourceRow& row : source_table()) {
    for (const std::string& text : recorded()) feed(row, text);
  }
}

TEST(Hostile, EveryRowSurvivesStandardNonsense) {
  for (const SourceRow& row : source_table()) {
    for (const std::string& text :
         {std::string(), std::string("\n\n\n"), std::string(100, '\0'), std::string(70000, '['),
          std::string(5000, ':'), std::string("null"), std::string("[null]"), std::string("[[[]]]"),
          std::string("{\"a\":{}}"), std::string("Keine Berechtigung\n"),
          std::string("\xff\xfe\x80"), std::string(200000, 'x')}) {
      feed(row, text);
    }
  }
}

TEST(Hostile, EveryRowSurvivesSpoiltOutput) {
  std::mt19937 random(20250117);  // NOLINT(cert-msc51-cpp): the same every time
  const auto texts = recorded();
  for (const SourceRow& row : source_table()) {
    const auto file = take_apart(test::sample("host_a.txt"));
    ASSERT_TRUE(file);
    for (const CollectedSection& section : file->sections) {
      if (section.name != row.name) continue;
      for (int i = 0; i < 60; ++i) feed(row, spoilt(section.output.text, random));
    }
    for (int i = 0; i < 20; ++i) feed(row, spoilt(texts[i % texts.size()], random));
  }
}

TEST(Hostile, SpoiltFilesGiveEvidenceOrAnError) {
  std::mt19937 random(4711);  // NOLINT(cert-msc51-cpp): the same every time
  const std::string whole = test::sample("host_b.txt");
  int good = 0;
  for (int i = 0; i < 150; ++i) {
    auto file = take_apart(spoilt(whole, random));
    if (!file) continue;
    ++good;
    const auto other = take_apart(whole);
    std::vector<HostEvidence> hosts = {host_of(*file), host_of(*other)};
    EXPECT_FALSE(evidence_text(join_collected({*file, *other}, std::move(hosts))).empty());
  }
  EXPECT_GT(good, 50);
}

}  // namespace
}  // namespace plumbline
