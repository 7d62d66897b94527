#include "probes/gather/gather.h"

#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "core/json.h"
#include "probes/foreign_numbers.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

JobHost job_host(const std::string& name, const std::string& data,
                 const std::string& reached_by = "netns") {
  JobHost host;
  host.name = name;
  if (!data.empty()) host.data = {data};
  host.reached_by = reached_by;
  return host;
}

EvidenceSet evidence_of(const std::vector<JobHost>& hosts) {
  EvidenceSet evidence;
  evidence.job.hosts = hosts;
  evidence.job.ports = {29500, 29600};
  for (const JobHost& host : hosts) {
    HostEvidence entry;
    entry.name = host.name;
    evidence.hosts.push_back(entry);
  }
  return evidence;
}

TEST(pairs_to_try, leaves_out_who_is_not_supposed_to_talk) {
  EvidenceSet evidence = evidence_of(
      {job_host("hub", "10.0.0.1/24"), job_host("a", "10.0.0.2/24"), job_host("b", "10.0.0.3/24")});
  evidence.job.hosts[1].apart["b"] = "leaves of a star";
  for (const PairEvidence& pair : pairs_to_try(evidence)) {
    const bool apart = pair.from == "a" && pair.to == "b";
    EXPECT_EQ(pair.skipped, apart ? "not supposed to talk: leaves of a star" : "");
    EXPECT_EQ(pair.from_ip.empty() && pair.to_ip.empty(), apart);  // for no rule a pair at all
  }
}

TEST(pairs_to_try, takes_the_addresses_that_share_a_subnet) {
  EvidenceSet evidence = evidence_of({job_host("a", "10.0.0.1/30"), job_host("b", "10.0.0.2/30")});
  evidence.job.hosts[0].data = {"10.9.0.1/24", "10.0.0.1/30"};
  const auto pairs = pairs_to_try(evidence);
  ASSERT_THAT(pairs, SizeIs(2));
  EXPECT_EQ(pairs[0].from_ip, "10.0.0.1");
  EXPECT_EQ(pairs[0].to_ip, "10.0.0.2");
  EXPECT_EQ(pairs[1].from, "b");
  EXPECT_THAT(pairs[0].skipped, IsEmpty());
}

TEST(pairs_to_try, one_pair_stands_for_all_places_on_this_machine) {
  const auto pairs = pairs_to_try(evidence_of({job_host("local0", "127.0.0.1/8", "local"),
                                               job_host("local1", "127.0.0.1/8", "local"),
                                               job_host("local2", "127.0.0.1/8", "local")}));
  size_t tried = 0;
  for (const PairEvidence& pair : pairs) tried += pair.skipped.empty() ? 1 : 0;
  EXPECT_EQ(tried, 1u);
}

TEST(pairs_to_try, says_why_a_pair_cannot_be_tried) {
  const auto pairs = pairs_to_try(
      evidence_of({job_host("a", "10.0.0.1/24"), job_host("b", ""), job_host("c", "fd00::1/64")}));
  for (const PairEvidence& pair : pairs) EXPECT_FALSE(pair.skipped.empty()) << pair.from << pair.to;
}

// An agent that answers every request with what the test wants.
AgentRequest answer(const std::string& name, const nlohmann::json& reply) {
  return {name, "", [reply](const nlohmann::json&, const AgentCall&) -> Expected<nlohmann::json> {
            return reply;
          }};
}

TEST(agent_batch, an_answer_that_makes_no_sense_costs_its_host_only) {
  const auto sane = make_in_process_agent("a", {answer("snapshot", nlohmann::json::object())});
  const auto mad = make_in_process_agent("b", {answer("snapshot", "what?")});
  ProbeContext context;
  context.agents = {sane.get(), mad.get(), nullptr};
  context.evidence = evidence_of({job_host("a", ""), job_host("b", ""), job_host("c", "")});
  int taken = 0, failed = 0;
  AgentBatch batch(context);
  for (size_t i = 0; i < 3; ++i) {
    batch.ask(
        i, AskSnapshot{}, 2000, [&](const HostEvidence&) { ++taken; },
        [&](const Error&) { ++failed; });
  }
  batch.collect();
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(failed, 2);
  EXPECT_NE(context.agents[0], nullptr);
  EXPECT_EQ(context.agents[1], nullptr);
  EXPECT_EQ(context.evidence.hosts[1].agent_cause, "rank.agent_lost");
  EXPECT_THAT(context.evidence.hosts[1].agent_error, HasSubstr("snapshot"));
}

