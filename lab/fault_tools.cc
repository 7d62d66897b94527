#include "lab/fault_tools.h"

#include <unistd.h>

#include <filesystem>

#include "core/clock.h"
#include "core/command.h"
#include "core/shell_words.h"
#include "lab/address.h"
#include "lab/lab_files.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

const LabHost& host_of(const Lab& lab, const std::string& name) {
  const LabHost* host = find_lab_host(lab, name);
  return host != nullptr ? *host : lab.hosts.front();
}

// The one table of faults, family by family.
constexpr std::pair<const char*, std::vector<FaultRow> (*)()> kFamilies[] = {
    {"firewall", firewall_faults}, {"port", port_faults},           {"link", link_faults},
    {"address", address_faults},   {"neighbour", neighbour_faults}, {"route", route_faults},
    {"quality", quality_faults},   {"name", name_faults},           {"agent", agent_faults},
    {"wiring", wiring_faults}};

// Listens, answers, and never ends by itself. Arguments: address, port, name, banner.
constexpr const char* kPython =
    "import os,socket,sys\n"
    "a,p,n,b=sys.argv[1:5]\n"
    "if n: open('/proc/self/comm','w').write(n)\n"
    "s=socket.socket(socket.AF_INET6 if ':' in a else socket.AF_INET)\n"
    "s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n"
    "s.bind((a,int(p)))\n"
    "s.listen(16)\n"
    "os.write(1,b'ready\\n')\n"
    "kept=[]\n"
    "while True:\n"
    "  c,_=s.accept()\n"
    "  try:\n"
    "    if b: c.sendall(b.encode()); c.close()\n"
    "    else: kept=kept[-50:]+[c]\n"
    "  except OSError: pass\n";
constexpr const char* kPerl =
    "use IO::Socket::IP; my($a,$p,$n,$b)=@ARGV; $SIG{PIPE}='IGNORE';\n"
    "if($n ne ''){open(F,'>/proc/self/comm');print F $n;close F}\n"
    "my $s=IO::Socket::IP->new(LocalHost=>$a,LocalPort=>$p,Listen=>16,ReuseAddr=>1)||die;\n"
    "$|=1; print \"ready\\n\"; my @kept;\n"
    "while(my $c=$s->accept){if($b ne ''){syswrite($c,$b);close $c}"
    "else{push @kept,$c;shift @kept if @kept>50}}\n";

// Debian's own interpreters before whatever PATH names first (wrappers, mostly).
std::string interpreter(const std::string& name) {
  const std::string usual = "/usr/bin/" + name;
  return access(usual.c_str(), X_OK) == 0 ? usual : find_program(name);
}

}  // namespace

FaultMaker::FaultMaker(const Lab& the_lab, const FaultTarget& the_target, std::mt19937_64& random)
    : lab(the_lab),
      target(the_target),
      host(host_of(the_lab, the_target.host)),
      peer(host_of(the_lab, the_target.peer)),
      link(link_to(host, the_target.peer)),
      back(link_to(peer, the_target.host)),
      draw(random) {}

bool FaultMaker::v6() const { return is_v6(link.data); }
std::string FaultMaker::ip() const { return ip_of(link.data); }
std::string FaultMaker::peer_ip() const { return ip_of(back.data); }

FaultMaker& FaultMaker::step(std::string command) {
  plan.steps.push_back(std::move(command));
  return *this;
}

FaultMaker& FaultMaker::undo(std::string command) {
  plan.injected.undo.insert(plan.injected.undo.begin(), std::move(command));
  return *this;
}

FaultMaker& FaultMaker::undo(const std::vector<std::string>& commands) {
  plan.injected.undo.insert(plan.injected.undo.begin(), commands.begin(), commands.end());
  return *this;
}

FaultMaker& FaultMaker::step(std::string command, std::string undo_command) {
  step(std::move(command));
  return undo(std::move(undo_command));
}

FaultMaker& FaultMaker::how(const std::string& text) {
  std::string& so_far = plan.injected.how;
  so_far += so_far.empty() ? text : "; " + text;
  return *this;
}

FaultMaker& FaultMaker::expect(std::vector<std::string> causes, const std::string& peer_name) {
  plan.injected.causes = std::move(causes);
  plan.injected.expect_host = host.name;
  plan.injected.expect_peer = peer_name;
  return *this;
}

FaultMaker& FaultMaker::expect_host_cause(std::vector<std::string> causes) {
  expect(std::move(causes));
  plan.injected.any_peer = mesh() || lab.hosts.size() == 2;
  return *this;
}

FaultMaker& FaultMaker::warn() {
  plan.injected.warn = true;
  return *this;
}

FaultMaker& FaultMaker::any_peer() {
  plan.injected.any_peer = true;
  return *this;
}

