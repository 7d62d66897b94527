
#include <gmock/gmock.h>

#include <set>

#include "core/diagnosis/cause.h"

namespace plumbline {
namespace {

std::vector<std::string> causes_of(const std::string& message) {
  std::vector<std::string> out;
  for (const SymptomRow* row : explain(message)) {
    out.insert(out.end(), row->causes.begin(), row->causes.end());
  }
  return out;
}

TEST(symptom, every_row_names_causes_of_the_table_and_fits_its_own_pattern) {
  for (const SymptomRow& row : symptom_table()) {
    EXPECT_FALSE(row.causes.empty()) << row.pattern;
    EXPECT_EQ(row.probes.empty(), row.by_hand != nullptr) << row.pattern;
    for (const std::string& cause : row.causes) EXPECT_NE(find_cause(cause), nullptr) << cause;
    std::string message = row.pattern;
    for (size_t at; (at = message.find('*')) != std::string::npos;) message.replace(at, 1, " x ");
    EXPECT_THAT(explain(message), testing::Contains(&row)) << row.pattern;
    if (row.errno_name != nullptr) {
      EXPECT_THAT(explain(row.errno_name), testing::Contains(&row)) << row.errno_name;
    }
  }
}

TEST(symptom, errno_65_is_more_than_routing) {
  EXPECT_THAT(causes_of("OSError: [Errno 65] No route to host"),
              testing::IsSupersetOf({"macos.local_network_privacy", "route.missing",
                                     "neighbour.unresolved", "firewall.reject_icmp"}));
}

struct Pasted {
  const char* message;
  const char* source;               // of the first row
  std::vector<const char*> causes;  // some of the first row's
};

TEST(symptom, messages_that_users_pasted_name_their_causes) {
  const Pasted table[] = {
      {"ECONNRESET", "any", {"rank.dead", "firewall.reject_rst"}},
      {"read ECONNRESET", "any", {"rank.dead"}},
      {"[Errno 104] Connection reset", "linux", {"rank.dead"}},
      {"[Errno 54] Connection reset by peer", "macos", {"rank.dead"}},
      {"EHOSTUNREACH", "any", {"neighbour.unresolved", "route.missing"}},
      {"connect: EADDRNOTAVAIL", "any", {"ip.missing"}},
      {"Can't assign requested address", "any", {"ip.missing"}},
      {"Cannot assign requested address", "any", {"ip.missing"}},
      {"EPIPE", "any", {"rank.dead"}},
      {"NCCL WARN Call to ibv_create_qp failed", "nccl", {"rdma.qp_limit", "rdma.memlock"}},
      {"NCCL WARN socketProgress: Connection closed by remote peer node2<41000>",
       "nccl",
       {"rank.dead"}},
      {"ncclSystemError: System call (e.g. socket, malloc) or external library call failed or "
       "device error.",
       "nccl",
       {"firewall.drop_inbound", "host.limits"}},
      {"torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/2 "
       "clients joined.",
       "torch",
       {"rank.missing", "name.wrong_address", "firewall.drop_inbound"}},
      {"Timed out after 301 seconds waiting for clients. 1/2 clients joined.",
       "torch",
       {"rank.missing", "name.wrong_address"}},
      {"socketPollConnect: connect to 10.0.0.2<41000> returned Connection refused, exceeded error "
       "retry count after 35 attempts",
       "nccl",
       {"firewall.partial_range", "stack.interface"}},
      {"Bootstrap Root : mismatch in info from procs, nranks 2 vs 3, nroots 1 vs 1",
       "nccl",
       {"config.mismatch"}},
      {"WARNING: Open MPI accepted a TCP connection from what appears to be a\nanother Open MPI "
       "process but cannot find a corresponding process\nentry for that peer.",
       "openmpi",
       {"stack.interface"}},
      {"[proxy:0:1@b] HYDU_sock_connect: unable to connect to server a at port 40113 (check for "
       "firewalls!)",
       "mpich",
       {"firewall.drop_inbound", "name.unresolved"}},
      {"tcp_sock.c:325 UCX ERROR connect(fd=31, dest_addr=172.17.0.1:44345) failed: Connection "
       "refused",
       "ucx",
       {"stack.interface"}},
      {"= BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", "mpich", {"rank.dead"}},
      {"kex_exchange_identification: Connection closed by remote host", "ssh", {"ssh.refused"}},
      {"Connection closed by 10.0.0.2 port 22", "ssh", {"ssh.auth"}},
      {"ssh: connect to host node2 port 22: Connection timed out", "ssh", {"ssh.unreachable"}},
      {"ssh: connect to host node2 port 22: Operation timed out", "ssh", {"ssh.unreachable"}},
      {"ssh: connect to host node2 port 22: Connection refused", "ssh", {"ssh.refused"}},
      {"ssh: connect to host node2 port 22: No route to host", "ssh", {"ssh.unreachable"}},
  };
  for (const Pasted& pasted : table) {
    const auto rows = explain(pasted.message);
    ASSERT_FALSE(rows.empty()) << pasted.message;
    EXPECT_STREQ(rows[0]->source, pasted.source) << pasted.message;
    for (const char* cause : pasted.causes) {
      EXPECT_THAT(rows[0]->causes, testing::Contains(testing::StrEq(cause))) << pasted.message;
    }
  }
}

TEST(symptom, a_name_of_errno_is_a_whole_word) {
  EXPECT_THAT(explain("thePipeline ran"), testing::IsEmpty());
  EXPECT_THAT(explain("EPERMANENT"), testing::IsEmpty());
  EXPECT_THAT(explain("MY_EPERM"), testing::IsEmpty());
  EXPECT_THAT(explain("(EPERM)"), testing::SizeIs(1));
}

TEST(symptom, closed_connections_of_gloo_and_nccl_are_none_of_ssh) {
  for (const char* message : {"Connection closed by peer [10.0.0.2]:4711",
                              "NCCL WARN Connection closed by remote peer n2\ntransport/net.cc"}) {
    for (const SymptomRow* row : explain(message)) EXPECT_STRNE(row->source, "ssh") << message;
  }
}

TEST(symptom, numbers_are_whole_numbers) {
  EXPECT_THAT(explain("errno 651"), testing::IsEmpty());
  EXPECT_THAT(explain("errno 6"), testing::IsEmpty());
  EXPECT_THAT(explain("errno 65."), testing::SizeIs(1));
}

TEST(symptom, the_parts_of_a_pattern_keep_their_order) {
  EXPECT_THAT(explain("no socket interface found by NCCL"), testing::IsEmpty());
  EXPECT_THAT(explain("NCCL WARN Bootstrap : no socket interface found"), testing::SizeIs(1));
}

TEST(symptom, the_longest_pattern_comes_first) {
  const auto rows = explain("[jaccl] Changing queue pair to RTR failed with errno 60");
  ASSERT_GE(rows.size(), 2u);
  EXPECT_STREQ(rows[0]->source, "mlx");
}

TEST(symptom, odd_messages_fit_nothing_and_do_no_harm) {
  EXPECT_THAT(explain(""), testing::IsEmpty());
  EXPECT_THAT(explain(std::string(100'000, '1')), testing::IsEmpty());
  EXPECT_THAT(explain(std::string("\0\xff\x1b[2J", 6)), testing::IsEmpty());
}

TEST(cause, ids_are_unique_and_described) {
  std::set<std::string> seen;
  for (const CauseRow& row : cause_table()) {
    EXPECT_TRUE(seen.insert(row.id).second) << row.id;
    EXPECT_NE(std::string(row.id).find('.'), std::string::npos) << row.id;
    EXPECT_FALSE(std::string(row.meaning).empty() || std::string(row.seen_by).empty()) << row.id;
  }
  EXPECT_EQ(find_cause("firewall"), nullptr);
}

}  // namespace
}  // namespace plumbline
