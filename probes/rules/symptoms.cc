
#include <iterator>

#include "core/ranges.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

// Warnings and notes about pairs that are only symptoms where something on these rungs fails.
struct SymptomRow {
  const char* cause;  // or its beginning, up to a dot
  int from, to;       // rungs of failures that explain it
};
constexpr SymptomRow kExplainedByFailure[] = {
    {"icmp.", kRungHost, kRungMtu},      {"loss.", kRungHost, kRungRoute},
    {"rate.", kRungHost, kRungRoute},    {"rate.", kRungMtu, kRungQuality},
    {"latency.", kRungHost, kRungRoute}, {"latency.", kRungMtu, kRungQuality},
    {"mtu.", kRungLink, kRungFirewall},  {"path.", kRungLink, kRungRoute},
    {"route.", kRungLink, kRungRoute},
};

// Warnings that are only symptoms of other warnings on the same hosts.
struct WarningRow {
  const char* symptom;
  const char* cause;
};
constexpr WarningRow kExplainedByWarning[] = {
    {"rate.", "loss."},
    {"rate.", "link.speed"},
    {"rate.", "link.duplex"},
    {"rate.", "link.errors"},
    {"rate.", "link.flapping"},
    {"rate.", "path.slower_used"},
    {"rate.", "route.wrong_interface"},
    {"rate.", "host.sockbuf_clamped"},
    {"rate.", "host.overloaded"},
    {"rate.", "mtu."},
    {"rate.host_limited", "host.oversubscribed"},
    {"latency.", "rate."},
    {"latency.", "path.slower_used"},
    {"latency.", "host.overloaded"},
    {"latency.", "loss."},
    {"latency.", "route.wrong_interface"},
    {"loss.", "link.duplex"},
    {"loss.", "link.errors"},
    {"loss.", "link.flapping"},
};

// Failures of a host that follow from another finding about the same host: where the host file
// names an address that the host does not use, its own name cannot mean that address.
constexpr WarningRow kExplainedOnHost[] = {
    {"name.wrong_address", "ip."},
    {"name.wrong_address", "link."},
    {"name.wrong_address", "path.slower_used"},
};

// What a link looks like that is looked at while its signal is gone, or loaded while it goes.
struct FlappingRow {
  const char* symptom;
  bool always;  // also where it has evidence of its own: that is packets that got lost
};
constexpr FlappingRow kExplainedByFlapping[] = {
    {"link.down", false},
    {"link.no_carrier", false},
    {"link.not_in_bridge", false},
    {"neighbour.", false},
    {"route.", false},
    {"icmp.", false},
    {"firewall.", false},
    {"firewall.idle_timeout", true},
    {"tcp.no_listener", false},
    {"mtu.blackhole", true},
    {"loss.", true},
    {"rate.", true},
    {"latency.", true},
    {"topology.rail_mismatch", false},
};

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

template <size_t N>
bool has_row(const WarningRow (&table)[N], const std::string& symptom, const std::string& cause) {
  return any_of(table, [&](const WarningRow& row) {
    return begins(symptom, row.symptom) && begins(cause, row.cause);
  });
}

}  // namespace

bool follows_from_failure(const std::string& symptom, int rung) {
  return any_of(kExplainedByFailure, [&](const SymptomRow& row) {
    return begins(symptom, row.cause) && rung >= row.from && rung <= row.to;
  });
}

bool follows_from_warning(const std::string& symptom, const std::string& cause) {
  return has_row(kExplainedByWarning, symptom, cause);
}

bool follows_from_flapping(const std::string& symptom, bool proven) {
  return any_of(kExplainedByFlapping, [&](const FlappingRow& row) {
    return begins(symptom, row.symptom) && (row.always || !proven);
  });
}

bool follows_on_host(const std::string& symptom, const std::string& cause) {
  return has_row(kExplainedOnHost, symptom, cause);
}

}  // namespace plumbline
