#!/bin/sh
# Collects what one host says about its network into one text file, without plumbline, without root
# and without changing anything, so that it can be diagnosed on another machine:
#
#   on each host:   sh collect.sh --peer ADDRESS... > host1.txt
#   anywhere:       plumbline doctor --from host1.txt host2.txt
#
#   --peer ADDRESS   data address of another host; ping it and try to connect to it (several times)
#   --ports LIST     ports that the job uses; default 29500,29600-29603
#   --name NAME      of this host in the diagnosis; default: its host name
#
# Run as root it also sees packet filters and other users' processes. Linux and macOS. Needs a POSIX
# shell and, where they exist, the system's own tools; what is missing is noted. Read the file before
# you hand it on: it holds addresses, names of interfaces and processes, and filter rules.
#
# Format: lines that begin with "=" are ours; "|" stands before every line of a command's output and
# "!" before its errors, so that no output can pass for a line of ours.

set -u
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin
export PATH
umask 077

readonly limit=3        # seconds for one command
readonly slow_limit=15  # seconds for a slow one
readonly most_blocks=8192 # of 512 bytes (1024 in some shells): longest output of one command
readonly most_ports=64 most_peers=64

usage() {
  sed -n '2,18s/^# \{0,1\}//p' "$0"
}

wrong() {
  echo "collect.sh: $1" >&2
  exit 1
}

# ---- the table of sources: SYSTEM|NAME|NEEDS|COMMAND, as in probes/sources ----

