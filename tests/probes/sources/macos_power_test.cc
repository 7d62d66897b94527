// What pmset says of a Mac's power: as its source prints it, and as it does not.
#include "probes/sources/macos_power.h"

#include <gmock/gmock.h>

#include "probes/sources/parsers.h"
#include "sample.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(MacosPower, AppleSiliconAtRest) {
  EXPECT_THAT(parse_pmset_therm("Note: No thermal warning level has been recorded\n"
                                "Note: No performance warning level has been recorded\n"
                                "Note: No CPU power status has been recorded\n"),
              ElementsAre(Pair("performance_warning", "none"), Pair("thermal_warning", "none")));
}

TEST(MacosPower, LimitsAndWarnings) {
  EXPECT_THAT(parse_pmset_therm("Thermal Warning Level = 1\n"
                                "Performance Warning Level = 2\n"
                                "2026-11-20 10:00:00 +0000 CPU Power notify\n"
                                "\tCPU_Scheduler_Limit \t= 100\n"
                                "\tCPU_Available_CPUs \t= 8\n"
                                "\tCPU_Speed_Limit \t= 63\n"),
              ElementsAre(Pair("available_cpus", "8"), Pair("performance_warning", "level 2"),
                          Pair("scheduler_limit_percent", "100"), Pair("speed_limit_percent", "63"),
                          Pair("thermal_warning", "level 1")));
}

TEST(MacosPower, NumbersThatAreNoneAreLeftOut) {
  for (const char* text :
       {"", "\n\n", "CPU_Speed_Limit", "CPU_Speed_Limit =", "CPU_Speed_Limit = fast",
        "CPU_Speed_Limit = -1", "CPU_Speed_Limit = 101", "CPU_Speed_Limit = 99999999999999999999",
        "CPU_Speed_Limit = 100%", "= 100", "CPU_Speed_Limits = 100", "xCPU_Speed_Limit = 100",
        "Thermal Warning Level = 256", "CPU_Available_CPUs = 4097", "CPU_Speed_Limit = 1 = 2"}) {
    EXPECT_THAT(parse_pmset_therm(text), IsEmpty()) << text;
  }
  EXPECT_THAT(parse_pmset_therm(std::string(1 << 20, '=')), IsEmpty());
  EXPECT_THAT(parse_pmset_therm("CPU_Speed_Limit = 7" + std::string(1000, ' ')), IsEmpty());
  // The first counts.
  EXPECT_THAT(parse_pmset_therm("CPU_Speed_Limit = 50\r\nCPU_Speed_Limit = 100\n"),
              ElementsAre(Pair("speed_limit_percent", "50")));
}

TEST(MacosPower, LowPowerModeOfTheSettingsInUse) {
  EXPECT_EQ(parse_low_power_mode(test::sample("macos/pmset.txt")), false);
  EXPECT_EQ(parse_low_power_mode("Currently in use:\n lowpowermode         1\n"), true);
  EXPECT_EQ(parse_low_power_mode(" lowpowermode 1\n sleep 0\n"), true);
  // Another section does not count.
  EXPECT_EQ(parse_low_power_mode("Battery Power:\n lowpowermode 1\nAC Power:\n lowpowermode 0\n"),
            std::nullopt);
  EXPECT_EQ(parse_low_power_mode("System-wide power settings:\n lowpowermode 1\n"
                                 "Currently in use:\n lowpowermode 0\n"),
            false);
  // Macs with three modes: 0 automatic, 1 low, 2 high.
  EXPECT_EQ(parse_low_power_mode("Currently in use:\n powermode 1\n"), true);
  EXPECT_EQ(parse_low_power_mode("Currently in use:\n powermode 2\n lowpowermode 0\n"), false);
  EXPECT_EQ(parse_low_power_mode("Currently in use:\n powermode 1\n lowpowermode 0\n"), true);
}

TEST(MacosPower, LowPowerModeThatIsNotTold) {
  for (const char* text : {"", "Currently in use:\n sleep 1\n", " lowpowermode", " lowpowermode on",
                           " lowpowermode 2", " lowpowermode -1", " lowpowermodes 1",
                           " lowpowermode 11", " powermode 3", "lowpowermode:\n"}) {
    EXPECT_EQ(parse_low_power_mode(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_low_power_mode(" lowpowermode 1" + std::string(1 << 20, 'x')), std::nullopt);
}

TEST(MacosPower, AsAFactOfTheHost) {
  HostEvidence host;
  ASSERT_TRUE(parse_pmset(test::sample("macos/pmset.txt"), host));
  EXPECT_EQ(host.sysctls.at("pmset.low_power_mode"), "off");
  ASSERT_TRUE(parse_pmset("Currently in use:\n lowpowermode 1\n", host));
  EXPECT_EQ(host.sysctls.at("pmset.low_power_mode"), "on");
  HostEvidence old;
  ASSERT_TRUE(parse_pmset("Currently in use:\n sleep 1\n", old));
  EXPECT_FALSE(parse_pmset("pmset: command not found\n", old));
  EXPECT_FALSE(parse_pmset("", old));
  EXPECT_THAT(old.sysctls, IsEmpty());
}

}  // namespace
}  // namespace plumbline
