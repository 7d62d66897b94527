#include "core/units.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(ParseBytes, AcceptsBinarySuffixesAndPowersOfTen) {
  EXPECT_EQ(parse_bytes("0").value(), 0u);
  EXPECT_EQ(parse_bytes("64").value(), 64u);
  EXPECT_EQ(parse_bytes("64Ki").value(), 65536u);
  EXPECT_EQ(parse_bytes("16Mi").value(), 16777216u);
  EXPECT_EQ(parse_bytes("2Gi").value(), 2147483648u);
  EXPECT_EQ(parse_bytes("1e6").value(), 1000000u);
  EXPECT_EQ(parse_bytes("1.5Ki").value(), 1536u);
}

TEST(ParseBytes, BareLettersArePowersOfTwoAsWithColl) {
  for (const std::string text : {"64K", "1M", "2G", "3k", "1.5m", "2g"}) {
    ASSERT_TRUE(parse_bytes(text)) << text;
    EXPECT_EQ(parse_bytes(text).value(), parse_bytes_nccl(text).value()) << text;
  }
  EXPECT_EQ(parse_bytes("64M").value(), parse_bytes("64Mi").value());
  EXPECT_EQ(parse_bytes("1.5K").value(), 1536u);
  for (const char* text : {"64T", "64KB", "64Kb", "64MiB", "K", "1KM"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
  EXPECT_EQ(parse_bit_rate("1Mbit").value(), 1e6);  // rates stay decimal
}

TEST(ParseBytes, RefusesWhatIsNotASize) {
  for (const char* text : {"", "-1", "Ki", "abc", "1.5", "1e30", "nan", "inf", "0x10", "64 Ki",
                           "64Kib", "1e", "999999999999999999999"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(ParseBytesNccl, LettersArePowersOfTwo) {
  EXPECT_EQ(parse_bytes_nccl("8").value(), 8u);
  EXPECT_EQ(parse_bytes_nccl("64K").value(), 65536u);
  EXPECT_EQ(parse_bytes_nccl("128M").value(), 134217728u);
  EXPECT_EQ(parse_bytes_nccl("1g").value(), 1073741824u);
  EXPECT_EQ(parse_bytes_nccl("128MB").value(), 134217728u);
  EXPECT_FALSE(parse_bytes_nccl("-8"));
  EXPECT_FALSE(parse_bytes_nccl("8Q"));
}

TEST(ParseDuration, NeedsAUnit) {
  EXPECT_EQ(parse_duration("2s").value(), 2'000'000'000);
  EXPECT_EQ(parse_duration("500ms").value(), 500'000'000);
  EXPECT_EQ(parse_duration("100us").value(), 100'000);
  EXPECT_EQ(parse_duration("50ns").value(), 50);
  EXPECT_EQ(parse_duration("1.5m").value(), 90'000'000'000);
  for (const char* text : {"", "2", "s", "-1s", "1e30s", "2 s", "1d"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Format, ThreeSignificantDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(64u << 20), "64 MiB");
  EXPECT_EQ(format_duration(950), "950 ns");
  EXPECT_EQ(format_duration(4210), "4.21 us");
  EXPECT_EQ(format_duration(2e9), "2 s");
  EXPECT_EQ(format_rate(5.63e9), "5.63 GB/s");
  EXPECT_EQ(format_rate(0), "0 B/s");
}

TEST(Units, Shares) {
  EXPECT_DOUBLE_EQ(parse_share("2%").value(), 0.02);
  EXPECT_DOUBLE_EQ(parse_share("0.02").value(), 0.02);
  EXPECT_DOUBLE_EQ(parse_share("150%").value(), 1.5);
  for (const char* text : {"", "%", "x%", "2 %", "2%%", "-2%", "nan", "2Ki"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
}

}  // namespace
}  // namespace plumbline
