// What hosts, files and names say passes doctor's and run's output as text, and as nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/json.h"
#include "core/text.h"
#include "probes/evidence.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kEvil =
    "\x01\r\x1b[2J\x1b]0;t\x07\x7f\xC2\x9B"
    "31m\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8z";

// Newlines and tabs are the program's own; of the rest the first that is no text.
std::string control_in(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point(text, i);
    const bool own = text[i] == '\n' || text[i] == '\t';
    if (!own && (!point.valid || is_control(point.value))) {
      return printable(text.substr(i < 80 ? 0 : i - 80, 160));
    }
    i += point.bytes;
  }
  return {};
}

void each_text(json& value, const std::function<void(json&)>& use) {
  if (value.is_string()) return use(value);
  if (!value.is_structured()) return;
  for (json& inner : value) each_text(inner, use);
}

// The evidence with every text that it may hold ending in what steers terminals.
std::string spoilt(const std::string& evidence) {
  json whole = json::parse(evidence);
  size_t changed = 0;
  each_text(whole, [&](json& text) {
    const json before = text;
    text = before.get<std::string>() + kEvil;
    const bool readable = parse_evidence(whole.dump()).has_value();
    changed += readable ? 1 : 0;
    if (!readable) text = before;
  });
  EXPECT_GT(changed, 10u);
  return whole.dump();
}

TEST(HostileOutput, DoctorPrintsWhatHostsSayAsText) {
  const ScratchFolder folder;
  const std::string file = folder.path("evidence.json");
  const Finished saved = run_program(plumbline_argv(
      {"doctor", "--only", "launch", "--port-base", "auto", "--save", file, "--json"}));
  ASSERT_THAT(saved.status, testing::AnyOf(0, 2)) << saved.err;
  folder.write("evil.json", spoilt(read_file(file)));
  for (const std::vector<std::string>& form : std::vector<std::vector<std::string>>{
           {}, {"--verbose"}, {"--json"}, {"--fix-plan"}, {"--only", "host"}}) {
    std::vector<std::string> words = {"doctor", "--from", folder.path("evil.json")};
    words.insert(words.end(), form.begin(), form.end());
    const Finished done = run_program(plumbline_argv(words));
    EXPECT_EQ(control_in(done.out), "");
    EXPECT_EQ(control_in(done.err), "");
    EXPECT_FALSE(done.out.empty() && done.err.empty());
  }
}

TEST(HostileOutput, NamesInFilesAndCommandLinesAreToldAsText) {
  const ScratchFolder folder;
  const std::string hosts = R"({"hosts": [{"name": "a)" + std::string("\\u001b[2J\\u202e") +
                            R"(", "local": true, "data": ["127.0.0.1/8"]}]})";
  const std::string file = folder.write("hosts.json", hosts);
  const std::string scenario = folder.write(
      "s.json", R"({"plumbline": 1, "probes": ["link"], "a\u001b]0;t\u0007": 1, "hosts": )" +
                    json::parse(hosts)["hosts"].dump(-1, ' ', true) + "}");
  folder.write("ok.json", R"({"plumbline": 1, "probes": ["link"]})");
  const std::vector<std::vector<std::string>> calls = {
      {"doctor", "--hosts", file},
      {"hosts", "check", file},
      {"hosts", "show", file},
      {"run", scenario, "--out", folder.path("out")},
      {"plan", scenario},
      {"run", folder.path("no\x1b[2J.json")},
      {"run", folder.path("ok.json"), "--only", "x\x1b[31m=\x7f"},
      {"report", "conso\x1b[2J", folder.path("ok.json")},
      {"doctor", "--only", "\x1b[2J"},
      {"doctor", "--from", folder.path("\x1b[2J")},
      {"explain", "\x1b[2J: Connection refused\xE2\x80\xAE"},
      {"\x1b[2J"},
  };
  for (const std::vector<std::string>& call : calls) {
    const Finished done = run_program(plumbline_argv(call));
    EXPECT_EQ(control_in(done.out), "") << printable(call.back());
    EXPECT_EQ(control_in(done.err), "") << printable(call.back());
    EXPECT_FALSE(done.out.empty() && done.err.empty()) << printable(call.back());
  }
  EXPECT_THAT(run_program(plumbline_argv(calls[0])).err, HasSubstr("$.hosts[0].name"));
  EXPECT_EQ(run_program(plumbline_argv(calls[0])).status, 1);
}

// An agent's greeting and a rank's error are the words of another host.
TEST(HostileOutput, RunPrintsWhatHostsSayAsText) {
  const ScratchFolder folder;
  const std::string agent =
      folder.write("agent",
                   "#!/bin/sh\nprintf '\\033[2J\\302\\233\\342\\200\\256evil\\r\\n'\n"
                   "printf '\\033]0;t\\007evil\\n' >&2\nexit 3\n");
  ASSERT_EQ(run_program({"chmod", "755", agent}).status, 0);
  const std::string scenario = folder.write(
      "s.json",
      R"({"plumbline": 1, "probes": ["launch"], "launch": {"port_base": "auto"}, "roofs": false,
          "hosts": [{"name": "a", "local": true, "data": ["127.0.0.1/8"], "binary": ")" +
          agent + R"("}, {"name": "b", "local": true, "data": ["127.0.0.1/8"], "binary": ")" +
          agent + R"("}], "matrix": [{"kind": "check", "op": "barrier"}], "report": ["console"]})");
  const Finished done = run_program(
      plumbline_argv({"run", scenario, "--out", folder.path("out"), "--allow-commands"}));
  EXPECT_EQ(done.status, 2) << done.err;
  EXPECT_THAT(done.out + done.err, HasSubstr("evil"));
  EXPECT_EQ(control_in(done.out), "");
  EXPECT_EQ(control_in(done.err), "");
  EXPECT_EQ(control_in(read_file(folder.path("out/doctor.json"))), "");
}

}  // namespace
}  // namespace plumbline
