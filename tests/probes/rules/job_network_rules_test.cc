// The rules about a job's connections that lose packets: by what both kernels know, by what was
// captured, and by the filters of the hosts.
#include <gmock/gmock.h>

#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"
#include "rules/job_builder.h"

namespace plumbline {
namespace {

using test::capture;
using test::change_sockets;
using test::healthy_job;
using test::job_causes;
using test::job_host_seen;
using test::lose_packets;
using test::nft_rule;
using test::seen_in;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(JobNetworkRules, ALostWayIsNamedBySender) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "a", "b");
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_path a>b"));
  // b has got more than a knows of: what b says gets lost.
  change_sockets(set, "b", "10.0.0.1",
                 [](JobSocket& socket) { socket.tcp->bytes_received = 2000; });
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_path b>a"));
}

// Both hosts captured what stands still.
TEST(JobNetworkRules, PacketsThatWereCapturedTellWhereTheyAreLost) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "a", "b");
  capture(set, "a", "b", 3, 0, 0, 0);
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_path a>b"));
  EXPECT_THAT(seen_in(set), HasSubstr("3 of its packets left a, and none came to b"));
  EXPECT_GT(find_causes(set, {}).at(0).confidence, 0.8);
  capture(set, "a", "b", 3, 3, 0, 0);  // they come there, and nothing answers
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_inbound b>a"));
  EXPECT_THAT(seen_in(set), HasSubstr("3 of its packets came to b, and no answer left it"));
  capture(set, "a", "b", 3, 3, 2, 0);  // the answers do not come back
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_path b>a"));
  capture(set, "a", "b", 3, 3, 2, 2);  // all came: nothing that was seen says where
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_path a>b"));
  EXPECT_LT(find_causes(set, {}).at(0).confidence, 0.8);
  capture(set, "a", "b", 0, 0, 0, 0);  // no packet in that time
  EXPECT_THAT(seen_in(set), Not(HasSubstr("captured")));
  job_host_seen(set, "b").captured.clear();  // of one end alone nothing follows
  job_host_seen(set, "a").captured.at(0).left = 3;
  EXPECT_THAT(seen_in(set), Not(HasSubstr("captured")));
}

// Captures do not begin and end at the same moment on two hosts.
TEST(JobNetworkRules, APacketThatTheWideCaptureSawHasCome) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "a", "b");
  capture(set, "a", "b", 1, 0, 0, 0);
  job_host_seen(set, "b").captured.at(0).came_wide = 1;
  EXPECT_THAT(seen_in(set), Not(HasSubstr("captured")));
  capture(set, "a", "b", 1, 1, 0, 0);
  job_host_seen(set, "b").captured.at(0).left_wide = 1;  // the answer came late
  EXPECT_THAT(seen_in(set), Not(HasSubstr("captured")));
  capture(set, "a", "b", 0, 1, 0, 0);  // it came, and was not seen to leave: by another way
  EXPECT_THAT(seen_in(set), Not(HasSubstr("captured")));
}

// Its accept queue is full, so the end of the handshake is thrown away, and the caller sends.
TEST(JobNetworkRules, AConnectionThatOnlyTheCallerBelievesInIsOfAFullListener) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "b", "a");
  change_sockets(set, "a", "10.0.0.2", [](JobSocket& socket) {
    socket.state = "SYN-RECV";
    socket.port = 29500;
    socket.peer_port = 51000;
    socket.tcp.reset();
  });
  change_sockets(set, "b", "10.0.0.1", [](JobSocket& socket) {
    socket.port = 51000;
    socket.peer_port = 29500;
  });
  JobHostEvidence& host = job_host_seen(set, "a");
  for (JobLook* look : {&host.first, &*host.second}) {
    look->sockets.at(0).receive_queue = 129;
    look->sockets.at(0).send_queue = 128;
  }
  EXPECT_THAT(job_causes(set), ElementsAre("job.not_reading a"));
}

TEST(JobNetworkRules, WhatAHostHasTakenAndDoesNotAnswerIsStoppedOnItsWayOut) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "a", "b");
  change_sockets(set, "b", "10.0.0.1",
                 [](JobSocket& socket) { socket.tcp->bytes_received = 2000; });
  capture(set, "a", "b", 3, 3, 0, 0);
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_outbound b>a"));
}

// As Linux shows a packet that its own filter drops: nothing is under way, and the window is open.
TEST(JobNetworkRules, WhatItsOwnSystemDoesNotSendIsLostThere) {
  EvidenceSet set = healthy_job();
  change_sockets(set, "b", "10.0.0.1", [](JobSocket& socket) {
    socket.send_queue = socket.tcp->not_sent = 13;
    socket.tcp->unacknowledged = 0;
    socket.timer = "probe";
  });
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_path b>a"));
  EXPECT_THAT(seen_in(set), HasSubstr("cannot send 13 bytes"));
  // A reader that takes nothing is another matter.
  change_sockets(set, "b", "10.0.0.1", [](JobSocket& socket) { socket.tcp->send_window = 0; });
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobNetworkRules, RetransmissionsThatHelpAreNothing) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "a", "b");
  for (JobSocket& socket : job_host_seen(set, "a").second->sockets) {
    if (socket.tcp) socket.tcp->bytes_acked += 1;
  }
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobNetworkRules, AFilterOfAHostIsNamedWithItsRule) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "a", "b");
  FilterRule rule =
      nft_rule("input", "drop", "ip saddr 10.0.0.1 drop", {{"saddr", false, {"10.0.0.1"}}});
  for (HostEvidence& host : set.hosts) {
    if (host.name == "b") host.filters = {rule};
  }
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_inbound b>a"));
}

}  // namespace
}  // namespace plumbline