sources() {
  cat <<'END_OF_SOURCES'
linux|ip-addr||ip -j -d -s -s addr
linux|sys-class-net||@files /sys/class/net/*/ifindex /sys/class/net/*/address /sys/class/net/*/speed /sys/class/net/*/duplex /sys/class/net/*/uevent /sys/class/net/*/device/uevent
linux|sys-bus-thunderbolt||@files /sys/bus/thunderbolt/devices/*/uevent /sys/bus/thunderbolt/devices/*/unique_id /sys/bus/thunderbolt/devices/*/rx_speed /sys/bus/thunderbolt/devices/*/rx_lanes /sys/bus/thunderbolt/devices/*/net/*/ifindex
linux|ip-route||ip -j route show table all
linux|ip-rule||ip -j rule
linux|ip6-rule||ip -j -6 rule
linux|ip-neigh||ip -j neigh
linux|ss||ss -Htunap
linux|proc-net|without ss|@files /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6
linux|ps||ps -eo pid=,etimes=,comm=
linux|proc-sys||@files /proc/sys/kernel/hostname /proc/sys/kernel/ostype /proc/sys/kernel/osrelease /proc/sys/kernel/arch /proc/sys/kernel/random/boot_id /proc/sys/net/ipv4/conf/*/rp_filter /proc/sys/net/ipv4/conf/*/arp_ignore /proc/sys/net/ipv4/conf/*/arp_filter /proc/sys/net/ipv4/conf/*/arp_announce /proc/sys/net/ipv4/conf/*/accept_local /proc/sys/net/ipv4/conf/*/forwarding /proc/sys/net/ipv6/conf/*/disable_ipv6 /proc/sys/net/ipv6/conf/*/forwarding /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem /proc/sys/net/ipv4/tcp_mem /proc/sys/net/core/rmem_max /proc/sys/net/core/wmem_max /proc/sys/net/core/somaxconn /proc/sys/net/core/netdev_max_backlog /proc/sys/net/core/default_qdisc /proc/sys/net/ipv4/tcp_congestion_control /proc/sys/net/ipv4/ip_local_port_range /proc/sys/net/ipv4/ip_local_reserved_ports /proc/sys/net/ipv4/tcp_mtu_probing /proc/sys/net/ipv4/tcp_window_scaling /proc/sys/net/ipv4/tcp_timestamps /proc/sys/net/ipv4/tcp_sack /proc/sys/net/ipv4/icmp_echo_ignore_all /proc/sys/net/ipv4/ping_group_range /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/net/ipv4/ip_no_pmtu_disc /proc/sys/net/ipv4/tcp_syncookies /proc/sys/net/ipv4/tcp_max_syn_backlog /proc/sys/net/ipv6/icmp/echo_ignore_all /proc/sys/net/ipv6/bindv6only /proc/sys/net/netfilter/nf_conntrack_count /proc/sys/net/netfilter/nf_conntrack_max /proc/sys/net/bridge/bridge-nf-call-iptables /proc/sys/net/bridge/bridge-nf-call-ip6tables
linux|os-release||@file /etc/os-release
linux|machine||@files /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name
linux|limits||@file /proc/self/limits
linux|status||@file /proc/self/status
linux|loadavg||@file /proc/loadavg
linux|nft|module nf_tables|nft -j list ruleset
linux|nft-text|module nf_tables|nft list ruleset
linux|iptables-nft|module nf_tables|iptables-nft-save
linux|ip6tables-nft|module nf_tables|ip6tables-nft-save
linux|iptables-legacy|has /proc/net/ip_tables_names|iptables-legacy-save
linux|ip6tables-legacy|has /proc/net/ip6_tables_names|ip6tables-legacy-save
linux|iptables|has /proc/net/ip_tables_names and without iptables-legacy-save and without iptables-nft-save|iptables-save
linux|ip6tables|has /proc/net/ip6_tables_names and without ip6tables-legacy-save and without ip6tables-nft-save|ip6tables-save
linux|ebtables-legacy|loaded ebtables|ebtables-legacy-save
linux|tc||@clsact tc -j filter show dev
linux|ufw|has /etc/ufw/ufw.conf|@file /etc/ufw/ufw.conf
linux|firewalld|process firewalld|firewall-cmd --state
linux|infiniband||@files /sys/class/infiniband/*/node_type /sys/class/infiniband/*/ports/*/state /sys/class/infiniband/*/ports/*/link_layer /sys/class/infiniband/*/ports/*/gids/[0-9] /sys/class/infiniband/*/ports/*/gids/[0-9][0-9] /sys/class/infiniband/*/ports/*/gid_attrs/ndevs/0
any|ibv-devinfo||ibv_devinfo -v
macos|ifconfig||ifconfig -a
macos|netstat-interfaces||netstat -ibdn
macos|networksetup||networksetup -listallhardwareports
macos|netstat-routes||netstat -rn
macos|arp||arp -an
macos|ndp||ndp -an
macos|netstat-sockets||netstat -anvl -p tcp
macos|lsof||lsof +c 0 -nP -iTCP -sTCP:LISTEN
macos|ps||ps -axo pid=,etime=,comm=
macos|sysctl-host||sysctl kern.hostname kern.bootsessionuuid kern.osrelease hw.model hw.memsize hw.ncpu machdep.cpu.brand_string vm.loadavg kern.maxfiles kern.maxfilesperproc
macos|sysctl-net||sysctl kern.ipc.maxsockbuf kern.ipc.somaxconn net.inet.tcp.sendspace net.inet.tcp.recvspace net.inet.tcp.mssdflt net.inet.tcp.delayed_ack net.inet.ip.forwarding net.inet6.ip6.forwarding net.inet.ip.portrange.first net.inet.ip.portrange.last
macos|sysctl-tuning||sysctl net.inet.tcp.autorcvbufmax net.inet.tcp.autosndbufmax
macos|sw-vers||sw_vers
macos|uname||uname -srm
macos|id||id -u
macos|limits||ulimit -a
macos|local-host-name||scutil --get LocalHostName
macos|pf-info||pfctl -s info
macos|pf-rules||pfctl -a * -s rules
macos|alf||/usr/libexec/ApplicationFirewall/socketfilterfw --getglobalstate
macos|alf-block-all||/usr/libexec/ApplicationFirewall/socketfilterfw --getblockall
macos|alf-stealth||/usr/libexec/ApplicationFirewall/socketfilterfw --getstealthmode
macos|rdma-ctl||rdma_ctl status
macos|ibv-devices||ibv_devices
macos|system-profiler-thunderbolt||system_profiler SPThunderboltDataType -json
macos|pmset||pmset -g
END_OF_SOURCES
}

# ---- running one command, bounded in time and size ----

# bounded FOLDER SECONDS COMMAND...: output, errors and status go to files in FOLDER.
bounded() {
  slot=$1 seconds=$2
  shift 2
  rm -f "$slot/late"
  (
    ulimit -f "$most_blocks"
    case $1 in
      form_*) "$@" ;;
      *) exec "$@" ;;
    esac
  ) >"$slot/out" 2>"$slot/err" </dev/null &
  child=$!
  # Ended by a signal that needs no handling: until it has forgotten the traps of this shell, a young
  # subshell would run them. Its last `sleep` outlives it by a second at most.
  (
    while [ "$seconds" -gt 0 ]; do
      sleep 1
      seconds=$((seconds - 1))
    done
    : >"$slot/late"
    kill -KILL "$child"
  ) >/dev/null 2>&1 &
  guard=$!
  { wait "$child"; } 2>/dev/null
  result=$?
  kill -KILL "$guard" 2>/dev/null
  { wait "$guard"; } 2>/dev/null
  [ ! -e "$slot/late" ] || result=timeout
  echo "$result" >"$slot/status"
}

# emit FOLDER TITLE COMMAND SURE: one section from the files of `bounded`.
emit() {
  echo "=begin $2"
  echo "=command $3"
  lines=0
  if [ -s "$1/out" ]; then
    lines=$(grep -c '' "$1/out")
    sed 's/^/|/' "$1/out"
    [ -z "$(tail -c 1 "$1/out" | tr -d '\000')" ] || echo
  fi
  [ ! -s "$1/err" ] || { head -n 20 "$1/err" | cut -c 1-400 | sed 's/^/!/'; }
  echo "=end status=$(cat "$1/status") sure=$4 lines=$lines"
  sections=$((sections + 1))
}

# unrun TITLE COMMAND STATUS SURE: a section of a command that was not run.
unrun() {
  printf '=begin %s\n=command %s\n=end status=%s sure=%s lines=0\n' "$1" "$2" "$3" "$4"
  sections=$((sections + 1))
}

# ---- what a row needs, and the forms of its command ----

loaded() {
  [ -d "/sys/module/$1" ] || grep -q "^$1 " /proc/modules 2>/dev/null
}

# A kernel that has modules tells which are loaded and which are built in; one without does not.
may_be_there() {
  loaded "$1" && return 0
  [ -r /proc/modules ] || return 0
  built_in=/lib/modules/$(uname -r)/modules.builtin
  [ -r "$built_in" ] || return 0
  grep -q "/$1\.ko" "$built_in"
}

# Is there such a process, in our network namespace as far as that can be told?
runs_here() {
  here=$(readlink /proc/self/ns/net 2>/dev/null)
  # shellcheck disable=SC2013 # Paths below /proc hold no blanks.
  for comm in $(grep -lx "$1" /proc/[0-9]*/comm 2>/dev/null); do
    there=$(readlink "${comm%/comm}/ns/net" 2>/dev/null)
    if [ -z "$there" ] || [ "$there" = "$here" ]; then
      return 0
    fi
  done
  return 1
}

