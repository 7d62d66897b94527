// The structures of the verbs library (libibverbs of rdma-core, librdma of macOS) as a program
// hands them over, declared here so that one binary runs where the library is and where it is not:
// it is loaded at run time (verbs.h). Posting and polling go through functions that the library's
// own header has inline, behind pointers in VerbsContext. Only what is used here has a name; the
// rest stands as padding of its size. tests/transport/verbs_abi_test.cc holds every size and place
// against libibverbs-dev. Source: verbs.h of rdma-core v44, verbs(7).
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace plumbline {

struct VerbsDevice;  // the library's own
struct VerbsQueuePair;
struct VerbsCompletionQueue;
struct VerbsSend;
struct VerbsReceive;
struct VerbsCompletion;

struct alignas(8) VerbsGid {
  std::array<uint8_t, 16> raw{};
  bool operator==(const VerbsGid&) const = default;
};

enum VerbsPortState : int { kPortDown = 1, kPortInit = 2, kPortArmed = 3, kPortActive = 4 };
enum VerbsQpType : int { kReliable = 2, kUnreliable = 3 };  // RC, UC
enum VerbsQpState : int {
  kQpReset = 0,
  kQpInit,
  kQpReceives,
  kQpSends,
  kQpDrained,
  kQpSqe,
  kQpError
};
enum VerbsOpcode : int { kRdmaWrite = 0, kRdmaWriteImmediate, kSend, kSendImmediate, kRdmaRead };
enum VerbsSendFlags : unsigned { kSignalled = 2, kInline = 8 };
enum VerbsAccess : int { kLocalWrite = 1, kRemoteWrite = 2, kRemoteRead = 4 };
// Of VerbsQpAttributes, those that a transition sets (ibv_modify_qp(3)).
enum VerbsMask : int {
  kMaskState = 1 << 0,
  kMaskAccess = 1 << 3,
  kMaskPkey = 1 << 4,
  kMaskPort = 1 << 5,
  kMaskAddress = 1 << 7,
  kMaskPathMtu = 1 << 8,
  kMaskTimeout = 1 << 9,
  kMaskRetries = 1 << 10,
  kMaskRnrRetries = 1 << 11,
  kMaskReceivePsn = 1 << 12,
  kMaskReadsOut = 1 << 13,
  kMaskRnrTimer = 1 << 15,
  kMaskSendPsn = 1 << 16,
  kMaskReadsIn = 1 << 17,
  kMaskPeerQp = 1 << 20,
};

// What ibv_query_port(3) fills in of old, which the exported function still does.
struct VerbsPort {
  int state = 0;       // VerbsPortState
  int max_mtu = 0;     // 1 = 256 bytes, each step twice as much
  int active_mtu = 0;  // as above
  int gids = 0;        // length of its GID table
  uint32_t abilities = 0;
  uint32_t max_message = 0;  // bytes
  uint32_t counters[2] = {};
  uint16_t pkeys = 0, lid = 0, sm_lid = 0;
  uint8_t plain[8] = {};
  uint8_t link_layer = 0;  // 1 = InfiniBand, 2 = Ethernet
  uint8_t flags = 0;
  uint8_t room[62] = {};  // for what later versions add
};

struct VerbsDeviceLimits {
  std::array<char, 64> firmware{};
  uint64_t node_guid = 0, system_guid = 0, max_region = 0, page_sizes = 0;
  uint32_t vendor = 0, part = 0, hardware = 0;
  int max_qps = 0, max_requests = 0;  // requests: of each queue
  unsigned abilities = 0;
  int max_pieces = 0, max_read_pieces = 0, max_cqs = 0, max_completions = 0, max_regions = 0,
      max_domains = 0;
  int plain[20] = {};
  uint16_t max_pkeys = 0;
  uint8_t ack_delay = 0, ports = 0;
  uint8_t room[64] = {};
};

// The parts of a context that inline calls go through (struct ibv_context_ops).
struct VerbsContext {
  VerbsDevice* device = nullptr;
  void* unused_before[11] = {};
  int (*poll_cq)(VerbsCompletionQueue* cq, int most, VerbsCompletion* out) = nullptr;
  int (*request_notification)(VerbsCompletionQueue* cq, int solicited_only) = nullptr;
  void* unused_between[12] = {};
  int (*post_send)(VerbsQueuePair* qp, VerbsSend* send, VerbsSend** bad) = nullptr;
  int (*post_receive)(VerbsQueuePair* qp, VerbsReceive* receive, VerbsReceive** bad) = nullptr;
  void* unused_after[5] = {};
  int command_fd = -1, event_fd = -1, vectors = 0;
};

struct VerbsDomain {
  VerbsContext* context = nullptr;
  uint32_t handle = 0;
};

struct VerbsRegion {
  VerbsContext* context = nullptr;
  VerbsDomain* domain = nullptr;
  void* address = nullptr;
  size_t length = 0;
  uint32_t handle = 0, local_key = 0, remote_key = 0;
};

struct VerbsChannel {  // of completions
  VerbsContext* context = nullptr;
  int fd = -1, references = 0;
};

struct VerbsCompletionQueue {
  VerbsContext* context = nullptr;
  VerbsChannel* channel = nullptr;
  void* user = nullptr;
  uint32_t handle = 0;
  int entries = 0;
};

struct VerbsQueuePair {
  VerbsContext* context = nullptr;
  void* user = nullptr;
  VerbsDomain* domain = nullptr;
  VerbsCompletionQueue *send_cq = nullptr, *receive_cq = nullptr;
  void* shared_receives = nullptr;
  uint32_t handle = 0, number = 0;
  int state = 0, type = 0;
};

struct VerbsQpLimits {
  uint32_t sends = 0, receives = 0, send_pieces = 0, receive_pieces = 0, inline_bytes = 0;
};

struct VerbsQpRequest {
  void* user = nullptr;
  VerbsCompletionQueue *send_cq = nullptr, *receive_cq = nullptr;
  void* shared_receives = nullptr;
  VerbsQpLimits limits;
  int type = 0;
  int all_signalled = 0;
};

struct VerbsAddress {
  VerbsGid gid;  // the other end's
  uint32_t flow_label = 0;
  uint8_t own_gid_index = 0, hop_limit = 0, traffic_class = 0;
  uint16_t lid = 0;
  uint8_t service_level = 0, path_bits = 0, static_rate = 0, is_global = 0, port = 0;
};

struct VerbsQpAttributes {
  int state = 0, current_state = 0;
  int path_mtu = 0;
  int migration = 0;
  uint32_t qkey = 0, receive_psn = 0, send_psn = 0, peer_qp = 0;
  unsigned access = 0;
  VerbsQpLimits limits;
  VerbsAddress address, alternative;
  uint16_t pkey_index = 0, alternative_pkey_index = 0;
  uint8_t draining[2] = {};
  uint8_t reads_out = 0, reads_in = 0, rnr_timer = 0, port = 0, timeout = 0, retries = 0,
          rnr_retries = 0, alternative_port = 0, alternative_timeout = 0;
  uint32_t rate_limit = 0;
};

struct VerbsPiece {
  uint64_t address = 0;
  uint32_t length = 0, local_key = 0;
};

struct VerbsSend {
  uint64_t id = 0;
  VerbsSend* next = nullptr;
  VerbsPiece* pieces = nullptr;
  int piece_count = 0;
  int opcode = 0;
  unsigned flags = 0;
  uint32_t immediate = 0;  // big endian
  uint64_t remote_address = 0;
  uint32_t remote_key = 0;
  uint8_t unused[76] = {};
};

struct VerbsReceive {
  uint64_t id = 0;
  VerbsReceive* next = nullptr;
  VerbsPiece* pieces = nullptr;
  int piece_count = 0;
};

struct VerbsCompletion {
  uint64_t id = 0;
  int status = 0;  // 0 = it was done; ibv_wc_status_str(3) names the others
  int opcode = 0;
  uint32_t vendor_error = 0, bytes = 0;
  uint32_t immediate = 0;
  uint32_t qp = 0, peer_qp = 0;
  unsigned flags = 0;
  uint16_t pkey_index = 0, lid = 0;
  uint8_t service_level = 0, path_bits = 0;
};

}  // namespace plumbline
