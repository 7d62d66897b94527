// Memory handed from one end to the other, and everything else that may come over such a socket:
// from the other end, and from others who know where the two meet. Whatever came, no descriptor and
// no file stays.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/descriptors_linux.h"
#include "transport/control/wire.h"
#include "transport/shm/handover.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

using test::open_descriptors;
using test::there;
using Part = Handover::Part;

struct Meeting {
  Meeting() {
    EXPECT_TRUE(listens.meet());
    EXPECT_TRUE(connects.meet());
  }
  const Digest secret = random_token();
  Handover listens{secret, Part::kListens}, connects{secret, Part::kConnects};
};

bool same_file(int a, int b) {
  struct stat one {
  }, other{};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_ino == other.st_ino;
}

// Somebody at the path that the two have, who is not the other end.
Fd somebody_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  Fd fd = new_stream_socket(AF_UNIX);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// Any message at all.
void pass(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) {
  std::vector<std::byte> room(CMSG_SPACE(descriptors.size_bytes()));
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// As the end that connects writes them; what the messages hold is no secret of this program.
std::vector<std::byte> words(const Digest& secret, uint64_t id, uint64_t bytes,
                             size_t cut_at = 48) {
  const std::string_view purpose = "plumbline handover: connects";
  WireWriter out;
  out.bytes(hmac_sha256(secret, std::as_bytes(std::span(purpose))));
  out.u64(id);
  out.u64(bytes);
  std::vector<std::byte> all = out.take();
  all.resize(cut_at);
  return all;
}

TEST(Handover, MemoryGoesBothWaysInOrderAndThePathIsGone) {
  const size_t before = open_descriptors();
  {
    Meeting meeting;
    EXPECT_FALSE(there(meeting.listens.path()));
    EXPECT_EQ(meeting.listens.path(), meeting.connects.path());
    const Fd one(::memfd_create("one", 0)), other(::memfd_create("other", 0));
    EXPECT_FALSE(meeting.listens.send(1, 1, one.get()))
        << "nobody has come yet, as far as it knows";
    EXPECT_TRUE(meeting.connects.send(7, 4096, one.get()));
    EXPECT_TRUE(meeting.connects.send(8, 8192, other.get()));
    const auto first = meeting.listens.receive(), second = meeting.listens.receive();
    ASSERT_TRUE(first && *first && second && *second);
    EXPECT_EQ((*first)->id, 7u);
    EXPECT_EQ((*first)->bytes, 4096u);
    EXPECT_TRUE(same_file((*first)->memory.get(), one.get()));
    EXPECT_EQ((*second)->id, 8u);
    EXPECT_TRUE(same_file((*second)->memory.get(), other.get()));
    EXPECT_EQ(::fcntl((*second)->memory.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_FALSE((*meeting.listens.receive()).has_value());
    EXPECT_TRUE(meeting.listens.send(9, 1, one.get()));
    const auto back = meeting.connects.receive();
    ASSERT_TRUE(back && *back);
    EXPECT_EQ((*back)->id, 9u);
    // What was sent before the end is here after it.
    EXPECT_TRUE(meeting.listens.send(10, 1, one.get()));
    meeting.listens.close();
    const auto last = meeting.connects.receive();
    ASSERT_TRUE(last && *last);
    EXPECT_EQ((*last)->id, 10u);
    EXPECT_FALSE((*meeting.connects.receive()).has_value());
    EXPECT_FALSE(meeting.connects.send(11, 1, one.get()));
  }
  EXPECT_EQ(open_descriptors(), before);
}

// One end is killed, or gives up, with the other on its way: whichever is left takes it away.
TEST(Handover, EitherEndTakesThePathAway) {
  for (const bool listener_goes_first : {false, true}) {
    const Digest secret = random_token();
    std::optional<Handover> listens(std::in_place, secret, Part::kListens);
    std::optional<Handover> connects(std::in_place, secret, Part::kConnects);
    const std::string path = listens->path();
    ASSERT_TRUE(listens->meet());
    EXPECT_TRUE(there(path));
    (listener_goes_first ? listens : connects).reset();
    EXPECT_FALSE(there(path));
  }
}

TEST(Handover, WhereNobodyListensOrSomebodyElseDoesIsAnError) {
  const Digest secret = random_token();
  Handover connects(secret, Part::kConnects);
  EXPECT_FALSE(connects.meet());
  Handover one(secret, Part::kListens), other(secret, Part::kListens);
  EXPECT_TRUE(one.meet());
  const Status second = other.meet();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), testing::HasSubstr(one.path()));
}

// Strangers who came first, and say nothing, or what they like.
TEST(Handover, StrangersAreClosedAndTheOtherEndIsFoundBehindThem) {
  const size_t before = open_descriptors();
  {
    const Digest secret = random_token();
    Handover listens(secret, Part::kListens), connects(secret, Part::kConnects);
    ASSERT_TRUE(listens.meet());
    const Fd silent = somebody_at(listens.path());
    const Fd wrong = somebody_at(listens.path()), short_one = somebody_at(listens.path());
    const std::array<int, 1> own{silent.get()};
    pass(wrong.get(), words(random_token(), 0, 4096), own);
    pass(short_one.get(), words(secret, 0, 4096, 47), own);
    EXPECT_FALSE((*listens.receive()).has_value());
    ASSERT_TRUE(connects.meet());
    const Fd memory(::memfd_create("memory", 0));
    ASSERT_TRUE(connects.send(3, 1, memory.get()));
    const auto came = listens.receive();
    ASSERT_TRUE(came && *came);
    EXPECT_EQ((*came)->id, 3u);
    for (const Fd* stranger : {&silent, &wrong, &short_one}) {
      char byte = 0;
      EXPECT_LE(::recv(stranger->get(), &byte, 1, 0), 0);
      EXPECT_NE(errno, EAGAIN) << "closed";
      errno = 0;
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

// The end that has proved itself sends something else: an error, and nothing of it stays open.
TEST(Handover, MessagesOfAnotherKindAreErrorsAndKeepNothing) {
  struct Wrong {
    const char* what;
    size_t bytes, descriptors;
    bool proves;
  };
  for (const Wrong& wrong :
       {Wrong{"no descriptor", 48, 0, true}, Wrong{"two descriptors", 48, 2, true},
        Wrong{"as many as go", 48, 253, true}, Wrong{"too short", 47, 1, true},
        Wrong{"one byte", 1, 0, true}, Wrong{"of somebody else", 48, 1, false}}) {
    const size_t before = open_descriptors();
    {
      const Digest secret = random_token();
      Handover listens(secret, Part::kListens);
      ASSERT_TRUE(listens.meet());
      const Fd other = somebody_at(listens.path());
      const Fd memory(::memfd_create("memory", 0));
      const std::vector<int> all(wrong.descriptors, memory.get());
      pass(other.get(), words(secret, 1, 4096), std::array{memory.get()});
      ASSERT_TRUE((*listens.receive()).has_value());
      const size_t held = open_descriptors();
      pass(other.get(), words(wrong.proves ? secret : random_token(), 2, 1, wrong.bytes), all);
      const auto came = listens.receive();
      ASSERT_FALSE(came) << wrong.what;
      EXPECT_EQ(came.error().code, ErrorCode::kProtocol) << wrong.what;
      EXPECT_EQ(open_descriptors(), held) << wrong.what;
    }
    EXPECT_EQ(open_descriptors(), before) << wrong.what;
  }
}

// One may have no more descriptors: said as what it is.
TEST(Handover, WithoutDescriptorsLeftItIsTheSystemThatSaysSo) {
  Meeting meeting;
  const Fd memory(::memfd_create("memory", 0));
  ASSERT_TRUE(meeting.connects.send(1, 1, memory.get()));
  ASSERT_TRUE((*meeting.listens.receive()).has_value());
  ASSERT_TRUE(meeting.connects.send(2, 1, memory.get()));
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit none{0, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto came = meeting.listens.receive();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  ASSERT_FALSE(came);
  EXPECT_EQ(came.error().code, ErrorCode::kSystem);
  EXPECT_THAT(came.error().message(), testing::HasSubstr("ulimit -n"));
}

// Whoever takes nothing is not waited for.
TEST(Handover, WhatThereIsNoRoomForIsNotSent) {
  Meeting meeting;
  const Fd memory(::memfd_create("memory", 0));
  uint64_t sent = 0;
  while (sent < 100'000 && meeting.connects.send(sent + 1, 1, memory.get())) ++sent;
  EXPECT_GT(sent, 10u);
  EXPECT_LT(sent, 100'000u);
  for (uint64_t i = 0; i < sent; ++i) {
    const auto came = meeting.listens.receive();
    ASSERT_TRUE(came && *came);
    EXPECT_EQ((*came)->id, i + 1);
  }
  EXPECT_FALSE((*meeting.listens.receive()).has_value());
  EXPECT_TRUE(meeting.connects.send(1, 1, memory.get())) << "there is room again";
}

}  // namespace
}  // namespace plumbline
