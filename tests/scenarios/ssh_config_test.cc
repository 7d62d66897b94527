#include "scenarios/host_files/ssh_config.h"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using testing::HasSubstr;

HostFile hosts_of(std::vector<ScenarioHost> hosts) {
  HostFile file;
  file.hosts = std::move(hosts);
  return file;
}
ScenarioHost host_at(const std::string& name, const std::string& ssh) {
  ScenarioHost host;
  host.name = name;
  host.ssh = ssh;
  return host;
}

TEST(SshConfig, ABlockForEachHostAndTheWayOfTheKey) {
  ScenarioHost second = host_at("mini2", "mini2");
  second.port = 2222;
  ScenarioHost here;
  here.name = "local0";
  here.local = true;
  const auto text = ssh_config_of(hosts_of({host_at("mini1", "me@mini1.local"), second, here}));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            "# For ~/.ssh/config. Before that, once, a key for these hosts and its way to each of "
            "them:\n"
            "#   ssh-keygen -t ed25519 -f ~/.ssh/plumbline_cluster\n"
            "#   ssh-copy-id -i ~/.ssh/plumbline_cluster.pub me@mini1.local\n"
            "#   ssh-copy-id -i ~/.ssh/plumbline_cluster.pub -p 2222 mini2\n"
            "\n"
            "Host mini1 mini1.local\n"
            "    HostName mini1.local\n"
            "    User me\n"
            "    IdentityFile ~/.ssh/plumbline_cluster\n"
            "    IdentitiesOnly yes\n"
            "\n"
            "Host mini2\n"
            "    HostName mini2\n"
            "    Port 2222\n"
            "    IdentityFile ~/.ssh/plumbline_cluster\n"
            "    IdentitiesOnly yes\n");
}

TEST(SshConfig, WhatTheFileSaysOfKeyUserAndPort) {
  ScenarioHost host = host_at("box", "ssh://root@[fd00::7]:2200");
  host.user = "me";
  host.key = "/keys of mine/id";
  const auto text = ssh_config_of(hosts_of({host}));
  ASSERT_TRUE(text) << text.error().message();
  for (const char* line :
       {"Host box fd00::7\n", "HostName fd00::7\n", "User me\n", "Port 2200\n",
        "IdentityFile \"/keys of mine/id\"\n", "ssh-keygen -t ed25519 -f '/keys of mine/id'\n"}) {
    EXPECT_THAT(*text, HasSubstr(line));
  }
}

// Nothing that a file says becomes a line, a pattern, a token or a command of its own.
TEST(SshConfig, WhatHasNoPlaceThereIsRefused) {
  for (const char* destination : {"a\nProxyCommand x", "*", "!a", "a%h", "$(x)", "`x`", "a;b",
                                  "u$x@a", "a#b", "fe80::1%en0"}) {
    EXPECT_FALSE(ssh_config_of(hosts_of({host_at("a", destination)}))) << destination;
  }
  ScenarioHost host = host_at("a", "a");
  for (const char* key : {"k\nHost *", "k\"", "k'", "$(k)", "%d/k"}) {
    host.key = key;
    EXPECT_FALSE(ssh_config_of(hosts_of({host}))) << key;
  }
  const auto none = ssh_config_of(hosts_of({}));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("no host of the file is reached by ssh"));
}

}  // namespace
}  // namespace plumbline
