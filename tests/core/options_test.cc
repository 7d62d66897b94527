#include "core/options/options.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/text.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string messages(const std::vector<Error>& errors) {
  std::string out;
  for (const Error& error : errors) out += error.message() + "\n";
  return out;
}

std::string only_problem(const OptionSources& sources) {
  const auto set = OptionSet::resolve(sources);
  if (set) return "no problem at all";
  EXPECT_EQ(set.error().size(), 1u) << messages(set.error());
  return messages(set.error());
}

TEST(OptionTable, EveryRowIsWhole) {
  std::set<std::string> names, aliases;
  for (const OptionRow& row : option_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_EQ(find_option(row.name), &row);
    EXPECT_STRNE(row.help, "") << row.name;
    if (row.mccl_alias != nullptr) {
      EXPECT_TRUE(aliases.insert(row.mccl_alias).second) << row.mccl_alias;
    }
    if (row.refused != nullptr) {
      EXPECT_STRNE(row.refused, "") << row.name;
      continue;
    }
    EXPECT_EQ(row.type == OptionType::kChoice, row.choices != nullptr) << row.name;
    EXPECT_TRUE(canonical_option(row, row.default_value).has_value())
        << row.name << " refuses its own default " << row.default_value;
  }
}

// core knows no transport: which there are, a table above it says.
TEST(OptionTable, NamesOfATableAboveAreHandedDown) {
  const OptionRow& transport = *find_option("transport");
  EXPECT_EQ(transport.type, OptionType::kNamed);
  EXPECT_EQ(transport.choices, nullptr);
  OptionSources sources;
  sources.choices["transport"] = {"auto", "pigeon"};
  sources.flags["transport"] = "Pigeon";
  const OptionSet set = OptionSet::resolve(sources).value();
  EXPECT_EQ(set.text("transport"), "pigeon");
  EXPECT_TRUE(set.with("transport", "auto", "test"));
  const auto refused = set.with("transport", "tcp", "test");  // it keeps what was handed down
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("give one of auto, pigeon"));
  const OptionSet nothing_handed_down;
  EXPECT_TRUE(nothing_handed_down.with("transport", "anything", "test"));
  for (const std::string& text :
       {std::string(), std::string("two words"), std::string("a\n"), std::string(65, 'a')}) {
    EXPECT_FALSE(nothing_handed_down.with("transport", text, "test")) << text;
  }
}

TEST(OptionTable, DefaultsAreInTheirCanonicalSpelling) {
  for (const auto& [name, value] : OptionSet().values()) {
    EXPECT_EQ(value.value, find_option(name)->default_value) << name;
  }
}

TEST(OptionTable, EveryMcclVariableIsARow) {
  for (const char* name : {"TRANSPORT",
                           "LISTEN_ADDR",
                           "PORT_BASE",
                           "IFNAME",
                           "CHUNK_BYTES",
                           "SMALL_MSG_THRESHOLD",
                           "CONNECT_TIMEOUT_MS",
                           "TRANSPORT_CRC",
                           "SOCK_BUFSIZE",
                           "TCP_LOWAT",
                           "LINK_PROFILE",
                           "RING_ALGO",
                           "RING_PIPELINE",
                           "PIPELINE_DEPTH",
                           "RING_FALLBACK_BASIC",
                           "COLLECTIVE_CONCURRENCY",
                           "MAX_COLLECTIVE_CONCURRENCY",
                           "DEMUX_PARK_BYTES",
                           "DEMUX_INFLIGHT_BUDGET_BYTES",
                           "DEMUX_MAX_COLLECTIVE_BYTES",
                           "CREDIT_MIN_CHUNK",
                           "RECV_TIMEOUT_MS",
                           "WATCHDOG_TIMEOUT_MS",
                           "HEARTBEAT_INTERVAL_MS",
                           "MAX_QUEUE_DEPTH",
                           "FP32_CPU_REDUCE",
                           "CPU_WRITE_SYNC",
                           "EVENT_SYNC",
                           "OVERLAP_COMM",
                           "UNIFIED_COLLECTIVE",
                           "FAST_MATH",
                           "GPU_THRESHOLD",
                           "COMPRESSION",
                           "TOPK_RATIO",
                           "SHADER_PATH",
                           "STFT_BACKEND",
                           "REQUIRE_METALLIB",
                           "LOG_LEVEL",
                           "SYNC_MODE",
                           "ALLREDUCE_ALGO"}) {
    const std::string alias = std::string("MCCL_") + name;
    const auto rows = option_table();
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) {
      return row.mccl_alias != nullptr && alias == row.mccl_alias;
    })) << alias;
  }
}

