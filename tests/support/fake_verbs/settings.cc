#include "tests/support/fake_verbs/settings.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

namespace plumbline::fake {
namespace {

// A Mac with one cable, on which the ranks of one machine find one another.
constexpr const char* kUsual =
    "device rdma_en1\n"
    "gid 0 fe80::1\n"
    "gid 1 ::ffff:127.0.0.1\n"
    "rc refused\n";

std::mutex mutex;
std::shared_ptr<const Settings> current;

void take(Settings& out, const std::string& line) {
  std::istringstream words(line);
  std::string what, first, second;
  words >> what >> first >> second;
  if (what == "device") out.devices.push_back(std::make_shared<VerbsDevice>(VerbsDevice{first}));
  if (what == "port") out.port = std::atoi(first.c_str());
  if (what == "gids") out.gids = std::atoi(first.c_str());
  if (what == "gid") {
    inet_pton(AF_INET6, second.c_str(), out.gid[std::atoi(first.c_str())].raw.data());
  }
  if (what == "late") out.late = std::atoi(first.c_str());
  if (what == "lose") out.lose = std::atoi(first.c_str());
  if (what == "lose") out.lose_bytes = std::atoi(second.c_str());
  if (what == "inline") out.inline_bytes = std::atoi(first.c_str());
  if (what == "deaf") out.deaf = true;
  if (what == "linger") out.linger_ms = std::atoi(first.c_str());
  if (what == "linger") out.linger_bytes = std::atoi(second.c_str());
  if (what == "sockets") out.sockets = first;
  if (what == "posts") out.posts = std::atoi(first.c_str());
  if (what == "rc") out.rc_refused = true;
  if (what == "most") out.most[first] = std::atoi(second.c_str());
  if (what == "fail") out.fails[first] = std::atoi(second.c_str());
  if (what == "hang" || what == "crash") out.faults[first] = what;
}

// "/folder/library.so.settings".
std::string beside_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&read_settings), &info) == 0) return {};
  return std::string(info.dli_fname) + ".settings";
}

}  // namespace

void read_settings() {
  const char* const named = std::getenv("FAKE_VERBS");
  auto settings = std::make_shared<Settings>();
  std::ifstream file(named == nullptr ? beside_library() : named);
  std::istringstream usual(kUsual);
  std::istream& in = named == nullptr && !file ? static_cast<std::istream&>(usual) : file;
  for (std::string line; std::getline(in, line);) take(*settings, line);
  const std::lock_guard lock(mutex);
  // What was handed out stays: somebody may open it yet.
  if (current) {
    for (auto& device : settings->devices) {
      for (const auto& known : current->devices) {
        if (known->name == device->name) device = known;
      }
    }
  }
  current = std::move(settings);
}

std::shared_ptr<const Settings> settings() {
  {
    const std::lock_guard lock(mutex);
    if (current) return current;
  }
  read_settings();
  const std::lock_guard lock(mutex);
  return current;
}

bool fails(const std::string& step) {
  const auto now = settings();
  const auto fault = now->faults.find(step);
  if (fault != now->faults.end()) {
    if (fault->second == "crash") std::raise(SIGSEGV);
    for (;;) pause();
  }
  const auto number = now->fails.find(step);
  if (number == now->fails.end()) return false;
  errno = number->second;
  return true;
}

}  // namespace plumbline::fake