# Sets `needed` (run, skipped, denied) and `sure` (yes, no).
check_needs() {
  needed=run sure=no rest=$1
  while [ -n "$rest" ]; do
    case $rest in
      *' and '*) one=${rest%%' and '*} rest=${rest#*' and '} ;;
      *) one=$rest rest= ;;
    esac
    thing=${one#* } fits=yes
    case $one in
      has\ *)
        if [ -e "$thing" ] && [ ! -r "$thing" ]; then
          needed=denied
        elif grep -q '' "$thing" 2>/dev/null; then
          sure=yes
        else
          fits=no
        fi
        ;;
      process\ *) runs_here "$thing" || fits=no ;;
      without\ *) command -v "$thing" >/dev/null 2>&1 && fits=no ;;
      loaded\ *) if loaded "$thing"; then sure=yes; else fits=no; fi ;;
      module\ *)
        loaded "$thing" && sure=yes
        may_be_there "$thing" || fits=no
        ;;
      *) fits=no ;;
    esac
    if [ "$fits" = no ]; then
      needed=skipped
      return
    fi
  done
}

# Every line of every readable file, as PATH:LINE.
form_files() {
  grep -s '' "$@" /dev/null
  return 0
}

# The queues, then the filters of each device that has a queue for them.
form_clsact() {
  qdiscs=$("$1" qdisc show) || return
  printf 'qdiscs\n%s\n' "$qdiscs"
  devices=$(printf '%s\n' "$qdiscs" |
    awk '$1 == "qdisc" && ($2 == "clsact" || $2 == "ingress") {
      for (i = 3; i < NF; i++) if ($i == "dev") { print $(i + 1); break } }' | sort -u)
  for device in $devices; do
    for direction in ingress egress; do
      printf 'dev %s %s\n' "$device" "$direction"
      "$@" "$device" "$direction" || [ "$direction" = egress ] || return
      echo
    done
  done
}

