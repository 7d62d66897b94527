// The probe `endpoint`, from the request of an agent to the cause, against a server that does what
// the test wants.
#include "probes/actions/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/json.h"
#include "probes/actions/actions.h"
#include "probes/probe.h"
#include "probes/rules/endpoint_verdicts.h"
#include "tests/support/agents.h"
#include "tests/support/endpoint_server.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Agents that know this one request, beside saying nothing of themselves.
std::unique_ptr<HostAgent> asking_agent(const std::string& host) {
  std::vector<AgentRequest> requests = host_requests();
  std::erase_if(requests, [](const AgentRequest& row) { return row.name != "endpoint"; });
  for (const char* name : {"snapshot", "counters"}) {
    requests.push_back(
        {name, "", [](const nlohmann::json&, const AgentCall&) -> Expected<nlohmann::json> {
           return nlohmann::json::object();
         }});
  }
  return make_in_process_agent(host, std::move(requests));
}

ProbeCallSpec call_to(const std::string& url) {
  ProbeCallSpec call;
  call.probe = "endpoint";
  call.params = {{"url", url}, {"silence", "20"}};
  return call;
}

ProbeResult probe(const ProbeCallSpec& call, int hosts = 1) {
  ProbeContext context;
  std::vector<std::unique_ptr<HostAgent>> agents;
  for (int i = 1; i <= hosts; ++i) {
    JobHost host;
    host.name = "mini" + std::to_string(i);
    host.data = {"10.0.0." + std::to_string(i) + "/24"};
    host.reached_by = "netns";
    context.evidence.job.hosts.push_back(host);
    context.evidence.hosts.emplace_back().name = host.name;
    agents.push_back(asking_agent(host.name));
    context.agents.push_back(agents.back().get());
  }
  return run_probes(std::move(context), {call});
}

std::string causes_of(const ProbeResult& result) {
  std::string causes;
  for (const Finding& finding : result.findings) {
    if (!finding.cause.starts_with("endpoint.")) continue;
    causes += (causes.empty() ? "" : " ") + finding.cause + "@" + finding.host;
  }
  return causes;
}

std::string outcomes_of(const ProbeResult& result) {
  std::string out;
  for (const Check& check : result.checks) {
    out += (out.empty() ? "" : " ") + std::string(to_string(check.outcome));
  }
  return out;
}

ServerScript with_fault(ServerFault fault) {
  ServerScript script;
  script.fault = fault;
  return script;
}

TEST(EndpointProbe, AHealthyServerIsReachedByAllAndAskedByOne) {
  EndpointServer server({});
  const ProbeResult result = probe(call_to(server.url()), 3);
  EXPECT_EQ(causes_of(result), "");
  EXPECT_EQ(outcomes_of(result), "pass pass pass pass pass pass pass pass pass pass");
  EXPECT_EQ(server.served().size(), 4U) << "chat and completions, whole and streamed, once";
  EXPECT_EQ(result.checks.at(0).key, "endpoint/mini1#" + server.url() + " health");
}

TEST(EndpointProbe, EachFaultHasItsCause) {
  struct Row {
    ServerFault fault;
    const char* causes;
    const char* said;  // somewhere in the evidence
  };
  const Row rows[] = {
      {ServerFault::kSilent, "endpoint.stalled@mini1", "no bytes moved"},
      {ServerFault::kGone, "endpoint.stalled@mini1", "504"},
      {ServerFault::kCutStream, "endpoint.stalled@mini1", "middle of the response's body"},
      {ServerFault::kNoDone, "endpoint.stalled@mini1", "without [DONE]"},
      {ServerFault::kStreamError, "endpoint.stalled@mini1", "out of memory"},
      {ServerFault::kDrops, "endpoint.stalled@mini1", "ended at byte 0"},
      {ServerFault::kNoJson, "endpoint.wrong_answer@mini1", "JSON"},
      {ServerFault::kNoHttp, "endpoint.wrong_answer@mini1", "SSH-2.0"},
      {ServerFault::kWrongAnswer, "endpoint.wrong_answer@mini1", "it says '5555'"},
      {ServerFault::kOtherModel, "endpoint.wrong_answer@mini1", "other-model"},
  };
  for (const Row& row : rows) {
    EndpointServer server(with_fault(row.fault));
    ProbeCallSpec call = call_to(server.url());
    call.params["model"] = "test-model";
    if (row.fault == ServerFault::kSilent) call.params["silence"] = "2";
    const ProbeResult result = probe(call);
    EXPECT_EQ(causes_of(result), row.causes) << row.said;
    std::string said;
    for (const Finding& finding : result.findings) {
      EXPECT_FALSE(finding.remedy.empty());
      for (const Evidence& evidence : finding.evidence) said += evidence.text + "\n";
    }
    EXPECT_THAT(said, HasSubstr(row.said));
  }
}

