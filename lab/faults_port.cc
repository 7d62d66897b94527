// Processes on the job's ports: holders, strangers, leftovers.
#include <fmt/format.h>

#include "lab/address.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string needs_holder(const Lab&) { return holder_unavailable(); }
std::string needs_redirect(const Lab& lab) {
  const bool can = has_tool("nft") || (has_tool("iptables-legacy") && needs_v4(lab).empty());
  return first_reason(
      {holder_unavailable(),
       can ? "" : "needs nft or iptables-legacy (Debian: packages nftables, iptables)"});
}
// An fe80 address can only be bound together with its interface.
std::string needs_bindable(const Lab& lab) {
  return first_reason({holder_unavailable(), lab.topology.family == "link_local6"
                                                 ? "needs addresses without a scope"
                                                 : ""});
}

const std::vector<std::string>& banners() {
  static const std::vector<std::string> table = {
      "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n",
      "220 mail ESMTP\r\n", "-ERR unknown command\r\n", ""};
  return table;
}

void hold(FaultMaker& maker, const std::string& ip, const std::string& name) {
  const bool is_ours = name == "plumbline";
  const std::string& banner = maker.draw.pick(banners());
  maker.plan.helpers = {
      holder_helper(maker.draw, maker.host.netns, ip, maker.target.port, banner, name)};
  maker.how("a process{} holds port {} on {} of {}", name.empty() ? "" : " called " + name,
            maker.target.port, ip, maker.host.name);
  maker.plan.injected.any_peer = true;
  // Of a stranger only its owner can say whether it may end: there is no command.
  maker.plan.injected.remedy_is_local = is_ours;
}

void port_in_use(FaultMaker& maker) {
  maker.expect({"tcp.port_in_use"});
  const std::string any = maker.v6() ? "::" : "0.0.0.0";
  const std::string name = maker.draw.pick({"", "redis", "jupyter", "vllm"});
  hold(maker, any, name);
}

void port_in_use_address(FaultMaker& maker) {
  maker.expect({"tcp.port_in_use"});
  hold(maker, maker.ip(), "");
}

void stale_process(FaultMaker& maker) {
  maker.expect({"host.stale_process", "tcp.port_in_use"}).warn();
  hold(maker, maker.v6() ? "::" : "0.0.0.0", "plumbline");
}

void listener_on_loopback(FaultMaker& maker) {
  // The job's own listener on the data address may still come.
  maker.expect({"tcp.listener_wrong_address"}).warn();
  hold(maker, maker.v6() ? "::1" : "127.0.0.1", "");
}

// A stranger on another port, and a rule that hands it the job's connections.
void wrong_service(FaultMaker& maker) {
  const std::string& netns = maker.host.netns;
  const int port = maker.target.port, stranger = maker.draw.between(2000, 9000);
  const std::string any = maker.v6() ? "::" : "0.0.0.0";
  const std::string banner = banners()[maker.draw.below(banners().size() - 1)];
  maker.plan.helpers = {holder_helper(maker.draw, netns, any, stranger, banner, "")};
  const bool legacy =
      !maker.v6() && has_tool("iptables-legacy") && (!has_tool("nft") || maker.draw.coin());
  if (legacy) {
    const auto command = [&](const char* action) {
      return in_netns(netns,
                      "iptables-legacy -w 5 -t nat -{} PREROUTING -p tcp --dport "
                      "{} -j REDIRECT --to-ports {}",
                      action, port, stranger);
    };
    maker.step(command("A"), command("D"));
  } else {
    const std::string table = "nat_" + maker.draw.hex(3);
    maker.nft_table(netns, "inet " + table, "pre",
                    "nat hook prerouting priority -100; policy accept;",
                    {fmt::format("tcp dport {} redirect to :{}", port, stranger)});
  }
  maker.how("{} redirects port {} of {} to a stranger on port {}",
            legacy ? "iptables-legacy" : "nft", port, maker.host.name, stranger);
  maker.expect({"tcp.wrong_service"}).any_peer();
}

// The master port inside the window of ports, by the command line alone.
void port_collision(FaultMaker& maker) {
  const int port = maker.target.ports.back();
  maker.plan.injected.doctor_args = {"--master-port", std::to_string(port)};
  maker.how("the master port is {}, which is in the window of ports", port);
  maker.expect({"tcp.port_collision"}).or_any_host().any_peer().remedy_elsewhere();
}

}  // namespace

std::vector<FaultRow> port_faults() {
  return {
      {"port_in_use", "another process holds a port of the job on all addresses", needs_holder,
       port_in_use},
      {"port_in_use_address", "another process holds a port on the data address", needs_bindable,
       port_in_use_address},
      {"stale_process", "a leftover plumbline holds a port of the job", needs_holder,
       stale_process},
      {"listener_on_loopback", "somebody listens on a port of the job, on loopback only",
       needs_holder, listener_on_loopback},
      {"wrong_service", "a rule hands a port of the job to a stranger", needs_redirect,
       wrong_service},
      {"port_collision", "the master port is one of the window", anywhere, port_collision},
  };
}

}  // namespace plumbline