TEST(OptionTable, LinkProfilesNameRealOptionsAndValues) {
  for (const LinkProfileRow& row : link_profile_table()) {
    const OptionRow* option = find_option(row.option);
    ASSERT_NE(option, nullptr) << row.option;
    EXPECT_EQ(canonical_option(*option, row.value), row.value) << row.profile << " " << row.option;
    EXPECT_TRUE(canonical_option(*find_option("link_profile"), row.profile)) << row.profile;
  }
}

TEST(Options, DefaultsOfTheContract) {
  const OptionSet set;
  EXPECT_EQ(set.integer("port_base"), 29600);
  EXPECT_EQ(set.integer("master_port"), 29500);
  EXPECT_EQ(set.integer("chunk_bytes"), 256 * 1024);
  EXPECT_EQ(set.integer("connect_timeout_ms"), 30000);
  EXPECT_FALSE(set.flag("fast_math"));
  EXPECT_EQ(set.text("transport"), "auto");
  EXPECT_EQ(set.origin("transport"), "default");
}

TEST(Options, PrecedenceStepByStep) {
  OptionSources sources;
  const auto chunk = [&] {
    const OptionSet set = OptionSet::resolve(sources).value();
    return set.text("chunk_bytes") + " " + set.origin("chunk_bytes");
  };
  EXPECT_EQ(chunk(), "256Ki default");
  sources.scenario["link_profile"] = "thunderbolt";
  EXPECT_EQ(chunk(), "1Mi link profile thunderbolt");
  sources.environment["MCCL_CHUNK_BYTES"] = "8192";
  EXPECT_EQ(chunk(), "8Ki env MCCL_CHUNK_BYTES");
  sources.environment["PLUMBLINE_CHUNK_BYTES"] = "16Ki";
  EXPECT_EQ(chunk(), "16Ki env PLUMBLINE_CHUNK_BYTES");
  sources.scenario["chunk_bytes"] = "32Ki";
  EXPECT_EQ(chunk(), "32Ki scenario");
  sources.flags["chunk_bytes"] = "64Ki";
  EXPECT_EQ(chunk(), "64Ki flag");
}

TEST(Options, AnOverriddenBadValueDoesNotStopTheRun) {
  OptionSources sources;
  sources.choices["transport"] = {"auto", "tcp", "memory"};
  sources.environment["MCCL_TRANSPORT"] = "rdma";
  EXPECT_THAT(only_problem(sources), HasSubstr("one of auto, tcp, memory"));
  sources.flags["transport"] = "TCP";
  EXPECT_EQ(OptionSet::resolve(sources).value().text("transport"), "tcp");
}

TEST(Options, EmptyVariableCountsAsUnset) {
  OptionSources sources;
  sources.environment["PLUMBLINE_MESH"] = "";
  sources.environment["MCCL_SHADER_PATH"] = "";
  sources.environment["PLUMBLINE_NO_SUCH_THING"] = "";
  EXPECT_EQ(OptionSet::resolve(sources).value().origin("mesh"), "default");
}

TEST(Options, AllProblemsAtOnce) {
  OptionSources sources;
  sources.flags["chunk_byte"] = "4096";
  sources.flags["ring_algo"] = "chunked";
  sources.scenario["transport"] = "pigeon";
  sources.choices["transport"] = {"auto", "tcp"};
  sources.scenario["spin_us"] = "-1";
  sources.environment["PLUMBLINE_PORTBASE"] = "1";
  sources.environment["MCCL_EVENT_SYNC"] = "1";
  sources.environment["MCCL_NEVER_HEARD_OF"] = "1";
  const auto set = OptionSet::resolve(sources);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().size(), 6u);
  const std::string text = messages(set.error());
  EXPECT_THAT(text, HasSubstr("--chunk-byte: no such option; did you mean --chunk-bytes?"));
  EXPECT_THAT(text, HasSubstr("--ring-algo: not available here: there is one ring"));
  EXPECT_THAT(text, HasSubstr("config.transport = 'pigeon': not accepted; give one of auto, tcp"));
  EXPECT_THAT(text, HasSubstr("config.spin_us = '-1': not accepted; give a whole number from 0"));
  EXPECT_THAT(text, HasSubstr("PLUMBLINE_PORTBASE: no such option; did you mean "
                              "PLUMBLINE_PORT_BASE?"));
  EXPECT_THAT(text, HasSubstr("MCCL_EVENT_SYNC: not available here: there is no GPU path"));
  EXPECT_THAT(text, Not(HasSubstr("NEVER_HEARD_OF")));
}

TEST(Options, UnknownUnitsOfSizesGetTheHintOfSizes) {
  OptionSources sources;
  sources.flags["chunk_bytes"] = "1Q";
  EXPECT_THAT(only_problem(sources), HasSubstr("units are Ki, Mi"));
  sources.flags["chunk_bytes"] = "1M";
  EXPECT_EQ(OptionSet::resolve(sources)->text("chunk_bytes"), "1Mi");
}

