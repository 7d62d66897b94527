// Values that the tests of the probes build their cases from.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "probes/probe.h"
#include "probes/subnet.h"

namespace plumbline::test {

inline NicAddress address(const std::string& ip, int prefix) {
  NicAddress out;
  out.ip = ip;
  out.prefix = prefix;
  out.v6 = ip.find(':') != std::string::npos;
  out.loopback = same_subnet(ip, "127.0.0.1", 8) || ip == "::1";
  out.link_local = same_subnet(ip, "169.254.0.0", 16) || same_subnet(ip, "fe80::", 10);
  return out;
}

inline Nic nic(const std::string& name, std::vector<NicAddress> addresses, bool up = true,
               bool carrier = true) {
  Nic out;
  out.name = name;
  out.kind = name == "lo" ? "loopback" : "ethernet";
  out.up = up;
  out.carrier = carrier;
  out.mtu = 1500;
  out.addresses = std::move(addresses);
  return out;
}

inline Nic loopback() { return nic("lo", {address("127.0.0.1", 8), address("::1", 128)}); }

inline const Finding* find_cause(const ProbeResult& result, const std::string& cause) {
  for (const Finding& finding : result.findings) {
    if (finding.cause == cause) return &finding;
  }
  return nullptr;
}

inline std::string causes(const ProbeResult& result) {
  std::string text;
  for (const Finding& finding : result.findings) text += finding.cause + " ";
  return text;
}

// The check whose key ends so; a failure and an empty check when there is none.
inline Check check_ending(const ProbeResult& result, const std::string& end) {
  for (const Check& check : result.checks) {
    if (check.key.ends_with(end)) return check;
  }
  ADD_FAILURE() << "no check ends in " << end;
  return {};
}

// Everything that must hold for whatever a probe says.
inline void expect_well_formed(const ProbeResult& result) {
  std::vector<std::string> keys;
  for (const Check& check : result.checks) {
    EXPECT_FALSE(check.reason.empty()) << check.key << " gives no reason";
    EXPECT_EQ(check.reason.find('\n'), std::string::npos) << check.key;
    EXPECT_EQ(check.key.rfind(check.id + "/" + check.host, 0), 0u) << check.key;
    EXPECT_EQ(std::count(keys.begin(), keys.end(), check.key), 0) << check.key << " stands twice";
    keys.push_back(check.key);
  }
  for (const Finding& finding : result.findings) {
    EXPECT_FALSE(finding.evidence.empty()) << finding.cause;
    EXPECT_FALSE(finding.remedy.empty()) << finding.cause;
    EXPECT_FALSE(finding.host.empty()) << finding.cause;
    EXPECT_GT(finding.confidence, 0) << finding.cause;
    EXPECT_LE(finding.confidence, 1) << finding.cause;
    for (const std::string& key : finding.explains) {
      EXPECT_EQ(std::count(keys.begin(), keys.end(), key), 1)
          << finding.cause << " explains an unknown check " << key;
    }
  }
}

// A context of n hosts on this machine's loopback, as `{"local": N}` makes them.
inline ProbeContext local_context(int hosts, const OptionSet& options) {
  ProbeContext context;
  for (int i = 0; i < hosts; ++i) {
    context.hosts.push_back({"local" + std::to_string(i), {address("127.0.0.1", 8)}});
  }
  context.ranks = hosts;
  context.options = &options;
  context.facts.nics = {loopback()};
  context.facts.hostname = "plumbline-test-host";
  context.facts.cores_usable = 64;
  context.facts.load1 = 0.1;
  context.facts.ephemeral_ports = {32768, 60999};
  return context;
}

}  // namespace plumbline::test