FaultMaker& FaultMaker::or_peer() {
  plan.injected.other_hosts = {peer.name};
  return *this;
}

FaultMaker& FaultMaker::or_any_host() {
  for (const LabHost& other : lab.hosts) plan.injected.other_hosts.push_back(other.name);
  return *this;
}

FaultMaker& FaultMaker::remedy_elsewhere() {
  plan.injected.remedy_is_local = false;
  return *this;
}

FaultMaker& FaultMaker::nft_table(const std::string& netns, const std::string& table,
                                  const std::string& chain, const std::string& type,
                                  const std::vector<std::string>& rules) {
  std::string lines;
  for (const std::string& rule : rules) lines += "    " + rule + "\n";
  return step(in_netns(netns, "nft -f - <<'END'") +
                  fmt::format("\ntable {} {{\n  chain {} {{\n    type {}\n{}  }}\n}}\nEND", table,
                              chain, type, lines),
              in_netns(netns, "nft delete table " + table));
}

FaultMaker& FaultMaker::names(const LabHost& of,
                              const std::map<std::string, std::string>& addresses) {
  // Written in place: the file may be bind-mounted by what runs there.
  const auto write = [&](const std::map<std::string, std::string>& what) {
    return "printf %s " + shell_quoted(names_text(lab, of, what)) + " > " + names_folder(of) +
           "/hosts";
  };
  return step(write(addresses), write({}));
}

std::string FaultMaker::other_interface() {
  if (!host.control_interface.empty()) return host.control_interface;
  const std::string name = "x" + draw.hex(6), end = "y" + draw.hex(6);
  step(ip_in(host.netns, "link add {} type veth peer name {}", name, end),
       ip_in(host.netns, "link del {}", name));
  step(ip_in(host.netns, "link set {} up", name));
  step(ip_in(host.netns, "link set {} up", end));
  return name;
}

const std::vector<FaultRow>& fault_table() {
  static const std::vector<FaultRow> table = [] {
    std::vector<FaultRow> rows;
    for (const auto& [family, faults] : kFamilies) {
      for (const FaultRow& row : faults()) rows.emplace_back(row).family = family;
    }
    return rows;
  }();
  return table;
}

FaultPlan plan_fault(const FaultRow& row, const Lab& lab, const FaultTarget& target,
                     std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  row.fill(maker);
  return std::move(maker.plan);
}

bool has_tool(const char* program) { return !find_program(program).empty(); }

bool ping_without_root() {
  static const bool can = [] {
    const std::string ping = find_program("ping");
    if (ping.empty()) return false;
    std::error_code none;
    const auto mode = std::filesystem::status(ping, none).permissions();
    if (!none && (mode & std::filesystem::perms::set_uid) != std::filesystem::perms::none) {
      return true;
    }
    constexpr int64_t kWaitMs = 2000;
    const auto said = run_command({"getcap", ping}, Deadline::after_ms(kWaitMs));
    return said && said->out.find("cap_net_raw") != std::string::npos;
  }();
  return can;
}

FaultHelper holder_helper(Draw& draw, const std::string& netns, const std::string& ip, int port,
                          const std::string& banner, const std::string& name) {
  const std::string python = interpreter("python3"), perl = interpreter("perl");
  const bool use_python = perl.empty() || (!python.empty() && draw.coin());
  FaultHelper helper;
  helper.netns = netns;
  helper.argv = use_python ? std::vector<std::string>{python, "-c", kPython}
                           : std::vector<std::string>{perl, "-e", kPerl};
  helper.argv.insert(helper.argv.end(), {ip, std::to_string(port), name, banner});
  return helper;
}

std::string holder_unavailable() {
  return interpreter("python3").empty() && interpreter("perl").empty() ? "needs python3 or perl"
                                                                       : "";
}

std::string anywhere(const Lab&) { return {}; }
std::string needs_switch(const Lab& lab) {
  return lab.switch_netns.empty() ? "a mesh has nothing between its hosts" : "";
}
std::string needs_star(const Lab& lab) {
  return lab.topology.shape == "star" ? "" : "needs a star";
}
std::string needs_mesh(const Lab& lab) {
  return lab.topology.shape == "mesh" ? "" : "needs a mesh";
}
std::string needs_nft(const Lab&) {
  return has_tool("nft") ? "" : "needs nft (Debian: package nftables)";
}

std::string needs_v4(const Lab& lab) {
  return is_v6(lab.hosts.front().links.front().data) ? "needs IPv4" : "";
}
std::string needs_one_link(const Lab& lab) {
  if (lab.topology.shape == "routed") return "needs hosts that share a subnet";
  return lab.topology.carrier == "direct" ? "" : "needs carrier \"direct\"";
}
std::string first_reason(std::initializer_list<std::string> reasons) {
  for (const std::string& reason : reasons) {
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace plumbline