// Counters are counts: -1 and 1e300 are none, and differences of what is taken do not overflow.
// Where the cores have much else to do, an answer comes late, and that of `time` too.
TEST(agent_batch, an_agent_on_a_busy_host_is_late_and_not_lost) {
  const auto slow = [](int64_t ms) {
    return [ms](const nlohmann::json&, const AgentCall&) -> Expected<nlohmann::json> {
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      return nlohmann::json::object();
    };
  };
  const auto agent =
      make_in_process_agent("a", {{"stream", "", slow(1500)}, {"time", "", slow(1500)}});
  ProbeContext context;
  context.evidence = evidence_of({job_host("a", "10.0.0.1/24")});
  context.agents = {agent.get()};
  AgentBatch batch(context);
  std::string said;
  batch.ask(
      0, AskStream{}, 200, [](const StreamEvidence&) {},
      [&said](const Error& error) { said = error.message(); });
  batch.collect();
  EXPECT_THAT(said, HasSubstr("in time"));
  EXPECT_EQ(context.evidence.hosts[0].agent_cause, "");
  EXPECT_EQ(context.agents[0], agent.get());
}

TEST(foreign_numbers, a_counter_that_is_no_count_is_left_out) {
  const nlohmann::json reply = {{"tcp.out_segments", 7},
                                {"whole", 5.0},
                                {"most", int64_t{1} << 61},
                                {"minus", -1},
                                {"least", INT64_MIN},
                                {"too.many", (int64_t{1} << 61) + 1},
                                {"unsigned", UINT64_MAX},
                                {"huge", 1e300},
                                {"part", 1.5},
                                {"text", "7"},
                                {"none", nullptr}};
  EXPECT_THAT(counts_of(reply), testing::UnorderedElementsAre(
                                    testing::Pair("tcp.out_segments", 7), testing::Pair("whole", 5),
                                    testing::Pair("most", int64_t{1} << 61)));
  EXPECT_THAT(counts_of("what?"), IsEmpty());
}

TEST(foreign_numbers, what_cannot_be_reckoned_with_is_refused_by_name) {
  const auto trouble = [](const nlohmann::json& said) -> std::string {
    try {
      check_numbers(said);
      return "";
    } catch (const nlohmann::json::exception& error) {
      return error.what();
    }
  };
  const int64_t large = (int64_t{1} << 53) + 1, larger = (int64_t{1} << 61) + 1;
  for (const nlohmann::json& bad :
       std::vector<nlohmann::json>{{{"bytes", large}},
                                   {{"bytes", -large}},
                                   {{"took_ns", larger}},
                                   {{"mtu", -1}},
                                   {{"list", {{{"sent", 1e300}}}}},
                                   {{"counters", {{"rx_bytes", larger}}}},
                                   {{"round_trips_ns", {1, larger}}},
                                   {{"speed_bps", UINT64_MAX}}}) {
    EXPECT_THAT(trouble(bad), HasSubstr("out of range")) << bad;
  }
  EXPECT_THAT(trouble({{"mtu", -1}}), HasSubstr("mtu: -1"));
  for (const nlohmann::json& good :
       std::vector<nlohmann::json>{{{"bytes", large - 1}},
                                   {{"took_ns", large}},
                                   {{"locked_memory", -1}},
                                   {{"counters", {{"rx_bytes", large}}}},
                                   {{"asker", {{"rx_packets", -large}}}},
                                   {{"load1", 0.5}},
                                   {{"text", "1e300"}}}) {
    EXPECT_EQ(trouble(good), "");
  }
}