// It says that it is well, and does not answer: only a question finds that out.
TEST(EndpointProbe, ALyingHealthDeceivesNobody) {
  EndpointServer server(with_fault(ServerFault::kSilent));
  ProbeCallSpec call = call_to(server.url());
  call.params["silence"] = "2";
  const ProbeResult result = probe(call);
  EXPECT_EQ(outcomes_of(result), "pass pass fail skipped skipped skipped");
  EXPECT_EQ(causes_of(result), "endpoint.stalled@mini1");
}

TEST(EndpointProbe, AFullQueueIsAWarning) {
  ServerScript script;
  script.at_once = 0;
  script.queue = 0;
  script.health_status = 503;
  EndpointServer server(script);
  const ProbeResult result = probe(call_to(server.url()));
  EXPECT_EQ(causes_of(result), "endpoint.busy@mini1");
  EXPECT_EQ(result.findings.at(0).outcome, Severity::kWarn);
  EXPECT_EQ(result.findings.at(0).ports, std::vector<int>{server.port()});
}

TEST(EndpointProbe, OneThatIsNotThereIsUnreachableOnce) {
  int port = 0;
  {
    EndpointServer gone({});
    port = gone.port();
  }
  const ProbeResult result = probe(call_to("http://127.0.0.1:" + std::to_string(port)), 2);
  EXPECT_EQ(causes_of(result), "endpoint.unreachable@mini1");
  EXPECT_EQ(result.findings.at(0).evidence.size(), 2U) << "as seen from both hosts";
  const ProbeResult name = probe(call_to("http://no-such-name.invalid"));
  EXPECT_EQ(causes_of(name), "endpoint.unreachable@mini1");
}

EvidenceSet seen_by(const std::vector<std::string>& ends, const std::string& url) {
  EvidenceSet set;
  for (size_t i = 0; i < ends.size(); ++i) {
    JobHost job;
    job.name = "mini" + std::to_string(i + 1);
    job.data = {"10.0.0." + std::to_string(i + 1) + "/24"};
    set.job.hosts.push_back(job);
    HostEvidence host;
    host.name = job.name;
    EndpointEvidence endpoint;
    endpoint.url = url;
    EndpointTry health;
    health.what = "health";
    health.end = ends[i];
    health.error = ends[i] == "answered" ? "" : "refused";
    endpoint.tries = {health};
    host.endpoints = {endpoint};
    set.hosts.push_back(host);
  }
  return set;
}

TEST(EndpointRules, WhereSomeReachItTheOthersHaveTheFault) {
  const auto some =
      judge_evidence(seen_by({"answered", "unreachable", "answered"}, "http://10.0.0.1:8080"));
  EXPECT_EQ(causes_of(some), "endpoint.unreachable@mini2");
  EXPECT_THAT(some.findings.at(0).remedy.text(), HasSubstr("other hosts reach it"));
  const auto none = judge_evidence(seen_by({"unreachable", "unreachable"}, "http://10.0.0.2:8080"));
  EXPECT_EQ(causes_of(none), "endpoint.unreachable@mini2") << "which is the server's host";
}

