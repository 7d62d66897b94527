// Where a static program looks names up. glibc would load the modules that /etc/nsswitch.conf
// names, which belong to the glibc of the machine and must not meet ours; files and DNS are built
// in. See https://sourceware.org/glibc/wiki/FAQ on static linking, and nss.h.
#include <nss.h>

#include <initializer_list>

namespace {

struct OwnModules {
  OwnModules() {
    __nss_configure_lookup("hosts", "files dns");
    for (const char* database : {"passwd", "group", "services", "protocols", "networks"}) {
      __nss_configure_lookup(database, "files");
    }
  }
};
const OwnModules own_modules;

}  // namespace
