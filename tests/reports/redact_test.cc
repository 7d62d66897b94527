// Names, addresses and paths in what somebody types, and what only looks like one.
#include "reports/publish/redact.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Redactor, OrdinalsOnceAndWholeWordsOnly) {
  Redactor redactor;
  redactor.learn_host("mini1.lab.example");
  redactor.learn_host("a");
  redactor.learn_user("ann");
  redactor.learn_from(
      "ssh bob@Mini2:/Users/"
      "cy/x");
  EXPECT_EQ(redactor.text("mini1, MINI1.lab.example mini12 (Mini2)"),
            "host1, host1 mini12 (host2)");
  EXPECT_EQ(redactor.text("ann@mini1 annex bob's cy"), "user1@host1 annex user2's user3");
  EXPECT_EQ(redactor.text("a A"), "host3 host3");
  EXPECT_EQ(redactor.text("a cable", TextFrom::kTyped), "a cable");
  EXPECT_EQ(redactor.text("10.0.0.1:80 10.0.0.1/24 fe80::1%eth0 [::ffff:10.0.0.1]:5"),
            "addr1:80 addr1/24 addr2%eth0 [addr3]:5");
  EXPECT_EQ(redactor.text("02:00:00:00:00:01 AA-BB-CC-DD-EE-FF enx020000000001"),
            "mac1 mac2 enxmac3");
  EXPECT_EQ(redactor.text(
                "0200.c0ff.ee01 (ip-10-0-0-1), 1.0.0.10.in-addr.arpa 1.0.8.b.d.0.1.0.0.2.ip6.arpa"),
            "mac4 (ip-addr4), addr5 addr6");
  EXPECT_EQ(redactor.text("2026-11-22 1.2.3 6-7 0-7,16-23 deadbeef"),
            "2026-11-22 1.2.3 6-7 0-7,16-23 deadbeef");
  EXPECT_EQ(redactor.text("~/x ../y /etc/passwd GNU/Linux and/or"),
            "path1 path2 path3 GNU/Linux and/or");
  EXPECT_EQ(redactor.text("6.18.44-mini1-v6"), "6.18.44-host1-v6");
}

// In pieces, so that no file of the repository names a home.
const std::string kHome = "/home/", kUsers = "/Users/";

std::string typed(const std::string& text) {
  Redactor redactor;
  redactor.learn_host("hera7.lab.acme.example");
  redactor.learn_host("cc");
  redactor.learn_user("carol");
  const std::string out = redactor.text(text, TextFrom::kTyped);
  EXPECT_EQ(redactor.text(out, TextFrom::kTyped), out) << "twice is not once: " << text;
  EXPECT_TRUE(is_redacted(out)) << text << " -> " << out;
  return out;
}

TEST(Redactor, PathsAreFoundWhateverStandsBeforeThem) {
  EXPECT_EQ(typed("hera7:/srv/secretproj/w"), "host1:path1");
  EXPECT_EQ(typed("log:" + kHome + "carol/x"), "log:path1");
  EXPECT_EQ(typed("-I/srv/secretproj"), "path1");
  EXPECT_EQ(typed("-I/srv"), "path1");
  EXPECT_EQ(typed("p=/srv/a,/srv/b (/srv/c) /srv/d."), "p=path1,path2 (path3) path4");
  EXPECT_EQ(typed("~dave/x, ~/y, a/../../srv/z /123/secret"), "path1, path2, path3 path4");
}

TEST(Redactor, PathsMayHoldBlanks) {
  EXPECT_EQ(typed("in " + kUsers + "carol lee/My Models/x"), "in path1");
  EXPECT_EQ(typed("'" + kUsers + "carol lee/x y' and z"), "'path1' and z");
  EXPECT_EQ(typed("/srv/x got 12 GB/s in GNU/Linux"), "path1 got 12 GB/s in GNU/Linux");
}

TEST(Redactor, AddressesAreFoundInsideOfWords) {
  EXPECT_EQ(typed("see fe80::aede:48ff:fe00:1122."), "see addr1.");
  EXPECT_EQ(typed("fe80::aede:48ff:fe00:1122%en5:22"), "addr1%en5:22");
  EXPECT_EQ(typed("10.7.7.7-10.7.7.9 10.7.7.7_eth0"), "addr1-addr2 addr1_eth0");
  EXPECT_EQ(typed("10.7.7.0/24-10.7.8.0/24"), "addr1/24-addr2/24");
  EXPECT_EQ(typed("2001:db8::7-2001:db8::9"), "addr1-addr2");
  EXPECT_EQ(typed("ip-10-7-7-7.ec2.internal 10-7-7-8.x"), "ip-addr1.ec2.internal addr2.x");
  EXPECT_EQ(typed("ip10.7.7.7 v6:fe80::1"), "ipaddr1 v6:addr2");
  EXPECT_EQ(typed("fe80--1.ipv6-literal.net"), "addr1");
}

TEST(Redactor, MacsAreFoundInEveryNotation) {
  for (const char* mac :
       {"aa:bb:cc:dd:ee:f1", "AA-BB-CC-DD-EE-F1", "aabb.ccdd.eef1", "aabbccddeef1",
        "a:bb:c:dd:e:f1", "aa bb cc dd ee f1", "aabbcc-ddeef1", "aa:bb:cc:dd:ee:f1:00:01:02:03"}) {
    EXPECT_EQ(typed(mac), "mac1");
    EXPECT_EQ(typed(std::string(mac) + "-p1"), "mac1-p1");
    EXPECT_EQ(typed("p1-" + std::string(mac)), "p1-mac1");
  }
  EXPECT_EQ(typed("wlxaabbccddeef1 mlx5_aabbccddeef1"), "wlxmac1 mlx5_mac1");
  EXPECT_EQ(typed("aa:bb:cc:dd:ee:ff on cc"), "mac1 on host1");  // a host called as a part of it
}

TEST(Redactor, WhatOnlyLooksLikeAnAddressStays) {
  for (const char* text :
       {"12:30:45 on 2026-11-22", "6.1.0-18-amd64", "Debian GNU/Linux 12 (bookworm)", "std::begin",
        "2-core virtual machine (development machine)", "M2 Ultra, 64 GB/128 GB, 3/4 in TCP/UDP",
        "ranks 10 20 30 40 50 60", "versions 1.2.3 and 1.2.3.4.5", "deadbeef cafe", "~10 us",
        "Intel(R) Xeon(R) CPU E5-2670 v3", "w/o switch, I/O and/or GB/s", "1/2 : 3 :: /"}) {
    EXPECT_EQ(typed(text), text);
  }
}

TEST(Redactor, HostsKnownByTheirAddressKeepTheirOrdinal) {
  Redactor redactor;
  redactor.host("10.3.3.1");
  redactor.host("fe80::1%en5");
  EXPECT_EQ(redactor.text("from 10.3.3.1 to fe80::1%en5, 10.3.3.2"),
            "from host1 to host2%en5, addr1");
}

TEST(Redactor, LongAndHostileTextsEnd) {
  for (const char* piece :
       {"/", "a/", "a:", "1.", "aa:", "-", "~", "/a ", "\xff", "::", "'/", "b/c ", "12 ", "a"}) {
    std::string text;
    while (text.size() < 20'000) text += piece;
    Redactor redactor;
    EXPECT_FALSE(redactor.text(text).empty());
  }
}

}  // namespace
}  // namespace plumbline
