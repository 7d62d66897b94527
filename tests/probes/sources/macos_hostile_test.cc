// Every macOS row against its own sample cut at every byte and spoilt in other ways: nothing may
// crash or take long, and what comes out must be evidence that can be written.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/clock.h"
#include "probes/sources/collected.h"
#include "probes/sources/source.h"
#include "sample.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

std::vector<SourceRow> macos_source_table() {
  std::vector<SourceRow> out;
  for (const SourceRow& row : source_table()) {
    if (std::string(row.system) == "macos") out.push_back(row);
  }
  return out;
}

std::string sample_of(const SourceRow& row) {
  std::string file = row.name;
  std::replace(file.begin(), file.end(), '-', '_');
  return test::sample("macos/" + file + ".txt");
}

HostEvidence prepared() {
  HostEvidence host;
  for (const char* name : {"en0", "en2", "bridge0"}) {
    InterfaceEvidence interface;
    interface.name = name;
    interface.kind = "unknown";
    interface.carrier = true;
    host.interfaces.push_back(interface);
  }
  SocketEvidence socket;
  socket.pid = 412;
  socket.port = 29600;
  socket.state = "LISTEN";
  host.sockets.push_back(socket);
  return host;
}

HostEvidence fed(const SourceRow& row, const std::string& text) {
  HostEvidence host = prepared();
  SourceOutput output;
  output.state = SourceOutput::State::kRead;
  output.text = text;
  apply_output(row, output, host);
  return host;
}

void expect_writable(HostEvidence host) {
  EvidenceSet set;
  set.hosts.push_back(std::move(host));
  const auto again = parse_evidence(evidence_text(set));
  EXPECT_TRUE(again) << again.error().message();
}

TEST(MacosHostile, EveryRowHasASampleThatItUnderstands) {
  ASSERT_GT(macos_source_table().size(), 20U);
  for (const SourceRow& row : macos_source_table()) {
    HostEvidence host = fed(row, sample_of(row));
    EXPECT_TRUE(host.unreadable.empty()) << row.name << ": " << host.unreadable[0];
    expect_writable(std::move(host));
  }
}

TEST(MacosHostile, CutAtEveryByte) {
  for (const SourceRow& row : macos_source_table()) {
    const std::string whole = sample_of(row);
    const size_t most = fed(row, whole).interfaces.size();
    for (size_t length = 0; length < whole.size(); ++length) {
      const HostEvidence host = fed(row, whole.substr(0, length));
      if (length % 97 == 0) expect_writable(host);
      // What is cut is never read as more than the whole.
      EXPECT_LE(host.interfaces.size(), most) << row.name;
    }
  }
}

TEST(MacosHostile, SpoiltBytes) {
  std::mt19937 random(26);  // NOLINT(cert-msc51-cpp): the same every time
  for (const SourceRow& row : macos_source_table()) {
    const std::string whole = sample_of(row);
    for (int i = 0; i < 300; ++i) {
      std::string text = whole;
      for (int n = 0; n < 1 + i % 6; ++n) {
        const size_t at = random() % text.size();
        if (random() % 2 == 0) text[at] = static_cast<char>(random() % 256);
        if (random() % 4 == 0) text.insert(at, text.substr(random() % text.size(), 30));
      }
      HostEvidence host = fed(row, text);
      if (i % 10 == 0) expect_writable(std::move(host));
    }
  }
}

TEST(MacosHostile, LargeAndStrange) {
  constexpr size_t kLong = test::kSanitized ? 1 << 17 : 1 << 20;
  std::string interfaces, sockets = "COMMAND\n", anchors, deep;
  for (int i = 0; i < (test::kSanitized ? 2'000 : 20'000); ++i) {
    interfaces += "en" + std::to_string(i) + ": flags=8863<UP> mtu 1500\n\tmember: en" +
                  std::to_string(i + 1) + "\n";
    sockets += "x 5 u 5u IPv4 0x1 0t0 TCP 10.0." + std::to_string(i % 250) + "." +
               std::to_string(i / 250) + ":29600 (LISTEN)\n";
    anchors += "anchor \"a\" on en0 {\nblock in on en1\n";
    deep += "{\"_items\":[";
  }
  const std::vector<std::string> texts = {
      interfaces,
      sockets,
      anchors,
      deep,
      std::string(kLong, 'x'),
      std::string(kLong, ' '),
      std::string(kLong, '\t') + "x",
      std::string(1, '\0') + "b: flags=<\x01\x02\x7f>\n\tinet \x1b[0m\n",
      "Name Address " + std::string(100'000, 'a') + "\n",
      "(State = " + std::string(100'000, '9') + ")"};
  for (const SourceRow& row : macos_source_table()) {
    for (const std::string& text : texts) {
      const int64_t begin = monotonic_ns();
      HostEvidence host = fed(row, text);
      EXPECT_LT(monotonic_ns() - begin, 20 * kSecond) << row.name;
      EXPECT_LE(host.interfaces.size(), 4096U);
    }
  }
}

TEST(MacosHostile, WithoutPrivilegeNothingPasses) {
  for (const SourceRow& row : macos_source_table()) {
    HostEvidence host;
    SourceOutput output;
    output.state = SourceOutput::State::kFailed;
    output.why = "/dev/pf: Permission denied";
    apply_output(row, output, host);
    ASSERT_EQ(host.unreadable.size(), 1U) << row.name;
    if (row.filter[0] == '\0') continue;
    ASSERT_EQ(host.filter_sources.size(), 1U) << row.name;
    EXPECT_TRUE(host.filter_sources[0].present);
    EXPECT_FALSE(host.filter_sources[0].readable);
    EXPECT_EQ(host.filter_sources[0].state, "");
  }
}

}  // namespace
}  // namespace plumbline
