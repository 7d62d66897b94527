#include "collectives/communicator_impl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <thread>

#include "plumbline/version.h"
#include "transport/address.h"
#include "transport/control/wire.h"

namespace plumbline {
namespace {

constexpr int kMostRanks = 65'536;
constexpr size_t kMostHostName = 255;  // bytes
constexpr size_t kMostIdlePlans = 64;  // beside those of lists
constexpr const char* kEndpointMark = "plumbline endpoint 1";

// The options that mean something inside another program; docs/library.md says what.
constexpr std::string_view kSettings =
    " chunk_bytes congestion_control connect_timeout_ms demux_park_bytes direct_bytes fast_math "
    "heartbeat_interval_ms ifname keepalive_s kernel link_profile listen_addr mesh "
    "progress_thread small_msg_threshold sock_bufsize spin_us streams tcp_lowat transport "
    "transport_crc wait "
    "watchdog_timeout_ms ";

Expected<OptionSet> read_settings(const std::map<std::string, std::string>& settings) {
  OptionSet options(transport_choices());
  for (const auto& [name, value] : settings) {
    Expected<OptionSet> next = options.with(name, value, "library");
    if (!next) return next;
    if (kSettings.find(" " + name + " ") == std::string_view::npos) {
      return fail(ErrorCode::kConfig, name + ": has no meaning in the library",
                  fmt::format("its settings are{}", kSettings));
    }
    options = std::move(*next);
  }
  return options;
}

std::string system_host_name() {
  char name[kMostHostName + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "this host";
}

// What the bytes of an endpoint say. The nonce makes the token of every group another one, which
// only those know who have seen the endpoints.
struct Introduction {
  std::string host;
  Digest nonce{};
  std::string claimed;  // TransportClaim::endpoint()
};

std::string pack(const Introduction& said) {
  WireWriter writer;
  writer.text(kEndpointMark, kMostHostName);
  writer.text(said.host, kMostHostName);
  writer.bytes(said.nonce);
  writer.u32(static_cast<uint32_t>(said.claimed.size()));
  writer.bytes(std::as_bytes(std::span(said.claimed)));
  std::string bytes;
  for (const std::byte byte : writer.view()) bytes += std::to_integer<char>(byte);
  return bytes;
}

Expected<Introduction> unpack(int rank, const std::string& bytes) {
  WireReader reader(std::as_bytes(std::span(bytes)));
  Introduction said;
  const bool marked = reader.text() == kEndpointMark;
  said.host = printable(reader.text(), kMostHostName);
  reader.bytes(said.nonce);
  said.claimed.resize(std::min<size_t>(reader.u32(), bytes.size()));
  reader.bytes(std::as_writable_bytes(std::span(said.claimed)));
  if (marked && reader.complete()) return said;
  return fail_about({rank}, ErrorCode::kProtocol,
                    fmt::format("the endpoint of rank {} is not what plumbline gave out", rank),
                    "exchange all bytes of the endpoints, and use one version on all ranks");
}

}  // namespace

CommunicatorImpl::CommunicatorImpl(int rank, int size, std::shared_ptr<const OptionSet> options,
                                   const Options& given)
    : rank_(rank),
      size_(size),
      options_(std::move(options)),
      fast_math_(options_->flag("fast_math")),
      small_bytes_(static_cast<uint64_t>(options_->integer("small_msg_threshold"))),
      given_(given),
      host_(given.host.empty() ? system_host_name() : given.host),
      log_(
          fmt::format("rank {}", rank), given.log_level,
          !given.log ? LogSink()
                     : [log = given.log](LogLevel level, const std::string&,
                                         std::string_view text) { log(level, text); }) {}

CommunicatorImpl::~CommunicatorImpl() {
  if (family_) family_->remove(*this);
}

Expected<std::shared_ptr<CommunicatorImpl>> CommunicatorImpl::make(int rank, int size,
                                                                   const Options& options) {
  if (size < 1 || size > kMostRanks || rank < 0 || rank >= size) {
    return fail(ErrorCode::kConfig, fmt::format("rank {} of {} ranks", rank, size),
                fmt::format("ranks count from 0, and there are 1 to {}", kMostRanks));
  }
  Expected<OptionSet> set = read_settings(options.settings);
  if (!set) return fail(set.error());
  const Expected<const KernelSet*> kernels = select_kernels(set->text("kernel"));
  if (!kernels) return fail(kernels.error());
  std::shared_ptr<CommunicatorImpl> impl(new CommunicatorImpl(
      rank, size, std::make_shared<const OptionSet>(std::move(*set)), options));
  impl->kernels_ = *kernels;
  return impl;
}

GroupSpec CommunicatorImpl::spec(int ranks_on_host) const {
  GroupSpec spec;
  spec.rank = rank_;
  spec.size = size_;
  spec.options = options_.get();
  spec.agreement = fmt::format("library={}\n", library_version());
  spec.log = &log_;
  spec.crc32c = kernels_->crc32c;
  spec.cores_usable = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  spec.ranks_on_host = ranks_on_host;
  // No rank knows the machines of all others, whose cores `auto` would have to count.
  spec.progress_thread = options_->text("progress_thread") == "on";
  return spec;
}

void CommunicatorImpl::open(std::unique_ptr<Group> group, std::shared_ptr<ThreadMeeting> meeting) {
  meeting_ = std::move(meeting);
  crowd_ = size_;
  group_ = std::move(group);
  executor_ = std::make_unique<Executor>(*group_, *kernels_);
}

Expected<CommunicatorImpl::Arrival> CommunicatorImpl::arrive(uint16_t port) const {
  ClaimSpec wanted;
  wanted.options = options_.get();
  wanted.meeting = meeting_.get();
  Expected<std::unique_ptr<TransportClaim>> claim = nullptr;
  if (meeting_) {
    claim = claim_memory(wanted);
  } else {
    const auto transport = find_transport(options_->text("transport"), false);
    if (!transport) return fail(transport.error());
    RankSite site;
    site.port = port;
    for (const std::string& text : given_.addresses) {
      site.addresses.push_back(rank_address(text, {}));
    }
    wanted.site = (*transport)->site(site);
    claim = (*transport)->claim(wanted);
  }
  if (!claim) return fail(claim.error());
  std::string endpoint = pack({host_, random_token(), (*claim)->endpoint()});
  return Arrival{std::move(*claim), std::move(endpoint)};
}

Status CommunicatorImpl::connect(const EndpointExchange& exchange) {
  Expected<Arrival> arrival = arrive(given_.port);
  if (!arrival) return fail(arrival.error());
  const ErrorOr<std::vector<std::string>> all = exchange(arrival->endpoint);
  if (!all) return fail(all.error());
  const auto own = static_cast<size_t>(rank_);
  if (all->size() != static_cast<size_t>(size_) || (*all)[own] != arrival->endpoint) {
    return fail(ErrorCode::kConfig,
                fmt::format("rank {}: the exchange gave {} endpoints for {} ranks, {}", rank_,
                            all->size(), size_,
                            all->size() > own && (*all)[own] == arrival->endpoint
                                ? "this rank's in its place"
                                : "and not this rank's in its place"),
                "return the endpoints of all ranks, in rank order");
  }
  return join(std::move(arrival->claim), *all, {});
}

Status CommunicatorImpl::join(std::unique_ptr<TransportClaim> claim,
                              const std::vector<std::string>& endpoints,
                              const std::string& also_known) {
  claim_ = std::move(claim);
  std::vector<RankEndpoint> places;
  int ranks_here = 0;
  std::string known = to_hex(sha256(given_.secret)) + also_known;
  for (int rank = 0; rank < size_; ++rank) {
    const std::string& bytes = endpoints[static_cast<size_t>(rank)];
    Expected<Introduction> said = unpack(rank, bytes);
    if (!said) return fail(said.error());
    ranks_here += said->host == host_ ? 1 : 0;
    known += to_hex(sha256(bytes));
    places.push_back({std::move(said->host), std::move(said->claimed)});
  }
  // Groups that were split off share the cores with their siblings.
  if (crowd_ == 0) crowd_ = ranks_here;
  GroupSpec spec = this->spec(crowd_);
  spec.endpoints = std::move(places);
  token_ = spec.token = sha256(known);
  Expected<std::unique_ptr<Group>> group = claim_->open(spec);
  if (!group) return fail(group.error());
  group_ = std::move(*group);
  executor_ = std::make_unique<Executor>(*group_, *kernels_);
  return {};
}

// What the call comes to on this rank, when its buffers fit together.
Expected<OperationSpec> CommunicatorImpl::operation(const Call& call) const {
  const bool counts_out =
      call.op == Op::kReduceScatter || call.op == Op::kScatter || call.op == Op::kBroadcast;
  OperationSpec spec;
  spec.op = call.op;
  spec.dtype = counts_out ? call.out.dtype : call.in.dtype;
  spec.redop = call.redop;
  spec.root = call.root;
  spec.count = counts_out ? call.out.count : call.in.count;
  if (call.op == Op::kAlltoall) spec.count /= static_cast<uint64_t>(size_);
  spec.fast_math = fast_math_;
  spec.small_bytes = small_bytes_;

  ScheduleRequest request{call.op, call.redop, rank_, size_, call.root, 1};
  const BufferLayout one = layout_of(request);
  request.count = spec.count;
  const BufferLayout need = layout_of(request);
  const auto wrong = [&](bool needed, size_t count, DType dtype, uint64_t elements) {
    return needed && (count != elements || dtype != spec.dtype);
  };
  if (wrong(one.in_elems > 0, call.in.count, call.in.dtype, need.in_elems) ||
      wrong(one.out_elems > 0, call.out.count, call.out.dtype, need.out_elems)) {
    return fail(
        Error{ErrorCode::kUsage,
              fmt::format("{} on rank {} of {}: in has {} elements {}, out has {} elements {}",
                          to_string(call.op), rank_, size_, call.in.count, to_string(call.in.dtype),
                          call.out.count, to_string(call.out.dtype)),
              0,
              fmt::format("with {} elements {} from each rank, in needs {} and out {}", spec.count,
                          to_string(spec.dtype), need.in_elems, need.out_elems),
              {},
              {rank_}});
  }
  if (one.in_elems > 0 && one.out_elems > 0 && allows_in_place(call.op)) {
    const auto offset = need.in_offset * static_cast<int64_t>(size_of(spec.dtype));
    spec.in_place = reinterpret_cast<intptr_t>(call.in.data) ==
                    reinterpret_cast<intptr_t>(call.out.data) + offset;
  }
  return spec;
}

void CommunicatorImpl::retire_ended() {
  for (auto it = running_.begin(); it != running_.end();) {
    const auto next = std::next(it);
    if (Executor::done(*it->second.prepared)) retire(it);
    it = next;
  }
  for (auto it = lists_.begin(); it != lists_.end();) {
    it = end_parts(it->second) ? lists_.erase(it) : std::next(it);
  }
}

Expected<CommunicatorImpl::PreparedPtr> CommunicatorImpl::prepared_for(const Key& key,
                                                                       OperationSpec spec,
                                                                       const Call& call) {
  const auto found = idle_.find(key);
  if (found == idle_.end() || found->second.empty()) {
    if (call.purpose != nullptr) spec.purpose = call.purpose->text;
    ++plans_made_;
    return executor_->prepare(spec);
  }
  PreparedPtr prepared = std::move(found->second.back());
  found->second.pop_back();  // its place stays: the same call mostly comes again
  --idle_plans_;
  return prepared;
}

void CommunicatorImpl::retire(std::map<uint64_t, Running>::iterator done) {
  // A list needs one for each large array, and two that come in turns twice as many.
  const size_t most = kMostIdlePlans + 2 * most_running_;
  if (idle_plans_ >= most || idle_.size() > most) {
    idle_.clear();
    idle_plans_ = 0;
  }
  idle_[done->second.key].push_back(std::move(done->second.prepared));
  ++idle_plans_;
  running_.erase(done);
}

Expected<uint64_t> CommunicatorImpl::try_start(const Call& call) {
  const Expected<OperationSpec> spec = operation(call);
  if (!spec) return fail(spec.error());
  return with_memory(to_string(call.op), [&]() -> Expected<uint64_t> {
    const Key key(spec->op, spec->dtype, spec->redop, spec->root, spec->count, spec->in_place,
                  call.purpose == nullptr ? 0 : call.purpose->digest);
    Expected<PreparedPtr> prepared = prepared_for(key, *spec, call);
    if (!prepared) return fail(prepared.error());
    const auto running = running_.emplace(++last_ticket_, Running{key, std::move(*prepared)}).first;
    most_running_ = std::max(most_running_, running_.size());
    const Status started = executor_->start(*running->second.prepared, call.in.data, call.out.data);
    if (started) return running->first;
    running_.erase(running);
    return fail(started.error());
  });
}

Work CommunicatorImpl::work(const Expected<uint64_t>& ticket) {
  return {weak_from_this(), ticket ? ErrorOr<uint64_t>(*ticket) : in_words(ticket.error())};
}

Work CommunicatorImpl::start(const Call& call) {
  const Entry entry(*this);
  retire_ended();  // dropped ones, too
  return work(try_start(call));
}

}  // namespace plumbline
