#include "runs/ranks/protocol.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "core/field_json.h"
#include "core/json.h"

namespace plumbline {

using nlohmann::json;

namespace {

constexpr size_t kMostClaimed = 1 << 20;  // of what a transport says of one rank

// Bytes of a transport travel as hex digits.
std::string hex_of(const std::string& bytes) {
  return to_hex(std::as_bytes(std::span(bytes.data(), bytes.size())));
}
void get_bytes(const json& j, const char* key, std::string& bytes) {
  std::string hex;
  get_field(j, key, hex);
  std::string read(std::min(hex.size() / 2, kMostClaimed), '\0');
  if (!from_hex(hex, std::as_writable_bytes(std::span(read.data(), read.size())))) {
    throw json::other_error::create(501, std::string(key) + " is not bytes in hex digits", &j);
  }
  bytes = std::move(read);
}

}  // namespace

// Found by nlohmann through the argument's namespace; each pair is the whole description of one
// value's JSON.
static void to_json(json& j, const RankEndpoint& e) {
  j = {{"host", e.host}, {"claimed", hex_of(e.claimed)}};
}
static void from_json(const json& j, RankEndpoint& e) {
  get_field(j, "host", e.host);
  get_bytes(j, "claimed", e.claimed);
}

static void to_json(json& j, const RefusedConnections& r) {
  j = {{"total", r.total}, {"by_address", r.by_address}};
}
static void from_json(const json& j, RefusedConnections& r) {
  RefusedConnections said;
  get_field(j, "total", said.total);
  get_field(j, "by_address", said.by_address);
  r = {};
  r.add(said);  // no more addresses than we keep ourselves
}

static void to_json(json& j, const OptionValue& o) {
  j = {{"value", o.value}, {"origin", o.origin}};
}
static void from_json(const json& j, OptionValue& o) {
  get_field(j, "value", o.value);
  get_field(j, "origin", o.origin);
}

static void to_json(json& j, const MeasureSettings& s) {
  j = {{"ci", s.stop.ci},
       {"min_n", s.stop.min_n},
       {"max_n", s.stop.max_n},
       {"max_time_ns", s.stop.max_time_ns},
       {"fixed_iterations", s.fixed_iterations},
       {"fixed_warmup", s.fixed_warmup},
       {"tail", s.tail},
       {"verify_iterations", s.verify_iterations},
       {"verify_seed", s.verify_seed},
       {"throughput_time_ns", s.throughput_time_ns},
       {"cold_operations", s.cold_operations},
       {"operation_timeout_ms", s.operation_timeout_ms},
       {"aggregate", s.aggregate},
       {"pair_reasons", s.pair_reasons},
       {"endpoint_key", s.endpoint_key},
       {"endpoint_silence_ms", s.endpoint_silence_ms}};
}
static void from_json(const json& j, MeasureSettings& s) {
  get_field(j, "ci", s.stop.ci);
  get_field(j, "min_n", s.stop.min_n);
  get_field(j, "max_n", s.stop.max_n);
  get_field(j, "max_time_ns", s.stop.max_time_ns);
  get_field(j, "fixed_iterations", s.fixed_iterations);
  get_field(j, "fixed_warmup", s.fixed_warmup);
  get_field(j, "tail", s.tail);
  get_field(j, "verify_iterations", s.verify_iterations);
  get_field(j, "verify_seed", s.verify_seed);
  get_field(j, "throughput_time_ns", s.throughput_time_ns);
  get_field(j, "cold_operations", s.cold_operations);
  get_field(j, "operation_timeout_ms", s.operation_timeout_ms);
  get_field(j, "aggregate", s.aggregate);
  get_field(j, "pair_reasons", s.pair_reasons);
  get_field(j, "endpoint_key", s.endpoint_key);
  get_field(j, "endpoint_silence_ms", s.endpoint_silence_ms);
}

static void to_json(json& j, const SetupMessage& m) {
  j = {{"rank", m.rank},           {"size", m.size},           {"group", m.group},
       {"token", to_hex(m.token)}, {"plan_hash", m.plan_hash}, {"host", m.host},
       {"site", hex_of(m.site)},   {"options", m.options}};
}
static void from_json(const json& j, SetupMessage& m) {
  get_field(j, "rank", m.rank);
  get_field(j, "size", m.size);
  get_field(j, "group", m.group);
  if (!from_hex(j.at("token").get<std::string>(), m.token)) {
    throw json::other_error::create(501, "token is not 64 hex digits", &j);
  }
  get_field(j, "plan_hash", m.plan_hash);
  get_field(j, "host", m.host);
  get_bytes(j, "site", m.site);
  get_field(j, "options", m.options);
}

static void to_json(json& j, const ReadyMessage& m) {
  j = {{"claimed", hex_of(m.claimed)}, {"facts", m.facts}, {"version", m.version}};
}
static void from_json(const json& j, ReadyMessage& m) {
  get_bytes(j, "claimed", m.claimed);
  get_field(j, "facts", m.facts);
  get_field(j, "version", m.version);
}

static void to_json(json& j, const ConnectMessage& m) {
  j = {{"endpoints", m.endpoints},
       {"apart", m.apart},
       {"ranks_on_machine", m.ranks_on_machine},
       {"slot", m.slot},
       {"cpu_offset", m.cpu_offset},
       {"progress_thread", m.progress_thread}};
}
static void from_json(const json& j, ConnectMessage& m) {
  get_field(j, "endpoints", m.endpoints);
  get_field(j, "apart", m.apart);
  get_field(j, "ranks_on_machine", m.ranks_on_machine);
  get_field(j, "slot", m.slot);
  get_field(j, "cpu_offset", m.cpu_offset);
  get_field(j, "progress_thread", m.progress_thread);
  if (m.slot < 0 || m.slot >= m.ranks_on_machine) {
    throw json::other_error::create(501, "slot is not one of the machine's ranks", &j);
  }
}

static void to_json(json& j, const RunMessage& m) {
  j = {{"cell", m.cell}, {"settings", m.settings}};
}
static void from_json(const json& j, RunMessage& m) {
  get_field(j, "cell", m.cell);
  get_field(j, "settings", m.settings);
}

static void to_json(json& j, const MeasurementMessage& m) {
  j = {{"measurement", m.measurement}, {"refused", m.refused}};
}
static void from_json(const json& j, MeasurementMessage& m) {
  get_field(j, "measurement", m.measurement);
  get_field(j, "refused", m.refused);
}

static void to_json(json& j, const ErrorMessage& m) {
  j = {{"error", m.error}, {"refused", m.refused}};
}
static void from_json(const json& j, ErrorMessage& m) {
  get_field(j, "error", m.error);
  get_field(j, "refused", m.refused);
}

static void to_json(json& j, const GiveUpMessage& m) { j = {{"error", m.error}}; }
static void from_json(const json& j, GiveUpMessage& m) { get_field(j, "error", m.error); }

static void to_json(json& j, const ConnectedMessage& m) {
  j = {{"refused", m.refused}, {"transport", m.transport}};
  FieldValue<std::vector<FellBack>>::write(m.fell_back, j["fell_back"]);
}
static void from_json(const json& j, ConnectedMessage& m) {
  get_field(j, "refused", m.refused);
  get_field(j, "transport", m.transport);
  FieldValue<std::vector<FellBack>>::read(j.at("fell_back"), m.fell_back);
}
static void to_json(json& j, const LeftMessage& m) { j = {{"refused", m.refused}}; }
static void from_json(const json& j, LeftMessage& m) { get_field(j, "refused", m.refused); }

// Messages without content.
static void to_json(json& j, const InterruptMessage&) { j = json::object(); }
static void from_json(const json&, InterruptMessage&) {}
static void to_json(json& j, const AliveMessage&) { j = json::object(); }
static void from_json(const json&, AliveMessage&) {}
static void to_json(json& j, const LeaveMessage&) { j = json::object(); }
static void from_json(const json&, LeaveMessage&) {}
static void to_json(json& j, const DismissMessage&) { j = json::object(); }
static void from_json(const json&, DismissMessage&) {}

namespace {

// In the order of the variant.
constexpr std::array kTypes = {"setup",       "ready",   "connect",   "connected", "run",
                               "measurement", "error",   "interrupt", "alive",     "leave",
                               "left",        "dismiss", "give_up"};
static_assert(kTypes.size() == std::variant_size_v<Message>);

template <size_t I = 0>
Message parse_as(const json& j, const std::string& type) {
  if constexpr (I < std::variant_size_v<Message>) {
    if (type == kTypes[I]) {
      std::variant_alternative_t<I, Message> message;
      from_json(j, message);
      return message;
    }
    return parse_as<I + 1>(j, type);
  }
  throw json::other_error::create(501, "unknown message type '" + type + "'", &j);
}

}  // namespace

std::string encode(const Message& message) {
  json j = std::visit(
      [](const auto& value) {
        json object;
        to_json(object, value);
        return object;
      },
      message);
  j["type"] = kTypes[message.index()];
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

Expected<Message> decode(std::string_view line) {
  try {
    const json j = json::parse(line);
    return parse_as(j, j.at("type").get<std::string>());
  } catch (const json::exception& error) {
    return fail(ErrorCode::kProtocol, "bad control message: " + json_trouble(error),
                "coordinator and ranks must be the same build");
  }
}

}  // namespace plumbline
