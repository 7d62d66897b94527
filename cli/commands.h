// The commands: one file each, one row of commands.cc.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"

namespace plumbline {

std::vector<CommandRow> command_table();

int run_run(const Args& args, Context& context);
int run_explain(const Args& args, Context& context);
int run_plan(const Args& args, Context& context);
int run_list(const Args& args, Context& context);
int run_report(const Args& args, Context& context);
int run_compare(const Args& args, Context& context);
int run_submit(const Args& args, Context& context);
int run_verify(const Args& args, Context& context);
int run_results(const Args& args, Context& context);
int run_trace(const Args& args, Context& context);
int run_doctor(const Args& args, Context& context);
int run_watch(const Args& args, Context& context);
int run_coll(const Args& args, Context& context);
int run_tune(const Args& args, Context& context);
int run_hosts(const Args& args, Context& context);
int run_lab(const Args& args, Context& context);
int run_config(const Args& args, Context& context);
int run_selftest(const Args& args, Context& context);
int run_help(const Args& args, Context& context);
int run_version(const Args& args, Context& context);
int run_completion(const Args& args, Context& context);
int run_man(const Args& args, Context& context);
int run_agent(const Args& args, Context& context);
int run_rank(const Args& args, Context& context);
int run_launch(const Args& args, Context& context);
int run_guard(const Args& args, Context& context);
int run_rdma_climb(const Args& args, Context& context);
int run_rdma_meet(const Args& args, Context& context);
int run_stop(const Args& args, Context& context);

// Its column of examples. Empty for commands that nobody is shown.
std::vector<ExampleRow> examples_of(const std::string& command);

// `plumbline lab matrix`, apart from the other lab commands because it is long.
int lab_matrix_command(const Args& args, Context& context);

// RESULTS.md: written from the folder of bundles, or compared with it.
int results_update(const Args& args, Context& context);
int results_check(const Args& args, Context& context);

// `plumbline results list|show|prune`: the runs of this user on this machine (history.h).
int results_list(const Args& args, Context& context);
int results_show(const Args& args, Context& context);
int results_prune(const Args& args, Context& context);

}  // namespace plumbline
