// `plumbline version`.

#include <fmt/format.h>

#include "cli/commands.h"
#include "core/host/host.h"
#include "core/json.h"
#include "core/record/record.h"
#include "kernels/kernels.h"
#include "runs/build.h"

namespace plumbline {

int run_version(const Args& args, Context& context) {
  const HostFacts facts = read_host_facts();
  const std::string target = kernel_sets().front()->target;
  if (args.has("json")) {
    const nlohmann::json all = {{"version", PLUMBLINE_VERSION},
                                {"build", own_build()},
                                {"record_schema", kRecordSchema},
                                {"kernels", target},
                                {"os", facts.os},
                                {"arch", facts.arch},
                                {"libraries", facts.libraries}};
    *context.out << json_text(all);
    return 0;
  }
  *context.out << fmt::format("plumbline " PLUMBLINE_VERSION
                              "\nbuild {}\nrecord schema {}, kernels {}, {} {}\n",
                              own_build(), kRecordSchema, target, facts.os, facts.arch);
  for (const auto& [name, version] : facts.libraries)
    *context.out << name << " " << version << "\n";
  return 0;
}

}  // namespace plumbline
