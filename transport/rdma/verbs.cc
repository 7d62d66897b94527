#include "transport/rdma/verbs.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace plumbline {
namespace {

// false where the library has no function of that name.
template <typename Function>
bool take(void* library, const char* name, Function& out) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): that is how dlsym gives functions
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

// The name of the first function that is missing; null = none.
const char* take_all(void* library, Verbs& verbs) {
#define PLUMBLINE_TAKE(name) \
  if (!take(library, "ibv_" #name, verbs.name)) return "ibv_" #name
  PLUMBLINE_TAKE(get_device_list);
  PLUMBLINE_TAKE(free_device_list);
  PLUMBLINE_TAKE(get_device_name);
  PLUMBLINE_TAKE(open_device);
  PLUMBLINE_TAKE(close_device);
  PLUMBLINE_TAKE(query_port);
  PLUMBLINE_TAKE(query_gid);
  PLUMBLINE_TAKE(alloc_pd);
  PLUMBLINE_TAKE(dealloc_pd);
  PLUMBLINE_TAKE(create_cq);
  PLUMBLINE_TAKE(destroy_cq);
  PLUMBLINE_TAKE(create_qp);
  PLUMBLINE_TAKE(destroy_qp);
  PLUMBLINE_TAKE(modify_qp);
  PLUMBLINE_TAKE(reg_mr);
  PLUMBLINE_TAKE(dereg_mr);
#undef PLUMBLINE_TAKE
  const bool events = take(library, "ibv_create_comp_channel", verbs.create_comp_channel) &&
                      take(library, "ibv_destroy_comp_channel", verbs.destroy_comp_channel) &&
                      take(library, "ibv_get_cq_event", verbs.get_cq_event) &&
                      take(library, "ibv_ack_cq_events", verbs.ack_cq_events);
  if (!events) verbs.create_comp_channel = nullptr;
  return nullptr;
}

}  // namespace

Expected<Verbs> load_verbs(const std::vector<std::string>& names) {
  if (!loads_libraries()) {
    return fail(ErrorCode::kUnsupported, "a static plumbline can load no verbs library",
                "install the package of plumbline instead");
  }
  std::string why;
  for (const std::string& name : names) {
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const said = dlerror();
      if (why.empty() && said != nullptr) why = said;
      continue;
    }
    Verbs verbs;
    verbs.library = name;
    if (const char* missing = take_all(library, verbs)) {
      return fail(ErrorCode::kUnsupported, fmt::format("{} has no function {}", name, missing));
    }
    return verbs;
  }
  return fail(ErrorCode::kUnsupported, why.empty() ? "it is not there" : why);
}

}  // namespace plumbline
