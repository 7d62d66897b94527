#include "core/host/resource_hint.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>

namespace plumbline {
namespace {

struct LimitRow {
  int err;
  int resource;
  const char *name, *raise, *otherwise;
};
constexpr LimitRow kRows[] = {
    {EAGAIN, RLIMIT_NPROC, "processes and threads of this user", "ulimit -u",
     "end other programs of this user, or use fewer ranks"},
    {ENOMEM, RLIMIT_AS, "bytes of address space", "ulimit -v",
     "use smaller sizes, fewer ranks or smaller files"},
    {EMFILE, RLIMIT_NOFILE, "open files of a process", "ulimit -n", "use fewer ranks"},
};

}  // namespace

std::string resource_hint(int err) {
  for (const LimitRow& row : kRows) {
    if (row.err != err) continue;
    rlimit limit{};
    const bool told = getrlimit(row.resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    if (!told) return row.otherwise;
    return fmt::format("the limit here is {} {}: raise it ({}), or {}",
                       static_cast<unsigned long long>(limit.rlim_cur), row.name, row.raise,
                       row.otherwise);
  }
  return {};
}

}  // namespace plumbline