// It was taken as a count, and the differences of such counts were undefined.
TEST(gather_evidence, an_agent_whose_numbers_make_no_sense_is_told_or_left_out) {
  const nlohmann::json link = {{"name", "eth0"}, {"kind", "ethernet"}, {"up", true}, {"mtu", 1500}};
  const auto agent = [&](const std::string& name, const nlohmann::json& interface,
                         const nlohmann::json& count) {
    return make_in_process_agent(
        name, {answer("snapshot", {{"interfaces", nlohmann::json::array({interface})}}),
               answer("counters", {{"if.eth0.rx_errors", count}, {"if.eth0.rx_packets", 9}})});
  };
  nlohmann::json odd = link;
  odd["mtu"] = -1;
  const auto a = agent("a", link, -1), b = agent("b", link, 1e300), c = agent("c", odd, 1);
  ProbeContext context;
  context.agents = {a.get(), b.get(), c.get()};
  context.evidence = evidence_of({job_host("a", ""), job_host("b", ""), job_host("c", "")});
  std::vector<std::string> traces;
  gather_evidence(context, kNeedSnapshot, {}, traces);
  for (size_t i : {0u, 1u}) {
    const HostEvidence& host = context.evidence.hosts[i];
    EXPECT_EQ(host.agent_error, "");
    ASSERT_THAT(host.interfaces, SizeIs(1));
    EXPECT_THAT(host.interfaces[0].counters, testing::ElementsAre(testing::Pair("rx_packets", 9)));
  }
  EXPECT_EQ(context.evidence.hosts[2].agent_cause, "rank.agent_lost");
  EXPECT_THAT(context.evidence.hosts[2].agent_error, HasSubstr("mtu: -1 is out of range"));
}

TEST(gather_evidence, goes_on_when_every_agent_is_missing) {
  ProbeContext context;
  context.agents = {nullptr, nullptr};
  context.evidence = evidence_of({job_host("a", "10.0.0.1/24"), job_host("b", "10.0.0.2/24")});
  std::vector<std::string> traces;
  gather_evidence(context, ~0u, {}, traces);
  ASSERT_THAT(context.evidence.pairs, SizeIs(2));
  EXPECT_THAT(context.evidence.pairs[0].skipped, HasSubstr("no agent on a"));
  EXPECT_THAT(traces, IsEmpty());
}

// An agent between whose host and the others a share of the packets gets lost.
std::unique_ptr<HostAgent> agent_with_loss(const std::string& name, double share) {
  using Json = nlohmann::json;
  const auto row = [](const char* request, std::function<Json(const Json&)> make) {
    return AgentRequest{
        request, "",
        [make](const Json& params, const AgentCall&) -> Expected<Json> { return make(params); }};
  };
  const auto arrived = [share](int64_t sent) {
    return sent - static_cast<int64_t>(share * static_cast<double>(sent));
  };
  return make_in_process_agent(
      name, {row("datagrams.open",
                 [](const Json&) {
                   return Json{{"port", 9}, {"token", "t"}};
                 }),
             row("datagrams.send",
                 [](const Json& params) {
                   DatagramEvidence out;
                   out.sent = params.at("count");
                   out.rate_per_s = params.at("rate_per_s");
                   return Json(out);
                 }),
             row("datagrams.close",
                 [arrived](const Json& params) {
                   return Json{{"received", arrived(params.at("expected"))},
                               {"duplicates", 0},
                               {"strangers", 0},
                               {"overflow", 0}};
                 }),
             row("stream",
                 [arrived](const Json& params) {
                   StreamEvidence out;
                   out.bytes = 1'000'000;
                   out.duration_ns = params.at("duration_ms").get<int64_t>() * kMillisecond;
                   out.segments_out = 600;
                   out.segments_in = arrived(600);
                   return Json(out);
                 }),
             row("mtu", [](const Json&) { return Json(MtuEvidence{}); }),
             row("round_trips", [](const Json&) {
               return Json{{"round_trips_ns", {1000}}};
             })});
}

EvidenceSet connected_pair() {
  EvidenceSet evidence = evidence_of({job_host("a", "10.0.0.1/24"), job_host("b", "10.0.0.2/24")});
  evidence.pairs = pairs_to_try(evidence);
  for (PairEvidence& pair : evidence.pairs) {
    PortTry open;
    open.port = 29600;
    open.result = "connected";
    open.answer = "ours";
    pair.ports = {open};
  }
  return evidence;
}

size_t streams_of(const PairEvidence& pair, const std::string& kind, bool alone) {
  return static_cast<size_t>(
      std::count_if(pair.quality->streams.begin(), pair.quality->streams.end(),
                    [&](const StreamEvidence& s) { return s.kind == kind && s.alone == alone; }));
}