TEST(Options, BadValuesAreRefused) {
  const struct {
    const char *name, *value;
  } cases[] = {
      {"chunk_bytes", "4095"},
      {"chunk_bytes", "2Gi"},
      {"chunk_bytes", "-4096"},
      {"chunk_bytes", ""},
      {"chunk_bytes", "4096 "},
      {"chunk_bytes", "nan"},
      {"chunk_bytes", "1e30"},
      {"link_profile", "ethernet"},
      {"wait", "poll"},
      {"port_base", "0"},
      {"port_base", "65536"},
      {"port_base", "29600x"},
      {"port_base", "automatic"},
      {"port_base", "1e4"},
      {"master_port", "auto"},
      {"spin_us", "1.5"},
      {"spin_us", "0x10"},
      {"transport_crc", "maybe"},
      {"transport_crc", ""},
      {"connect_timeout_ms", "0"},
      {"connect_timeout_ms", "100us"},
      {"mesh", "eager|lazy"},
      {"listen_addr", "localhost"},
      {"listen_addr", "10.0.0"},
      {"listen_addr", "10.0.0.1/24"},
      {"listen_addr", ":::"},
      {"compression", "fp16\n"},
      {"log_level", "7"},
      {"algorithm", "ring\nx=1"},
      {"ifname", "a\x01"},
      {"spin_us", "99999999999999999999999"},
  };
  for (const auto& c : cases) {
    EXPECT_FALSE(OptionSet().with(c.name, c.value, "test")) << c.name << " = " << c.value;
  }
}

TEST(Options, GoodValuesGetOneSpelling) {
  const struct {
    const char *name, *value, *spelled;
  } cases[] = {
      {"chunk_bytes", "4096", "4Ki"},
      {"chunk_bytes", "1e6", "1000000"},
      {"sock_bufsize", "33554432", "32Mi"},
      {"sock_bufsize", "0", "0"},
      {"chunk_bytes", "1Gi", "1Gi"},
      {"connect_timeout_ms", "30s", "30000"},
      {"connect_timeout_ms", "5", "5"},
      {"transport_crc", "TRUE", "on"},
      {"transport_crc", "0", "off"},
      {"port_base", "AUTO", "auto"},
      {"port_base", "65535", "65535"},
      {"listen_addr", "FE80::1%en4", "fe80::1%en4"},
      {"listen_addr", "10.0.0.1", "10.0.0.1"},
      {"log_level", "debug", "DEBUG"},
      {"log_level", "3", "3"},
      {"link_profile", "Loopback", "loopback"},
  };
  for (const auto& c : cases) {
    const auto set = OptionSet().with(c.name, c.value, "test");
    ASSERT_TRUE(set) << c.name << " = " << c.value << ": " << set.error().message();
    EXPECT_EQ(set->text(c.name), c.spelled);
    EXPECT_EQ(set->origin(c.name), "test");
  }
  EXPECT_EQ(OptionSet().with("port_base", "auto", "flag")->integer("port_base"), 0);
}

TEST(Options, ValuesInMessagesAreCutAndPrintable) {
  const auto set = OptionSet().with("mesh", std::string(5000, '\x1b'), "flag");
  ASSERT_FALSE(set);
  EXPECT_LT(set.error().message().size(), 300u);
  EXPECT_THAT(set.error().message(), Not(HasSubstr("\x1b")));
}

TEST(Options, AnUnknownVariableNeverShowsItsValue) {
  OptionSources sources;
  sources.environment["PLUMBLINE_TOKEN"] = "seeded-secret";
  const std::string text = only_problem(sources);
  EXPECT_THAT(text, HasSubstr("PLUMBLINE_TOKEN: no such option"));
  EXPECT_THAT(text, Not(HasSubstr("seeded-secret")));
}

TEST(Options, VariablesThatAreNoOptionsAreLeftAlone) {
  setenv("PLUMBLINE_TOKEN_FILE", "/tmp/somewhere", 1);
  setenv("PLUMBLINE_SPIN_US", "7", 1);
  const auto environment = read_option_environment();
  unsetenv("PLUMBLINE_TOKEN_FILE");
  unsetenv("PLUMBLINE_SPIN_US");
  EXPECT_EQ(environment.count("PLUMBLINE_TOKEN_FILE"), 0u);
  EXPECT_EQ(environment.at("PLUMBLINE_SPIN_US"), "7");
  for (const auto& [name, value] : environment) {
    EXPECT_TRUE(name.rfind("PLUMBLINE_", 0) == 0 || name.rfind("MCCL_", 0) == 0) << name;
  }
  OptionSources sources;
  sources.environment["PLUMBLINE_TOKEN_FILE"] = "/tmp/somewhere";
  EXPECT_TRUE(OptionSet::resolve(sources));
}

