// The one table of options. A supported row is read somewhere in the data path; a refused row
// exists so that somebody who brings MCCL settings along learns why they have no effect here.
#include "core/options/options.h"

namespace plumbline {
namespace {

using enum OptionType;

constexpr double kNoMin = 1, kNoMax = 0;  // min > max: unchecked
constexpr double kMaxMs = 24.0 * 3600 * 1000;
constexpr double kMaxBytes = 1024.0 * 1024 * 1024;  // one system call moves at most this much
constexpr double kMostStreams = 64;
constexpr bool kAgree = true, kOwn = false;  // must all ranks have the same value?

constexpr OptionRow refused(const char* name, const char* alias, const char* reason) {
  return {name, kText, "", "", "not available here", alias, nullptr, kNoMin, kNoMax, reason, kOwn};
}

// name, type, default, unit, help, MCCL alias, choices, min, max, refused, must agree
constexpr OptionRow kTable[] = {
    // What carries the bytes, and where it listens.
    {"transport", kNamed, "auto", "",
     "what carries the data between ranks; auto = shared memory inside a machine, else RDMA where "
     "both have it, else TCP",
     "MCCL_TRANSPORT", nullptr, kNoMin, kNoMax, nullptr, kAgree},
    {"listen_addr", kAddress, "auto", "", "listen on this address only; auto = every data address",
     "MCCL_LISTEN_ADDR", nullptr, kNoMin, kNoMax, nullptr, kOwn},
    {"port_base", kPort, "29600", "port",
     "rank r listens on port_base + r; auto finds a window of free ports, and so does a run on "
     "this "
     "machine alone that finds the default busy",
     "MCCL_PORT_BASE", nullptr, 1, 65535, nullptr, kOwn},
    {"master_port", kInt, "29500", "port", "where rank 0 listens for the rendezvous", nullptr,
     nullptr, 1, 65535, nullptr, kOwn},
    {"ifname", kText, "", "", "use only the data addresses of this interface; empty = all",
     "MCCL_IFNAME", nullptr, kNoMin, kNoMax, nullptr, kOwn},
    {"mesh", kChoice, "eager", "",
     "connect all pairs of ranks at the start, or each when it is first used", nullptr,
     "eager|lazy", kNoMin, kNoMax, nullptr, kAgree},
    {"link_profile", kChoice, "none", "", "a set of defaults for one kind of link",
     "MCCL_LINK_PROFILE", "none|thunderbolt|wifi|loopback", kNoMin, kNoMax, nullptr, kOwn},

    {"ssh_config", kText, "", "",
     "configuration file for ssh (its -F) instead of the user's own; empty = the user's own",
     nullptr, nullptr, kNoMin, kNoMax, nullptr, kOwn},
    {"push", kChoice, "never", "",
     "copy a static plumbline to the hosts that ssh reaches: auto = where there is none of this "
     "build",
     nullptr, "never|auto|always", kNoMin, kNoMax, nullptr, kOwn},
    {"static_dir", kText, "", "",
     "folder of the static plumblines that push copies; empty = beside this program and its build",
     nullptr, nullptr, kNoMin, kNoMax, nullptr, kOwn},

    // How the bytes travel.
    {"chunk_bytes", kBytes, "256Ki", "bytes",
     "largest payload of one frame; of two ranks, from 256Ki on and without "
     "checksums, a message of up to 1Mi is one",
     "MCCL_CHUNK_BYTES", nullptr, 4096, kMaxBytes, nullptr, kAgree},
    {"streams", kCount, "auto", "connections",
     "TCP connections per pair of ranks, blocks of their bytes in turn; auto = one per subnet that "
     "two hosts share",
     nullptr, nullptr, 1, kMostStreams, nullptr, kAgree},
    {"progress_thread", kChoice, "auto", "",
     "TCP: a second thread of each rank writes what is large, over connections of its own; auto = "
     "where every machine has two cores for each of its ranks, and one more",
     nullptr, "auto|on|off", kNoMin, kNoMax, nullptr, kAgree},
    {"transport_crc", kBool, "off", "", "CRC-32C over header and payload of every frame",
     "MCCL_TRANSPORT_CRC", nullptr, kNoMin, kNoMax, nullptr, kAgree},
    {"sock_bufsize", kBytes, "4Mi", "bytes",
     "socket send and receive buffers to ask for; 0 = the system's automatic tuning",
     "MCCL_SOCK_BUFSIZE", nullptr, 0, kMaxBytes, nullptr, kOwn},
    {"tcp_lowat", kBytes, "0", "bytes",
     "most unsent bytes to keep in a socket (TCP_NOTSENT_LOWAT); 0 = the system's default",
     "MCCL_TCP_LOWAT", nullptr, 0, kMaxBytes, nullptr, kOwn},
    {"congestion_control", kText, "auto", "",
     "TCP congestion control by name; auto = reno on loopback, elsewhere the system's default",
     nullptr, nullptr, kNoMin, kNoMax, nullptr, kOwn},
    {"keepalive_s", kInt, "10", "s",
     "how often an idle data connection is probed; 0 = never (run --idle)", nullptr, nullptr, 0,
     7200, nullptr, kOwn},
    {"bind_to", kChoice, "auto", "",
     "core: each rank on a core of its own; none: the system decides; auto: core when there are "
     "enough",
     nullptr, "auto|core|none", 0, -1, nullptr, kOwn},
    {"wait", kChoice, "auto", "",
     "how a rank waits for bytes: spin = it tries and never sleeps; block = it sleeps in the "
     "kernel "
     "at once, which leaves the core to others; auto = it tries for spin_us, then sleeps",
     nullptr, "auto|spin|block", kNoMin, kNoMax, nullptr, kOwn},
    {"spin_us", kInt, "500", "us",
     "wait auto: how long a waiting rank tries before it sleeps in the kernel; 0 = as wait block",
     nullptr, nullptr, 0, 1'000'000, nullptr, kOwn},
    {"demux_park_bytes", kBytes, "64Mi", "bytes",
     "per peer, most bytes of messages kept that arrived before they were asked for (with "
     "progress_thread: as much again of large ones)",
     "MCCL_DEMUX_PARK_BYTES", nullptr, 65536, 64 * kMaxBytes, nullptr, kOwn},

    {"direct_bytes", kBytes, "128Ki", "bytes",
     "messages of at least this size are taken from the sender's memory where the transport can; 0 "
     "= none",
     nullptr, nullptr, 0, kMaxBytes, nullptr, kOwn},

    // RDMA: what the provider's profile says, unless somebody knows better.
    {"rdma_device", kText, "", "",
     "RDMA devices for peers for which the host file names none, with commas between several; "
     "empty "
     "= the one that has the data address",
     nullptr, nullptr, kNoMin, kNoMax, nullptr, kOwn},
    {"rdma_qp", kChoice, "auto", "",
     "type of the queue pairs: RC = the device sends again what was lost, UC = it does not; auto = "
     "as the provider has it",
     nullptr, "auto|rc|uc", kNoMin, kNoMax, nullptr, kAgree},
    {"rdma_gid_index", kInt, "-1", "",
     "entry of the device's GID table for the address of the path; -1 = as the provider has it",
     nullptr, nullptr, -1, 255, nullptr, kOwn},
    {"rdma_frame_bytes", kBytes, "0", "bytes",
     "largest message of a queue pair, which holds a part of the data; 0 = as the provider has it",
     nullptr, nullptr, 0, 1024.0 * 1024, nullptr, kAgree},
    {"rdma_library", kText, "", "",
     "file of the verbs library; empty = the system's (libibverbs, on macOS librdma)", nullptr,
     nullptr, kNoMin, kNoMax, nullptr, kOwn},

    // How long to wait.
    {"connect_timeout_ms", kDurationMs, "30000", "ms",
     "how long the ranks may take to find and connect one another", "MCCL_CONNECT_TIMEOUT_MS",
     nullptr, 1, kMaxMs, nullptr, kOwn},
    {"watchdog_timeout_ms", kDurationMs, "30000", "ms",
     "an operation that has not ended after this is given up, and the rank at fault named",
     "MCCL_WATCHDOG_TIMEOUT_MS", nullptr, 1, kMaxMs, nullptr, kOwn},
    {"heartbeat_interval_ms", kDurationMs, "1000", "ms",
     "how often ranks send one another heartbeats", "MCCL_HEARTBEAT_INTERVAL_MS", nullptr, 10,
     kMaxMs, nullptr, kAgree},

    // What is computed.
    {"algorithm", kText, "auto", "",
     "algorithm of the collectives, NAME or NAME:PARAMETER; auto = by operation and size", nullptr,
     nullptr, kNoMin, kNoMax, nullptr, kAgree},
    {"small_msg_threshold", kBytes, "0", "bytes",
     "up to this size auto takes the algorithm for small messages; 0 = thresholds as measured",
     "MCCL_SMALL_MSG_THRESHOLD", nullptr, 0, kMaxBytes, nullptr, kAgree},
    {"tuning", kText, "auto", "",
     "what plumbline tune has found, for the algorithm auto: a file; auto = the one kept for these "
     "ranks; none = not used",
     nullptr, nullptr, kNoMin, kNoMax, nullptr, kOwn},
    {"fast_math", kBool, "off", "", "off = IEEE arithmetic, equal to the reference bit for bit",
     "MCCL_FAST_MATH", nullptr, kNoMin, kNoMax, nullptr, kAgree},
    {"kernel", kText, "auto", "", "SIMD target of the reductions by name; auto = the best one",
     nullptr, nullptr, kNoMin, kNoMax, nullptr, kOwn},
    {"compression", kText, "none", "",
     "what coll compresses the data of an allreduce of f32 with: fp16, bf16 or topk:RATIO",
     "MCCL_COMPRESSION", nullptr, kNoMin, kNoMax, nullptr, kOwn},

    // What is verified.
    {"verify", kChoice, "sampled", "",
     "which results are compared: sampled = all where operations start together, back to back a "
     "random one in 16; every = all; last = the last of each block",
     nullptr, "every|sampled|last", kNoMin, kNoMax, nullptr, kAgree},

    // What is said, and what is broken on purpose.
    {"log_level", kChoice, "WARN", "", "least severe message to print, by name or digit",
     "MCCL_LOG_LEVEL", "TRACE|DEBUG|INFO|WARN|ERROR|FATAL|OFF|0|1|2|3|4|5|6", kNoMin, kNoMax,
     nullptr, kOwn},
    {"fault", kText, "", "",
     "for tests: spoils a stream on purpose, e.g. flip:rank=1,peer=0,after=4096", nullptr, nullptr,
     kNoMin, kNoMax, nullptr, kOwn},

    // MCCL's other variables, and why they cannot mean anything here.
    refused("ring_algo", "MCCL_RING_ALGO",
            "there is one ring, which always forwards in chunks; choose with algorithm"),
    refused("ring_pipeline", "MCCL_RING_PIPELINE",
            "a ring forwards each byte as soon as it may; there is no lock-step form"),
    refused("ring_fallback_basic", "MCCL_RING_FALLBACK_BASIC",
            "a failed operation ends with its cause; it is not tried again in another way"),
    refused("pipeline_depth", "MCCL_PIPELINE_DEPTH",
            "all receives of an operation are posted at once; sock_bufsize and demux_park_bytes "
            "bound what is in flight"),
    refused("collective_concurrency", "MCCL_COLLECTIVE_CONCURRENCY",
            "one thread runs all operations; how many are in flight is `outstanding` of a "
            "throughput measurement"),
    refused("max_collective_concurrency", "MCCL_MAX_COLLECTIVE_CONCURRENCY",
            "one thread runs all operations; how many are in flight is `outstanding` of a "
            "throughput measurement"),
    refused("max_queue_depth", "MCCL_MAX_QUEUE_DEPTH",
            "operations start at once in the caller's thread; there is no queue"),
    refused("demux_inflight_budget_bytes", "MCCL_DEMUX_INFLIGHT_BUDGET_BYTES",
            "unexpected bytes wait in the socket as back pressure; demux_park_bytes bounds the "
            "rest"),
    refused("demux_max_collective_bytes", "MCCL_DEMUX_MAX_COLLECTIVE_BYTES",
            "memory does not depend on the largest operation; demux_park_bytes bounds it"),
    refused("credit_min_chunk", "MCCL_CREDIT_MIN_CHUNK",
            "the receiver's TCP window is the flow control; there are no credit messages"),
    refused("recv_timeout_ms", "MCCL_RECV_TIMEOUT_MS",
            "an operation has one deadline for all its messages: watchdog_timeout_ms"),
    refused("topk_ratio", "MCCL_TOPK_RATIO",
            "the ratio is part of the codec's name: compression = topk:0.01"),
    refused("fp32_cpu_reduce", "MCCL_FP32_CPU_REDUCE", "all reductions run on the CPU anyway"),
    refused("cpu_write_sync", "MCCL_CPU_WRITE_SYNC", "there is no GPU path to synchronise with"),
    refused("event_sync", "MCCL_EVENT_SYNC", "there is no GPU path to synchronise with"),
    refused("overlap_comm", "MCCL_OVERLAP_COMM",
            "sending, receiving and reducing always overlap; there is no GPU path to switch"),
    refused("unified_collective", "MCCL_UNIFIED_COLLECTIVE",
            "there is no GPU path; messages always go straight from and to the caller's memory"),
    refused("gpu_threshold", "MCCL_GPU_THRESHOLD", "there is no GPU path"),
    refused("shader_path", "MCCL_SHADER_PATH", "there is no GPU path, so no shaders"),
    refused("stft_backend", "MCCL_STFT_BACKEND", "there is no GPU path, so no transforms on it"),
    refused("require_metallib", "MCCL_REQUIRE_METALLIB", "there is no GPU path, so no shaders"),
    refused("sync_mode", "MCCL_SYNC_MODE",
            "removed from MCCL too, where it corrupted gradients; every operation is complete when "
            "it returns"),
    refused("allreduce_algo", "MCCL_ALLREDUCE_ALGO",
            "removed from MCCL too; choose with algorithm"),
};

// Thunderbolt: 20 to 40 Gbit/s at 0.4 to 1 ms under load is up to 5 MB in flight. (Ethernet is what
// the defaults are for: 10 Gbit/s at 0.5 ms is 0.6 MB.) Loopback: no path to fill, so small buffers
// that stay in cache, and no pacing. Wi-Fi: the rate changes by the second and the air is shared,
// so the system sizes the buffers (a fixed one that fits the best moment is a queue of a second in
// a bad one), little waits unsent behind them, frames are short so that operations in flight take
// turns, and a radio that sleeps, scans or roams for seconds is no dead rank.
constexpr LinkProfileRow kProfiles[] = {
    {"thunderbolt", "sock_bufsize", "8Mi"},
    {"thunderbolt", "chunk_bytes", "1Mi"},
    {"wifi", "sock_bufsize", "0"},
    {"wifi", "tcp_lowat", "128Ki"},
    {"wifi", "chunk_bytes", "64Ki"},
    {"wifi", "heartbeat_interval_ms", "3000"},
    {"wifi", "watchdog_timeout_ms", "90000"},
    {"wifi", "connect_timeout_ms", "60000"},
    {"loopback", "sock_bufsize", "1Mi"},
    {"loopback", "congestion_control", "reno"},
};

}  // namespace

std::span<const OptionRow> option_table() { return kTable; }

const OptionRow* find_option(std::string_view name) {
  for (const OptionRow& row : kTable) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::span<const LinkProfileRow> link_profile_table() { return kProfiles; }

}  // namespace plumbline