run_row() { # NAME NEEDS COMMAND
  check_needs "$2"
  if [ "$needed" != run ]; then
    unrun "$1" "$3" "$needed" "$sure"
    return
  fi
  words=${3#@* }
  case $3 in
    @files\ *)
      # shellcheck disable=SC2086 # The patterns are to be split and expanded here.
      set -- "$1" "$2" "$3" form_files $words
      ;;
    @file\ *)
      if [ ! -e "$words" ]; then
        unrun "$1" "$3" 127 "$sure"
        return
      fi
      set -- "$1" "$2" "$3" cat "$words"
      ;;
    *)
      set -f
      # shellcheck disable=SC2086 # A row's words need no quotes.
      case $3 in
        @clsact\ *) set -- "$1" "$2" "$3" form_clsact $words ;;
        *) set -- "$1" "$2" "$3" $3 ;;
      esac
      set +f
      ;;
  esac
  program=$4
  [ "$program" != form_clsact ] || program=$5
  if ! command -v "$program" >/dev/null 2>&1; then
    unrun "$1" "$3" 127 "$sure"
    return
  fi
  title=$1 shown=$3 seconds_for_row=$limit
  case $title in
    *profiler* | ibv-* | firewalld) seconds_for_row=$slow_limit ;;
  esac
  shift 3
  bounded "$work/row" "$seconds_for_row" "$@"
  emit "$work/row" "$title" "$shown" "$sure"
}

# ---- what is tried with a peer ----

section() { # TITLE COMMAND...
  title=$1
  shift
  if ! command -v "$1" >/dev/null 2>&1; then
    unrun "$title" "$*" 127 no
    return
  fi
  bounded "$work/row" 8 "$@"
  emit "$work/row" "$title" "$*" no
}

mtu_towards() { # ADDRESS -> MTU of the interface that leads to it, 1500 when unknown
  if [ "$system" = linux ]; then
    device=$(ip route get "$1" 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
    mtu=$(ip link show dev "${device:-lo}" 2>/dev/null | sed -n 's/.* mtu \([0-9]*\).*/\1/p')
  else
    device=$(route -n get "$1" 2>/dev/null | sed -n 's/^ *interface: //p')
    mtu=$(ifconfig "${device:-lo0}" 2>/dev/null | sed -n 's/.* mtu \([0-9]*\).*/\1/p')
  fi
  case $mtu in
    '' | *[!0-9]* | ??????*) mtu=1500 ;;
  esac
  echo "$mtu"
}

ping_peer() {
  mtu=$(mtu_towards "$1")
  case $system:$1 in
    linux:*:*)
      section "ping $1" ping -n -c 3 -i 0.3 -W 1 "$1"
      section "ping-large $1 $mtu" ping -n -c 2 -i 0.3 -W 1 -M "do" -s $((mtu - 48)) "$1"
      ;;
    linux:*)
      section "ping $1" ping -n -c 3 -i 0.3 -W 1 "$1"
      section "ping-large $1 $mtu" ping -n -c 2 -i 0.3 -W 1 -M "do" -s $((mtu - 28)) "$1"
      ;;
    macos:*:*)
      section "ping $1" ping6 -n -c 3 -i 0.3 "$1"
      section "ping-large $1 $mtu" ping6 -n -c 2 -i 0.3 -D -s $((mtu - 48)) "$1"
      ;;
    *)
      section "ping $1" ping -n -c 3 -i 0.3 -t 4 "$1"
      section "ping-large $1 $mtu" ping -n -c 2 -i 0.3 -t 3 -D -s $((mtu - 28)) "$1"
      ;;
  esac
}

route_to() {
  case $system:$1 in
    linux:*) section "route $1" ip -j route get "$1" ;;
    *:*:*) section "route $1" route -n get -inet6 "$1" ;;
    *) section "route $1" route -n get "$1" ;;
  esac
}

