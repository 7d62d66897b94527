#include "core/error.h"

#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/fd.h"
#include "core/log.h"

namespace plumbline {
namespace {

TEST(Error, MessageJoinsWhatErrnoAndHint) {
  const Error error{ErrorCode::kRefused, "connect to 127.0.0.1:1 (rank 1)", ECONNREFUSED,
                    "start the peer", ""};
  EXPECT_EQ(error.message(),
            "connect to 127.0.0.1:1 (rank 1): Connection refused (ECONNREFUSED); start the peer");
  EXPECT_EQ(errno_name(99999), "errno 99999");
}

TEST(Error, CodesHaveDistinctWords) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kSystem); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(error_code_from(to_string(code)), code);
  }
  EXPECT_EQ(error_code_from("nonsense"), ErrorCode::kSystem);
}

TEST(Fd, DescriptorZeroIsValidAndMovesOnce) {
  EXPECT_FALSE(Fd().valid());
  Fd first(dup(1));
  const int number = first.get();
  Fd second = std::move(first);
  EXPECT_EQ(second.get(), number);
  second = Fd();
  EXPECT_EQ(write(number, "", 0), -1);  // closed
}

// FIPS 180-4 example and RFC 4231 test case 2.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string key = "Jefe";
  const std::string text = "what do ya want for nothing?";
  EXPECT_EQ(to_hex(hmac_sha256(std::as_bytes(std::span(key)), std::as_bytes(std::span(text)))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Sha256, HexRoundTripAndRefusals) {
  const Digest token = random_token();
  EXPECT_FALSE(equal_digest(token, random_token()));
  Digest back{};
  ASSERT_TRUE(from_hex(to_hex(token), back));
  EXPECT_TRUE(equal_digest(token, back));
  EXPECT_FALSE(from_hex("zz", back));
  EXPECT_FALSE(from_hex(std::string(64, 'g'), back));
}

TEST(Log, LevelNamesAndDigits) {
  LogLevel level = LogLevel::kOff;
  EXPECT_TRUE(log_level_from("WARN", level));
  EXPECT_EQ(level, LogLevel::kWarn);
  EXPECT_TRUE(log_level_from("2", level));
  EXPECT_EQ(level, LogLevel::kInfo);
  EXPECT_FALSE(log_level_from("loud", level));
  EXPECT_FALSE(log_level_from("7", level));
}

TEST(Log, LinesCarryWhoAndLevelAndRespectIt) {
  testing::internal::CaptureStderr();
  const Logger log("rank 3", LogLevel::kWarn, log_lines());
  log.info("quiet");
  log.warn("loud {} %s");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find("rank 3] loud {} %s"), std::string::npos) << text;
}

TEST(Log, GoesToWhoeverIsHandedItAndNowhereElse) {
  testing::internal::CaptureStderr();
  std::string said;
  const Logger log("rank 3", LogLevel::kInfo,
                   [&](LogLevel level, const std::string& who, std::string_view text) {
                     EXPECT_EQ(level, LogLevel::kWarn);
                     said += who + ": " + std::string(text) + "\n";
                   });
  log.warn("a\nb");
  log.debug("quiet");
  EXPECT_EQ(said, "rank 3: a b\n");
  const Logger mute("rank 3", LogLevel::kTrace, nullptr);
  EXPECT_FALSE(mute.enabled(LogLevel::kFatal));
  mute.error("nobody");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Clock, DeadlinesAndWallTime) {
  EXPECT_TRUE(Deadline::after_ns(-1).passed());
  EXPECT_EQ(Deadline::after_ns(-1).poll_timeout_ms(100), 0);
  EXPECT_EQ(Deadline::never().poll_timeout_ms(100), 100);
  EXPECT_EQ(Deadline::at_ns(monotonic_ns() + 500'000).poll_timeout_ms(100), 1);
  const std::string now = utc_now_rfc3339();
  EXPECT_EQ(now.size(), 24u) << now;
  EXPECT_EQ(now.back(), 'Z');
  const ClockQuality quality = measure_clock();
  EXPECT_GE(quality.call_ns, 1);
  EXPECT_GE(quality.resolution_ns, 1);
}

}  // namespace
}  // namespace plumbline
