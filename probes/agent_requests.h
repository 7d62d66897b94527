// What an agent can be asked beside who it is (launch/agent_link.h): one struct for each request
// with its parameters and what it is answered with, in the order of docs/agent_protocol.md. Their
// JSON stands in agent_requests.cc alone, and is checked there where it comes in: an agent refuses
// a request that lacks what it must have, and an answer that makes no sense is an Error. Plain
// values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/diagnosis/trace_summary.h"
#include "core/host/host.h"
#include "probes/actions/connector.h"
#include "probes/actions/datagrams.h"
#include "probes/actions/listener.h"
#include "probes/actions/neighbour.h"
#include "probes/actions/ping.h"
#include "probes/actions/stream.h"
#include "probes/evidence.h"
#include "probes/gather/host_watch.h"
#include "probes/job_evidence.h"
#include "probes/sources/source.h"

namespace plumbline {

// The word for a request, and what it is answered with.
#define PLUMBLINE_ASKS(word, ...)            \
  static constexpr const char* kName = word; \
  using Reply = __VA_ARGS__

// Of an answer without content.
struct NothingSaid {};

// Who tries something, and towards whom.
struct AskedWay {
  std::string from_ip = {};    // may be empty: the system chooses
  std::string interface = {};  // of the own address; needed for link-local ones
  std::string to_ip = {};
};
// The same, to a port on which the peer's agent listens.
struct AskedPort : AskedWay {
  int port = 0;
};

struct TimeReply {
  int64_t time_ns = 0;  // of the wall clock
};
struct AskTime {
  PLUMBLINE_ASKS("time", TimeReply);
};
struct AskSnapshot : SnapshotRequest {
  PLUMBLINE_ASKS("snapshot", HostEvidence);
  std::string host = {};
};
struct AskNics {
  PLUMBLINE_ASKS("nics", std::vector<Nic>);
};
struct MemoryReply {
  uint64_t available_bytes = 0;  // 0: not known
  std::string machine;           // tells hosts apart that share it; empty when not known
};
struct AskMemory {
  PLUMBLINE_ASKS("memory", MemoryReply);
};
struct CountersReply {
  std::map<std::string, int64_t> counts;  // what is no count is left out
};
struct AskCounters {
  PLUMBLINE_ASKS("counters", CountersReply);
};
struct CoresReply {
  int cores = 0;
};
struct AskCores {
  PLUMBLINE_ASKS("cores", CoresReply);
};
struct WatchedPeer {
  std::string name, from_ip, to_ip;
};
struct AskWatch {
  PLUMBLINE_ASKS("watch", WatchState);
  std::vector<WatchedPeer> peers = {};
  bool live = false;
};
struct AskJob : JobSelection {
  PLUMBLINE_ASKS("job", JobHostEvidence);
  int64_t apart_ms = 2000;  // between the two looks; 0 = one look
};

struct ListenReply {
  std::vector<ListenState> ports;
};
struct AskListen {
  PLUMBLINE_ASKS("listen", ListenReply);
  std::string id = {};
  std::vector<ListenAddress> addresses = {};
  std::vector<int> ports = {};
};
struct AskListened {
  PLUMBLINE_ASKS("listened", Heard);
  std::string id = {};
};
struct AskUnlisten {
  PLUMBLINE_ASKS("unlisten", NothingSaid);
  std::string id = {};
};

struct ConnectReply {
  std::vector<ConnectAttempt> ports;
  std::string nonce;
};
struct AskConnect : AskedWay {
  PLUMBLINE_ASKS("connect", ConnectReply);
  std::vector<int> ports = {};
  int64_t timeout_ms = 2000;
  std::string nonce = {};  // empty: the agent makes one
};
struct BurstReply {
  int attempts = 0;
  std::map<std::string, int64_t> counters;
};
struct AskBurst : AskedPort {
  PLUMBLINE_ASKS("burst", BurstReply);
  int attempts = 20;
  int64_t timeout_ms = 300;
};
struct AskStream : AskedPort, StreamSettings {
  PLUMBLINE_ASKS("stream", StreamEvidence);
};
struct RoundTripsReply {
  std::vector<int64_t> round_trips_ns;
};
struct AskRoundTrips : AskedPort {
  PLUMBLINE_ASKS("round_trips", RoundTripsReply);
  int count = 20;
  int64_t timeout_ms = 2000;
};
struct AskIdle : AskedPort, IdleSettings {
  PLUMBLINE_ASKS("idle", PortTry);
};
struct AskMtu : AskedPort, MtuSettings {
  PLUMBLINE_ASKS("mtu", MtuEvidence);
};
struct AskPing : AskedWay, PingSettings {
  PLUMBLINE_ASKS("ping", PingEvidence);
};
struct AskRoute : AskedWay {
  PLUMBLINE_ASKS("route", RouteLookup);
};
struct AskNeighbour : AskedWay, NeighbourSettings {
  PLUMBLINE_ASKS("neighbour", NeighbourProbe);
};

struct AskDatagramsOpen {
  PLUMBLINE_ASKS("datagrams.open", DatagramHub::Opened);
  std::string id = {}, ip = {}, interface = {};
  int64_t keep_ms = 30'000;
};
struct AskDatagramsSend : AskedPort, DatagramSettings {
  PLUMBLINE_ASKS("datagrams.send", DatagramEvidence);
};
struct AskDatagramsClose {
  PLUMBLINE_ASKS("datagrams.close", DatagramHub::Counted);
  std::string id = {};
  int64_t expected = 0, settle_ms = 200;
};

struct CaptureStarted {
  bool running = false;
  std::string reason = {};  // why not
};
struct AskCaptureStart {
  PLUMBLINE_ASKS("capture.start", CaptureStarted);
  std::string id = {};
  std::vector<std::string> own = {}, peers = {};
  std::vector<int> ports = {};
  int snap_bytes = 128;
  int64_t max_bytes = 16 << 20, max_ms = 120'000;
  std::string interface = {};
};
struct CaptureStopped {
  TraceSummary summary;
  int64_t packets = 0, dropped = 0;
  bool cut = false;
  uint64_t bytes = 0;
};
struct AskCaptureStop {
  PLUMBLINE_ASKS("capture.stop", CaptureStopped);
  std::string id = {};
  int64_t settle_ms = 50;
  bool keep = false;
};
struct CapturePiece {
  std::string base64;
  bool end = true;
};
struct AskCaptureRead {
  PLUMBLINE_ASKS("capture.read", CapturePiece);
  std::string id = {};
  int64_t offset = 0, bytes = 1 << 20;
};
struct AskCommand {
  PLUMBLINE_ASKS("command", CommandEvidence);
  std::string label = {};
  std::vector<std::string> command = {};
  int64_t timeout_ms = 5000;
};
struct AskRdma {
  PLUMBLINE_ASKS("rdma", RdmaClimb);
  std::string device = {};
  int port = 1;
  std::string library = {};  // of verbs; empty = the system's
  bool counts = false;       // of queue pairs and regions, too
};
// To two agents at the same time, one of which listens on the port.
struct AskRdmaMeet : AskedPort {
  PLUMBLINE_ASKS("rdma.meet", RdmaClimb);
  bool listens = false;
  std::string device = {}, library = {};
  std::string nonce = {};
};
struct AskEndpoint {
  PLUMBLINE_ASKS("endpoint", EndpointEvidence);
  std::string url = {}, model = {};
  std::string key = {};    // in this request only: never in an answer
  bool questions = false;  // put some to the model too
  int64_t silence_ms = 20'000;
};

struct AskSoftware {
  PLUMBLINE_ASKS("software", SoftwareEvidence);
  std::string python = {};  // a path, "~/" = home; empty = the first python3 on the PATH
  std::vector<std::string> packages = {};  // of Python, beside those of software_table()
  bool as_over_ssh = false;  // as a session of ssh would find it, which did not start the agent
  int64_t timeout_ms = 6000;
};
struct AskArtifact {
  PLUMBLINE_ASKS("artifact", ArtifactEvidence);
  std::string path = {};  // absolute, or "~/" = home
  bool deep = false;      // read all of every file
};

// The one way from these values to what travels, and back; for the requests above.
template <typename Request>
struct AgentWire {
  using Reply = typename Request::Reply;
  using Run = std::function<Expected<Reply>(const Request& asked, const AgentCall& call)>;

  // The agent's side: a row of its table.
  static AgentRequest row(const char* help, Run run);
  // The side that asks. An answer that makes no sense is kWrongData.
  static int64_t ask(HostAgent& agent, const Request& request, Deadline deadline);
  static Expected<Reply> reply(HostAgent& agent, int64_t ticket);
};

template <typename Request>
Expected<typename Request::Reply> ask_agent(HostAgent& agent, const Request& request,
                                            Deadline deadline) {
  return AgentWire<Request>::reply(agent, AgentWire<Request>::ask(agent, request, deadline));
}

#undef PLUMBLINE_ASKS

}  // namespace plumbline