TEST(gather_quality, counts_datagrams_both_ways_and_once_where_all_arrive) {
  const auto a = agent_with_loss("a", 0), b = agent_with_loss("b", 0);
  ProbeContext context;
  context.agents = {a.get(), b.get()};
  context.evidence = connected_pair();
  gather_quality(context, kNeedQuality | kNeedMtu);
  for (const PairEvidence& pair : context.evidence.pairs) {
    ASSERT_TRUE(pair.quality.has_value());
    ASSERT_THAT(pair.quality->datagrams, SizeIs(1)) << pair.from;
    EXPECT_EQ(pair.quality->datagrams[0].sent, 300);
    EXPECT_EQ(pair.quality->datagrams[0].received, 300);
    EXPECT_EQ(streams_of(pair, "paced", false), 1u);
    EXPECT_EQ(streams_of(pair, "paced", true), 0u);
    EXPECT_EQ(streams_of(pair, "one_way", false), 1u);
    EXPECT_TRUE(pair.mtu.has_value());
  }
}

TEST(gather_quality, looks_again_slower_at_losses_and_not_at_rates_beside_them) {
  const auto a = agent_with_loss("a", 0.1), b = agent_with_loss("b", 0.1);
  ProbeContext context;
  context.agents = {a.get(), b.get()};
  context.evidence = connected_pair();
  gather_quality(context, kNeedQuality | kNeedMtu);
  for (const PairEvidence& pair : context.evidence.pairs) {
    ASSERT_THAT(pair.quality->datagrams, SizeIs(2)) << pair.from;
    const DatagramEvidence &first = pair.quality->datagrams[0], &again = pair.quality->datagrams[1];
    EXPECT_FALSE(first.alone);
    EXPECT_TRUE(again.alone);
    EXPECT_EQ(again.sent, 600);
    EXPECT_EQ(again.received, 540);
    EXPECT_LT(2 * again.rate_per_s, first.rate_per_s);
    EXPECT_EQ(streams_of(pair, "paced", true), 1u);
    EXPECT_EQ(streams_of(pair, "one_way", false) + streams_of(pair, "one_way", true), 0u);
    EXPECT_TRUE(pair.mtu.has_value());
  }
}

TEST(silence_that_tells, only_where_a_whole_stream_of_datagrams_got_lost) {
  PairEvidence pair;
  EXPECT_EQ(silence_that_tells_ms(pair), 0);  // nothing was measured
  pair.quality.emplace();
  DatagramEvidence stream;
  stream.sent = 300;
  pair.quality->datagrams = {stream};
  EXPECT_EQ(silence_that_tells_ms(pair), 400);
  PortTry open;
  open.result = "connected";
  open.took_ns = 50 * kMillisecond;
  pair.ports = {open};
  EXPECT_EQ(silence_that_tells_ms(pair), 1000);  // a long way
  pair.ports[0].result = "timeout";              // says nothing about the way
  EXPECT_EQ(silence_that_tells_ms(pair), 400);
  pair.quality->datagrams[0].received = 1;  // near miss: some pass, a filter rations them
  EXPECT_EQ(silence_that_tells_ms(pair), 0);
  pair.quality->datagrams[0] = {};  // near miss: the stream was not sent
  EXPECT_EQ(silence_that_tells_ms(pair), 0);
}

TEST(gather_quality, an_agent_that_knows_no_datagrams_costs_nothing_else) {
  const auto whole = agent_with_loss("a", 0);
  const auto old = make_in_process_agent("b", {answer("mtu", MtuEvidence{})});
  ProbeContext context;
  context.agents = {whole.get(), old.get()};
  context.evidence = connected_pair();
  gather_quality(context, kNeedQuality | kNeedMtu);
  for (const PairEvidence& pair : context.evidence.pairs) {
    ASSERT_THAT(pair.quality->datagrams, SizeIs(testing::Ge(1u)));
    EXPECT_EQ(pair.quality->datagrams[0].sent, 0);
    EXPECT_FALSE(pair.quality->datagrams[0].error.empty());
    EXPECT_TRUE(pair.mtu.has_value());
  }
}

