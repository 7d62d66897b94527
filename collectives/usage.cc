#include "collectives/usage.h"

#include <sys/resource.h>

#include "core/clock.h"

namespace plumbline {

Usage& Usage::operator+=(const Usage& other) {
  cpu_ns += other.cpu_ns;
  switches += other.switches;
  involuntary += other.involuntary;
  return *this;
}

Usage operator-(Usage from, const Usage& what) {
  return from += {-what.cpu_ns, -what.switches, -what.involuntary};
}

Usage usage_now() {
  rusage raw{};
  getrusage(RUSAGE_SELF, &raw);
  const auto ns = [](const timeval& t) {
    return int64_t{t.tv_sec} * kSecond + int64_t{t.tv_usec} * 1000;
  };
  return {ns(raw.ru_utime) + ns(raw.ru_stime), raw.ru_nvcsw + raw.ru_nivcsw, raw.ru_nivcsw};
}

}  // namespace plumbline