# All ports at once: each that is dropped would take its whole time.
connect_peer() {
  if command -v nc >/dev/null 2>&1; then
    set -- "$1" "nc -z -v -w 2" nc -z -v -w 2 "$1"
  elif command -v bash >/dev/null 2>&1; then
    # shellcheck disable=SC2016 # For the other shell.
    set -- "$1" "bash /dev/tcp" bash -c 'exec 3<>"/dev/tcp/$0/$1" && echo connected' "$1"
  else
    unrun "connect $1 ${ports%% *}" "nc -z" 127 no
    return
  fi
  address=$1 shown=$2
  shift 2
  for port in $ports; do
    mkdir -p "$work/port$port"
    (bounded "$work/port$port" 3 "$@" "$port") &
  done
  wait
  for port in $ports; do
    emit "$work/port$port" "connect $address $port" "$shown $address $port" no
  done
}

own_name() {
  own=$(uname -n | tr -cd 'A-Za-z0-9._-')
  [ -n "$own" ] || return
  if [ "$system" = linux ]; then
    section "resolve $own" getent ahosts "$own"
  else
    section "resolve $own" dscacheutil -q host -a name "$own"
  fi
}

# ---- the command line ----

# "29500,29600-29603" -> "29500 29600 29601 29602 29603"
expand_ports() {
  expanded=
  set -f
  # shellcheck disable=SC2046 # To be split.
  set -- $(printf '%s' "$1" | tr ',' ' ')
  set +f
  for part in "$@"; do
    first=${part%%-*} last=${part##*-}
    case $first$last in
      *[!0-9]* | ???????????*) wrong "'$part' is no port and no range of ports" ;;
    esac
    if [ -z "$first" ] || [ -z "$last" ] || [ "$first" -lt 1 ] || [ "$last" -gt 65535 ] ||
      [ "$first" -gt "$last" ]; then
      wrong "'$part' is no port and no range of ports"
    fi
    [ $((last - first)) -lt $most_ports ] || wrong "at most $most_ports ports"
    while [ "$first" -le "$last" ]; do
      expanded="$expanded $first"
      first=$((first + 1))
    done
  done
  # shellcheck disable=SC2086 # To be split.
  set -- $expanded
  [ $# -ge 1 ] || wrong "no port given"
  [ $# -le $most_ports ] || wrong "at most $most_ports ports"
  ports=$*
}

peers='' name='' port_list='29500,29600-29603'
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --peer | --ports | --name) [ $# -ge 2 ] || wrong "$1 needs a value (--help)" ;;
    *) wrong "unknown argument '$1' (--help)" ;;
  esac
  case $1 in
    --peer)
      case $2 in
        '' | -* | *[!0-9A-Za-z.:%_-]*) wrong "'$2' is no address" ;;
      esac
      peers="$peers $2"
      ;;
    --ports) port_list=$2 ;;
    --name) name=$(printf '%s' "$2" | tr -cd 'A-Za-z0-9._-') ;;
  esac
  shift 2
done
expand_ports "$port_list"
# shellcheck disable=SC2086 # To be split.
set -- $peers
[ $# -le $most_peers ] || wrong "at most $most_peers peers"
peers=$*

case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=macos ;;
  *) wrong "only Linux and macOS are known, this is $(uname -s)" ;;
esac
[ -n "$name" ] || name=$(uname -n | tr -cd 'A-Za-z0-9._-')

work=$(mktemp -d "${TMPDIR:-/tmp}/collect.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/row"
sections=0

echo "=plumbline-collect 1"
echo "=name $name"
echo "=system $system"
echo "=time $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "=peers $peers"
echo "=ports $ports"

for peer in $peers; do
  echo "collect.sh: trying $peer" >&2
  route_to "$peer"
  ping_peer "$peer"
  connect_peer "$peer"
done

echo "collect.sh: asking this host" >&2
own_name
sources >"$work/sources"
while IFS='|' read -r row_system row_name row_needs row_command <&3; do
  case $row_system in
    "$system" | any) run_row "$row_name" "$row_needs" "$row_command" ;;
  esac
done 3<"$work/sources"
echo "=done sections=$sections"

if [ -n "$peers" ]; then
  cat >&2 <<'END_OF_HINT'
collect.sh: a port on which nobody listens answers "refused". To tell that from a firewall, let
somebody listen while the peer runs its collect.sh, in a second terminal here:
    nc -l 29600          (macOS, OpenBSD's nc)        nc -l -p 29600     (other kinds)
END_OF_HINT
fi