TEST(Options, ReplacingTheLinkProfileReplacesWhatItSet) {
  OptionSources sources;
  sources.flags["link_profile"] = "thunderbolt";
  sources.flags["sock_bufsize"] = "2Mi";
  const OptionSet thunderbolt = OptionSet::resolve(sources).value();
  const OptionSet loopback = thunderbolt.with("link_profile", "loopback", "cell").value();
  EXPECT_EQ(loopback.text("chunk_bytes"), "256Ki");
  EXPECT_EQ(loopback.text("congestion_control"), "reno");
  EXPECT_EQ(loopback.text("sock_bufsize"), "2Mi");
  const OptionSet none = loopback.with("link_profile", "none", "cell").value();
  EXPECT_EQ(none.origin("congestion_control"), "default");
  EXPECT_EQ(none.text("congestion_control"), "auto");
}

TEST(Options, ACountIsANumberFromOneOnOrAuto) {
  const OptionRow& row = *find_option("streams");
  EXPECT_EQ(canonical_option(row, "AUTO"), "auto");
  EXPECT_EQ(canonical_option(row, "4"), "4");
  for (const char* wrong : {"0", "65", "-1", "1.5", "", "many", "99999999999999999999"}) {
    EXPECT_FALSE(canonical_option(row, wrong)) << wrong;
  }
  EXPECT_EQ(accepted_option(row, "0"), "give a whole number from 1 to 64, or auto");
  const OptionSet all;
  EXPECT_EQ(all.integer("streams"), 0);
  EXPECT_EQ(all.with("streams", "4", "x")->integer("streams"), 4);
}

// A profile that sets what is set anyway would promise something that it does not do.
TEST(Options, EveryLinkProfileChangesSomething) {
  const OptionSet none;
  for (const LinkProfileRow& row : link_profile_table()) {
    const OptionSet with = none.with("link_profile", row.profile, "x").value();
    EXPECT_EQ(with.text(row.option), *canonical_option(*find_option(row.option), row.value));
    EXPECT_NE(with.text(row.option), none.text(row.option)) << row.profile << " " << row.option;
  }
}

TEST(Options, ConfigCoversWhatMustAgreeAndNothingElse) {
  const OptionSet base;
  for (const OptionRow& row : option_table()) {
    if (row.refused != nullptr || row.type != OptionType::kBool) continue;
    const std::string other = base.flag(row.name) ? "off" : "on";
    EXPECT_EQ(base.with(row.name, other, "x")->config_text() != base.config_text(), row.must_agree)
        << row.name;
  }
  EXPECT_NE(base.with("chunk_bytes", "8Ki", "x")->config_text(), base.config_text());
  EXPECT_EQ(base.with("spin_us", "1", "x")->config_text(), base.config_text());
  // Equal settings read equal however they were written and wherever they came from.
  EXPECT_EQ(base.with("chunk_bytes", "262144", "x")->config_text(), base.config_text());
  EXPECT_THAT(base.config_text(), HasSubstr("\nchunk_bytes=256Ki\n"));
}

TEST(Options, ValuesHoldEverySupportedRow) {
  const auto values = OptionSet().values();
  for (const OptionRow& row : option_table()) {
    EXPECT_EQ(values.count(row.name), row.refused == nullptr ? 1u : 0u) << row.name;
  }
}

TEST(OptionsDeathTest, WrongNamesInTheProgramEndIt) {
  EXPECT_DEATH(static_cast<void>(OptionSet().integer("chunk_byte")), "is not in the table");
  EXPECT_DEATH(static_cast<void>(OptionSet().integer("mesh")), "is no whole number");
  EXPECT_DEATH(static_cast<void>(OptionSet().flag("mesh")), "is not on or off");
}

TEST(NearestName, FindsMisspellingsAndNothingFar) {
  const std::vector<std::string> valid = {"allreduce", "allgather", "chunk_bytes", "sum", "max"};
  EXPECT_EQ(nearest_name("allreduc", valid), "allreduce");
  EXPECT_EQ(nearest_name("AllReduce", valid), "allreduce");
  EXPECT_EQ(nearest_name("all-gather", valid), "allgather");
  EXPECT_EQ(nearest_name("smu", valid), "sum");
  EXPECT_EQ(nearest_name("chunk", valid), "chunk_bytes");
  EXPECT_EQ(nearest_name("pigeon", valid), "");
  EXPECT_EQ(nearest_name("", valid), "");
  EXPECT_EQ(nearest_name("ab", valid), "");
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'a'), valid), "");
  EXPECT_EQ(nearest_name("sum", {}), "");
}

}  // namespace
}  // namespace plumbline
