// Moments as text and as numbers.
#include <gtest/gtest.h>

#include "reports/text.h"

namespace plumbline {
namespace {

TEST(Utc, ReadsZonesAndRefusesTheRest) {
  EXPECT_EQ(epoch_ms("2026-11-20T20:42:23.433Z"), 1795207343433);
  EXPECT_EQ(epoch_ms("2026-11-20T20:42:23+01:00"), 1795203743000);
  EXPECT_EQ(epoch_ms("2026-11-20T20:42:23-0030"), 1795209143000);
  for (const char* bad : {"", "2026", "2026-11-20 20:42:23Z", "2026-11-20T20:42:23",
                          "2026-11-20T20:42:23+99:00", "2026-13-20T20:42:23Z"}) {
    EXPECT_FALSE(epoch_ms(bad)) << bad;
  }
  EXPECT_EQ(utc_text(1795207343), "2026-11-20T20:42:23Z");
  EXPECT_EQ(utc_text(-1), "");
  EXPECT_EQ(utc_text(INT64_MAX), "");
}

// As iperf3 writes start.timestamp.time; ours had been another form.
TEST(Utc, DatesOfHttp) {
  EXPECT_EQ(http_date_text(1795255200), "Sat, 21 Nov 2026 10:00:00 GMT");
  EXPECT_EQ(http_date_text(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date_text(1709164800), "Thu, 29 Feb 2024 00:00:00 GMT");
  EXPECT_EQ(http_date_text(-1), "");
  EXPECT_EQ(http_date_text(INT64_MAX), "");
}

}  // namespace
}  // namespace plumbline