TEST(evidence, survives_its_own_text) {
  EvidenceSet evidence = evidence_of({job_host("a", "10.0.0.1/24"), job_host("b", "10.0.0.2/24")});
  evidence.hosts[0].clock_offset_ns = -5;
  evidence.hosts[0].interfaces.emplace_back();
  evidence.hosts[0].interfaces[0].carrier = false;
  evidence.pairs = pairs_to_try(evidence);
  evidence.pairs[0].ports.emplace_back();
  evidence.pairs[0].ports[0].here.emplace();
  evidence.pairs[0].ports[0].icmp.emplace();
  evidence.pairs[0].quality.emplace();
  evidence.pairs[0].quality->datagrams = {{true, 600, 540, 1, 2, 3, 400, 5, "e"}};
  const std::string text = evidence_text(evidence);
  const auto back = parse_evidence(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(evidence_text(*back), text);
  EXPECT_FALSE(back->hosts[1].clock_offset_ns.has_value());
  EXPECT_FALSE(back->pairs[1].mtu.has_value());
}

// Such characters in a file do no more to a terminal than their escapes do.
TEST(evidence, its_text_holds_no_control_characters) {
  EvidenceSet evidence = evidence_of({job_host("a", "10.0.0.1/24")});
  const std::string name = "a\x7f\xc2\x85\xe2\x80\xae\x1b z";
  evidence.hosts[0].hostname = name;
  const std::string text = evidence_text(evidence);
  EXPECT_THAT(text, HasSubstr(R"(a\u007f\u0085\u202e\u001b z)"));
  EXPECT_THAT(text, testing::Not(testing::ContainsRegex("\x7f|\xc2\x85|\xe2\x80\xae")));
  const auto again = parse_evidence(text);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->hosts[0].hostname, name);
}

TEST(evidence, refuses_numbers_that_cannot_be_reckoned_with) {
  for (const char* host : {R"("interfaces": [{"mtu": -1}])", R"("clock_offset_ns": 9e18)",
                           R"("conntrack_max": 1e300)"}) {
    const auto read =
        parse_evidence(R"({"schema": 1, "hosts": [{"name": "a", )" + std::string(host) + "}]}");
    ASSERT_FALSE(read) << host;
    EXPECT_THAT(read.error().message(), HasSubstr("out of range"));
  }
}

TEST(evidence, refuses_what_is_none) {
  for (const char* text : {"", "[]", "{", "42", "{\"schema\": 2}", "{\"hosts\": 5}",
                           "{\"job\": {\"ports\": [\"x\"]}}", "{\"pairs\": [[]]}"}) {
    EXPECT_FALSE(parse_evidence(text)) << text;
  }
}

// It names a process of the other host, so that root there would end it.
TEST(gather_pairs, a_caller_has_no_say_in_who_holds_the_port_at_the_other_end) {
  const nlohmann::json lie = {
      {"port", 29600},        {"result", "connected"},  {"answer", "stranger"},
      {"listener", "in_use"}, {"holder", "PID 99 (x)"}, {"role", "x"},
      {"accepted", true},     {"half_open", true},      {"captured_there", true}};
  nlohmann::json never_asked = lie;
  never_asked["port"] = 22;
  const auto liar =
      make_in_process_agent("a", {answer("connect", {{"ports", {lie, never_asked}}}),
                                  answer("listen", {{"ports", nlohmann::json::array()}})});
  const auto honest =
      make_in_process_agent("b", {answer("connect", {{"ports", nlohmann::json::array()}}),
                                  answer("listen", {{"ports", nlohmann::json::array()}})});
  ProbeContext context;
  context.agents = {liar.get(), honest.get()};
  context.evidence = evidence_of({job_host("a", "10.0.0.1/24"), job_host("b", "10.0.0.2/24")});
  context.evidence.pairs = pairs_to_try(context.evidence);
  std::vector<std::string> traces;
  gather_pairs(context, kNeedConnect, traces);
  ASSERT_THAT(context.evidence.pairs[0].ports, SizeIs(1));
  const PortTry& attempt = context.evidence.pairs[0].ports[0];
  EXPECT_EQ(attempt.port, 29600);
  EXPECT_EQ(attempt.result, "connected") << "what a caller does know";
  EXPECT_EQ(attempt.answer, "stranger");
  EXPECT_EQ(attempt.listener, "absent");
  EXPECT_EQ(attempt.holder + attempt.role, "");
  EXPECT_FALSE(attempt.accepted || attempt.half_open || attempt.captured_there);
}

}  // namespace
}  // namespace plumbline