TEST(EndpointRules, AMissingPathIsNoFaultWhileAnotherAnswers) {
  EvidenceSet set = seen_by({"answered"}, "http://mini1:8080");
  EndpointTry chat, completions;
  chat.what = "chat";
  chat.end = "answered";
  chat.text = "The answer is 4.";
  completions.what = "completions";
  completions.end = "refused";
  completions.status = 404;
  completions.error = "status 404";
  auto& tries = set.hosts[0].endpoints[0].tries;
  tries = {chat, completions};
  EXPECT_EQ(causes_of(judge_evidence(set)), "");
  tries[0] = completions;
  tries[0].what = "chat";
  EXPECT_EQ(causes_of(judge_evidence(set)), "endpoint.wrong_answer@mini1");
}

TEST(EndpointRules, AnAnswerThatWasCutShortIsNotWrong) {
  EvidenceSet set = seen_by({"answered"}, "http://mini1:8080");
  EndpointTry chat;
  chat.what = "chat";
  chat.end = "answered";
  chat.text = "Let me think";
  chat.cut_short = true;
  set.hosts[0].endpoints[0].tries = {chat};
  const auto verdicts = endpoint_verdicts(set);
  EXPECT_EQ(verdicts.at(0).check.outcome, CheckOutcome::kUnknown);
  EXPECT_EQ(verdicts.at(0).cause, "");
  set.hosts[0].endpoints[0].tries[0].cut_short = false;
  EXPECT_EQ(endpoint_verdicts(set).at(0).cause, "endpoint.wrong_answer");
}

TEST(EndpointRules, WhatASavedFileSaysIsShownAndNotBelieved) {
  EvidenceSet set = seen_by({"unreachable", "no-such-word"}, "http://a:1/\x1b[31m");
  set.hosts[0].endpoints[0].tries[0].error = "\x1b[2Jgone\nfail";
  const ProbeResult result = judge_evidence(set);
  EXPECT_EQ(causes_of(result), "") << "no agent would have asked there";
  for (const Check& check : result.checks) {
    EXPECT_EQ(check.reason.find('\x1b'), std::string::npos);
    EXPECT_EQ(check.key.find('\x1b'), std::string::npos);
  }
  const auto again = parse_evidence(evidence_text(set));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->hosts[1].endpoints.at(0).tries.at(0).end, "no-such-word");
}

TEST(EndpointAction, TheKeyIsSentAndStandsNowhere) {
  ServerScript script;
  script.key = "s3cret";
  EndpointServer server(script);
  ProbeCallSpec call = call_to(server.url());
  const ProbeResult without = probe(call);
  EXPECT_EQ(causes_of(without), "endpoint.wrong_answer@mini1");
  call.key = "s3cret";
  const ProbeResult with = probe(call);
  EXPECT_EQ(causes_of(with), "");
  EXPECT_THAT(evidence_text(with.evidence), Not(HasSubstr("s3cret")));
  for (const ServedQuestion& question : server.served()) {
    EXPECT_EQ(question.authorization, "Bearer s3cret");
  }
  call.key = "s3cret\n";  // as `$(cat file)` would not give it, but a program might
  const ProbeResult broken = probe(call);
  EXPECT_NE(causes_of(broken), "");
  EXPECT_THAT(evidence_text(broken.evidence), Not(HasSubstr("s3cret")));
}

TEST(EndpointAction, AUrlThatIsNoneIsAnError) {
  std::atomic<bool> ending{false};
  AskEndpoint asked;
  for (const char* url : {"", "https://mini1", "http://u:p@mini1", "mini1:8080"}) {
    asked.url = url;
    EXPECT_FALSE(try_endpoint(asked, {Deadline::after_ms(1000), &ending})) << url;
  }
}

TEST(EndpointAction, AnAgentThatEndsDoesNotWait) {
  EndpointServer server(with_fault(ServerFault::kSilent));
  std::atomic<bool> ending{false};
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ending = true;
  });
  AskEndpoint asked;
  asked.url = server.url();
  asked.questions = true;
  asked.silence_ms = 60'000;
  const int64_t begin = monotonic_ns();
  const auto evidence = try_endpoint(asked, {Deadline::after_ms(60'000), &ending});
  ends.join();
  ASSERT_TRUE(evidence);
  EXPECT_LT(monotonic_ns() - begin, 20 * kSecond);
  EXPECT_EQ(evidence->tries.at(1).end, "not_tried");
}

}  // namespace
}  // namespace plumbline
