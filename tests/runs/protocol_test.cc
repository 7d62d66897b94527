#include "runs/ranks/protocol.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

template <typename T>
T round_trip(const T& message) {
  const std::string line = encode(message);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Expected<Message> back = decode(line);
  EXPECT_TRUE(back) << back.error().message();
  EXPECT_TRUE(std::holds_alternative<T>(*back));
  return std::get<T>(*back);
}

TEST(Protocol, SetupRoundTrip) {
  SetupMessage setup;
  setup.rank = 3;
  setup.size = 8;
  setup.token = random_token();
  setup.addresses = {{"fe80::1", 64, "en4"}, {"10.0.0.1", 30, ""}};
  setup.port = 29603;
  setup.options["chunk_bytes"] = {"4096", "flag"};
  const SetupMessage back = round_trip(setup);
  EXPECT_EQ(back.rank, 3);
  EXPECT_TRUE(equal_digest(back.token, setup.token));
  EXPECT_EQ(back.addresses, setup.addresses);
  EXPECT_EQ(back.options.at("chunk_bytes").origin, "flag");
}

TEST(Protocol, ErrorKeepsEveryPart) {
  const Error error{ErrorCode::kMismatch, "what \"quoted\"\n", 111, "hint", "collective.mismatch"};
  const ErrorMessage back = round_trip(ErrorMessage{error});
  EXPECT_EQ(back.error.message(), error.message());
  EXPECT_EQ(back.error.code, error.code);
  EXPECT_EQ(back.error.cause, error.cause);
}

TEST(Protocol, RunAndMeasurementRoundTrip) {
  RunMessage run;
  run.cell.op = "alltoall";
  run.cell.bytes = 1u << 30;
  run.settings.stop.max_n = 17;
  run.settings.fixed_warmup = 0;
  const RunMessage back = round_trip(run);
  EXPECT_EQ(back.cell, run.cell);
  EXPECT_EQ(back.settings.stop.max_n, 17u);
  EXPECT_EQ(back.settings.fixed_warmup, 0);
  MeasurementMessage measurement;
  measurement.measurement.hist.add(5);
  measurement.measurement.wrong = 2;
  EXPECT_EQ(round_trip(measurement).measurement.wrong, 2u);
  EXPECT_EQ(round_trip(GiveUpMessage{{ErrorCode::kAborted, "gone", 0, "h", "c"}}).error.what,
            "gone");
  round_trip(InterruptMessage{});
  round_trip(ConnectedMessage{});
}

// Also from a rank that names more addresses than anybody keeps.
TEST(Protocol, RefusedConnectionsComeWithEveryAnswer) {
  RefusedConnections refused;
  refused.add("10.0.0.9", 250'000);
  EXPECT_EQ(round_trip(ConnectedMessage{refused}).refused.by_address.at("10.0.0.9"), 250'000u);
  EXPECT_EQ(round_trip(LeftMessage{refused}).refused.total, 250'000u);
  EXPECT_EQ(round_trip(ErrorMessage{{}, refused}).refused.total, 250'000u);
  for (int i = 0; i < 1000; ++i) refused.by_address["10.0.1." + std::to_string(i)] = 1;
  refused.total += 1000;
  const RefusedConnections back = round_trip(MeasurementMessage{{}, refused}).refused;
  EXPECT_EQ(back.total, 251'000u);
  EXPECT_EQ(back.by_address.size(), RefusedConnections::kMostAddresses);
}

TEST(Protocol, HostileLinesAreErrors) {
  for (const char* line : {"", "{}", "[]", "nonsense", "{\"type\":\"fly\"}", "{\"type\":\"run\"}",
                           "{\"type\":7}", "{\"type\":\"setup\",\"rank\":\"x\"}"}) {
    const Expected<Message> message = decode(line);
    ASSERT_FALSE(message) << line;
    EXPECT_EQ(message.error().code, ErrorCode::kProtocol);
  }
}

}  // namespace
}  // namespace plumbline
