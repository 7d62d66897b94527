#include "runs/ranks/protocol.h"

#include <gtest/gtest.h>

#include "core/json.h"

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
  setup.site = std::string("\0\xff\n\"}", 5);  // bytes of a transport, whatever they are
  setup.options["chunk_bytes"] = {"4096", "flag"};
  const SetupMessage back = round_trip(setup);
  EXPECT_EQ(back.rank, 3);
  EXPECT_TRUE(equal_digest(back.token, setup.token));
  EXPECT_EQ(back.site, setup.site);
  EXPECT_EQ(back.options.at("chunk_bytes").origin, "flag");
}

TEST(Protocol, WhatRanksClaimTravelsAsItIs) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  ReadyMessage ready;
  ready.claimed = bytes;
  EXPECT_EQ(round_trip(ready).claimed, bytes);
  ConnectMessage connect;
  connect.endpoints = {{"mini1", bytes}, {"mini2", ""}};
  const ConnectMessage back = round_trip(connect);
  ASSERT_EQ(back.endpoints.size(), 2u);
  EXPECT_EQ(back.endpoints[0].claimed, bytes);
  EXPECT_EQ(back.endpoints[0].host, "mini1");
}

// Where a rank is reached is its transport's alone.
TEST(Protocol, MessagesOfRanksKnowNoPortsAndNoAddresses) {
  ConnectMessage connect;
  connect.endpoints.resize(2);
  for (const Message& message :
       {Message(SetupMessage{}), Message(ReadyMessage{}), Message(connect)}) {
    nlohmann::json named = nlohmann::json::parse(encode(message));
    named.erase("options");  // which say what the user said
    named.erase("facts");
    EXPECT_EQ(named.dump().find("port"), std::string::npos) << named;
    EXPECT_EQ(named.dump().find("address"), std::string::npos) << named;
  }
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
  for (const char* line :
       {"", "{}", "[]", "nonsense", "{\"type\":\"fly\"}", "{\"type\":\"run\"}", "{\"type\":7}",
        "{\"type\":\"setup\",\"rank\":\"x\"}", "{\"type\":\"ready\",\"claimed\":\"0\"}",
        "{\"type\":\"ready\",\"claimed\":\"0g\"}",
        "{\"type\":\"connect\",\"endpoints\":[{\"claimed\":7}]}"}) {
    const Expected<Message> message = decode(line);
    ASSERT_FALSE(message) << line;
    EXPECT_EQ(message.error().code, ErrorCode::kProtocol);
  }
}

}  // namespace
}  // namespace plumbline
