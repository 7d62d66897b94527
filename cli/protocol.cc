#include "cli/protocol.h"

#include <nlohmann/json.hpp>

namespace plumbline {

using nlohmann::json;

// Found by nlohmann through the argument's namespace; each pair is the whole description of one
// value's JSON.
static void to_json(json& j, const RankAddress& a) {
  j = {{"ip", a.ip}, {"prefix", a.prefix}, {"interface", a.interface}};
}
static void from_json(const json& j, RankAddress& a) {
  j.at("ip").get_to(a.ip);
  j.at("prefix").get_to(a.prefix);
  j.at("interface").get_to(a.interface);
}

static void to_json(json& j, const RankEndpoint& e) {
  j = {{"rank", e.rank}, {"host", e.host}, {"addresses", e.addresses}, {"port", e.port}};
}
static void from_json(const json& j, RankEndpoint& e) {
  j.at("rank").get_to(e.rank);
  j.at("host").get_to(e.host);
  j.at("addresses").get_to(e.addresses);
  j.at("port").get_to(e.port);
}

static void to_json(json& j, const Error& e) {
  j = {{"code", to_string(e.code)},
       {"what", e.what},
       {"errno", e.sys_errno},
       {"hint", e.hint},
       {"cause", e.cause}};
}
static void from_json(const json& j, Error& e) {
  e.code = error_code_from(j.at("code").get<std::string>());
  j.at("what").get_to(e.what);
  j.at("errno").get_to(e.sys_errno);
  j.at("hint").get_to(e.hint);
  j.at("cause").get_to(e.cause);
}

static void to_json(json& j, const OptionValue& o) {
  j = {{"value", o.value}, {"origin", o.origin}};
}
static void from_json(const json& j, OptionValue& o) {
  j.at("value").get_to(o.value);
  j.at("origin").get_to(o.origin);
}

static void to_json(json& j, const MeasureSettings& s) {
  j = {{"ci", s.stop.ci},
       {"min_n", s.stop.min_n},
       {"max_n", s.stop.max_n},
       {"max_time_ns", s.stop.max_time_ns},
       {"fixed_iterations", s.fixed_iterations},
       {"fixed_warmup", s.fixed_warmup},
       {"verify_iterations", s.verify_iterations},
       {"verify_timed", s.verify_timed},
       {"throughput_time_ns", s.throughput_time_ns},
       {"cold_operations", s.cold_operations},
       {"operation_timeout_ms", s.operation_timeout_ms},
       {"aggregate", s.aggregate},
       {"pair_reasons", s.pair_reasons}};
}
static void from_json(const json& j, MeasureSettings& s) {
  j.at("ci").get_to(s.stop.ci);
  j.at("min_n").get_to(s.stop.min_n);
  j.at("max_n").get_to(s.stop.max_n);
  j.at("max_time_ns").get_to(s.stop.max_time_ns);
  j.at("fixed_iterations").get_to(s.fixed_iterations);
  j.at("fixed_warmup").get_to(s.fixed_warmup);
  j.at("verify_iterations").get_to(s.verify_iterations);
  j.at("verify_timed").get_to(s.verify_timed);
  j.at("throughput_time_ns").get_to(s.throughput_time_ns);
  j.at("cold_operations").get_to(s.cold_operations);
  j.at("operation_timeout_ms").get_to(s.operation_timeout_ms);
  j.at("aggregate").get_to(s.aggregate);
  j.at("pair_reasons").get_to(s.pair_reasons);
}

static void to_json(json& j, const SetupMessage& m) {
  j = {{"rank", m.rank},           {"size", m.size},           {"group", m.group},
       {"token", to_hex(m.token)}, {"plan_hash", m.plan_hash}, {"host", m.host},
       {"addresses", m.addresses}, {"port", m.port},           {"options", m.options}};
}
static void from_json(const json& j, SetupMessage& m) {
  j.at("rank").get_to(m.rank);
  j.at("size").get_to(m.size);
  j.at("group").get_to(m.group);
  if (!from_hex(j.at("token").get<std::string>(), m.token)) {
    throw json::other_error::create(501, "token is not 64 hex digits", &j);
  }
  j.at("plan_hash").get_to(m.plan_hash);
  j.at("host").get_to(m.host);
  j.at("addresses").get_to(m.addresses);
  j.at("port").get_to(m.port);
  j.at("options").get_to(m.options);
}

static void to_json(json& j, const ReadyMessage& m) {
  j = {{"endpoint", m.endpoint}, {"facts", m.facts}, {"version", m.version}};
}
static void from_json(const json& j, ReadyMessage& m) {
  j.at("endpoint").get_to(m.endpoint);
  j.at("facts").get_to(m.facts);
  j.at("version").get_to(m.version);
}

static void to_json(json& j, const ConnectMessage& m) {
  j = {{"endpoints", m.endpoints},
       {"apart", m.apart},
       {"ranks_on_machine", m.ranks_on_machine},
       {"slot", m.slot},
       {"cpu_offset", m.cpu_offset}};
}
static void from_json(const json& j, ConnectMessage& m) {
  j.at("endpoints").get_to(m.endpoints);
  j.at("apart").get_to(m.apart);
  j.at("ranks_on_machine").get_to(m.ranks_on_machine);
  j.at("slot").get_to(m.slot);
  j.at("cpu_offset").get_to(m.cpu_offset);
  if (m.slot < 0 || m.slot >= m.ranks_on_machine) {
    throw json::other_error::create(501, "slot is not one of the machine's ranks", &j);
  }
}

static void to_json(json& j, const RunMessage& m) {
  j = {{"cell", m.cell}, {"settings", m.settings}};
}
static void from_json(const json& j, RunMessage& m) {
  j.at("cell").get_to(m.cell);
  j.at("settings").get_to(m.settings);
}

static void to_json(json& j, const MeasurementMessage& m) { j = {{"measurement", m.measurement}}; }
static void from_json(const json& j, MeasurementMessage& m) {
  j.at("measurement").get_to(m.measurement);
}

static void to_json(json& j, const ErrorMessage& m) { j = {{"error", m.error}}; }
static void from_json(const json& j, ErrorMessage& m) { j.at("error").get_to(m.error); }

// Messages without content.
static void to_json(json& j, const ConnectedMessage&) { j = json::object(); }
static void from_json(const json&, ConnectedMessage&) {}
static void to_json(json& j, const InterruptMessage&) { j = json::object(); }
static void from_json(const json&, InterruptMessage&) {}
static void to_json(json& j, const AliveMessage&) { j = json::object(); }
static void from_json(const json&, AliveMessage&) {}
static void to_json(json& j, const LeaveMessage&) { j = json::object(); }
static void from_json(const json&, LeaveMessage&) {}
static void to_json(json& j, const LeftMessage&) { j = json::object(); }
static void from_json(const json&, LeftMessage&) {}
static void to_json(json& j, const DismissMessage&) { j = json::object(); }
static void from_json(const json&, DismissMessage&) {}

namespace {

// In the order of the variant.
constexpr std::array kTypes = {"setup", "ready",     "connect", "connected", "run",  "measurement",
                               "error", "interrupt", "alive",   "leave",     "left", "dismiss"};
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
    return fail(ErrorCode::kProtocol, std::string("bad control message: ") + error.what(),
                "coordinator and ranks must be the same build");
  }
}

}  // namespace plumbline
