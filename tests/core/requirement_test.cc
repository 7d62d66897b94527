#include "core/host/requirement.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

namespace plumbline {
namespace {

using testing::HasSubstr;

std::optional<std::string> unmet_of(std::vector<const char*> words) { return unmet(words); }

TEST(Requirement, TableIsWhole) {
  std::set<std::string> names;
  for (const FeatureRow& row : feature_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_STRNE(row.help, "");
  }
  for (const char* name : {"linux", "macos", "root", "ipv6", "gnuplot", "netns", "cap_net_raw"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(Requirement, NothingAskedIsMet) { EXPECT_EQ(unmet_of({}), std::nullopt); }

TEST(Requirement, UnknownWordIsUnmet) {
  EXPECT_THAT(unmet_of({"levitation"}).value_or(""), HasSubstr("levitation"));
  EXPECT_THAT(unmet_of({""}).value_or("met"), HasSubstr("nobody knows"));
}

TEST(Requirement, ExactlyOneSystemIsPresent) {
  EXPECT_NE(unmet_of({"linux"}).has_value(), unmet_of({"macos"}).has_value());
  EXPECT_TRUE(unmet_of({"linux", "macos"}).has_value());
}

TEST(Requirement, RootFollowsTheUser) { EXPECT_EQ(unmet_of({"root"}).has_value(), geteuid() != 0); }

TEST(Requirement, GnuplotIsLookedForInPath) {
  const char* path = std::getenv("PATH");
  const std::string saved = path == nullptr ? "" : path;
  for (const char* without : {"", ":", "/proc/nonexistent:/proc/nonexistent2:", "::::"}) {
    setenv("PATH", without, 1);
    EXPECT_THAT(unmet_of({"gnuplot"}).value_or("present"), HasSubstr("not in PATH")) << without;
  }
  setenv("PATH", saved.c_str(), 1);
}

TEST(Requirement, EveryReasonIsASentenceOrEmpty) {
  for (const FeatureRow& row : feature_table()) {
    const std::string reason = row.missing();
    EXPECT_EQ(reason.find('\n'), std::string::npos) << row.name;
    EXPECT_EQ(unmet_of({row.name}).value_or(""), reason);
  }
}

}  // namespace
}  // namespace plumbline
