#include "core/symptom.h"

#include <gmock/gmock.h>

#include <set>

#include "core/cause.h"

namespace plumbline {
namespace {

std::vector<std::string> causes_of(const std::string& message) {
  std::vector<std::string> out;
  for (const SymptomRow* row : explain(message)) {
    for (const char* cause : row->causes) out.emplace_back(cause);
  }
  return out;
}

TEST(symptom, every_row_names_causes_of_the_table_and_fits_its_own_pattern) {
  for (const SymptomRow& row : symptom_table()) {
    EXPECT_FALSE(row.causes.empty()) << row.pattern;
    EXPECT_FALSE(row.probes.empty()) << row.pattern;
    for (const char* cause : row.causes) EXPECT_NE(find_cause(cause), nullptr) << cause;
    std::string message = row.pattern;
    for (size_t at; (at = message.find('*')) != std::string::npos;) message.replace(at, 1, " x ");
    EXPECT_THAT(explain(message), testing::Contains(&row)) << row.pattern;
  }
}

TEST(symptom, errno_65_is_more_than_routing) {
  EXPECT_THAT(causes_of("OSError: [Errno 65] No route to host"),
              testing::IsSupersetOf({"macos.local_network_privacy", "route.missing",
                                     "neighbour.unresolved", "firewall.reject_icmp"}));
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
