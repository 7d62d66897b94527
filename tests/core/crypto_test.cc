// Both makes of core/crypto.h against the standards' own answers, and against each other.
#include "core/crypto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "core/encode.h"

namespace plumbline {
namespace {

std::span<const std::byte> as_bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

struct KnownHash {
  std::string message;
  const char* digest;
};

struct KnownMac {
  std::string key, message;
  const char* digest;
};

// The examples of FIPS 180-4 (one block, two blocks, 896 bits, a million letters) and nothing at
// all.
const std::vector<KnownHash>& known_hashes() {
  static const std::vector<KnownHash> kHashes = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
       "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  return kHashes;
}

// RFC 4231, test cases 1 to 4, 6 and 7 (5 cuts the answer off).
const std::vector<KnownMac>& known_macs() {
  static const std::vector<KnownMac> kMacs = {
      {std::string(20, '\x0b'), "Hi There",
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?",
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"
       "\x17\x18\x19",
       std::string(50, '\xcd'), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {std::string(131, '\xaa'),
       "This is a test using a larger than block-size key and a larger than block-size data. The "
       "key needs to be hashed before being used by the HMAC algorithm.",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  return kMacs;
}

class EveryCrypto : public testing::TestWithParam<const Crypto*> {};

TEST_P(EveryCrypto, KnownHashes) {
  for (const KnownHash& known : known_hashes()) {
    EXPECT_EQ(to_hex(GetParam()->sha256(as_bytes_of(known.message))), known.digest)
        << known.message.size();
  }
}

TEST_P(EveryCrypto, KnownMacs) {
  for (const KnownMac& known : known_macs()) {
    EXPECT_EQ(to_hex(GetParam()->hmac_sha256(as_bytes_of(known.key), as_bytes_of(known.message))),
              known.digest);
  }
}

// Every byte of what is asked for changes between two calls out of 16 for sure; nothing beyond
// does.
TEST_P(EveryCrypto, RandomBytesFillAllAndNoMore) {
  for (const size_t size : {1U, 32U, 256U, 257U, 1000U}) {
    std::vector<std::set<std::byte>> seen(size + 1);
    for (int call = 0; call < 16; ++call) {
      std::vector<std::byte> bytes(size + 1);
      ASSERT_TRUE(GetParam()->random_bytes(std::span(bytes).first(size)));
      for (size_t i = 0; i <= size; ++i) seen[i].insert(bytes[i]);
    }
    for (size_t i = 0; i < size; ++i) EXPECT_GT(seen[i].size(), 1U) << size << " " << i;
    EXPECT_EQ(seen[size], std::set<std::byte>{std::byte{}}) << size;
  }
  EXPECT_TRUE(GetParam()->random_bytes({}));
}

// Parts of every length around a block's, and empty ones.
TEST_P(EveryCrypto, PartsOneAfterTheOtherAreTheWhole) {
  std::mt19937 random(20261129);
  std::string text(1000, ' ');
  for (char& c : text) c = static_cast<char>(random());
  for (const size_t part : {1U, 7U, 63U, 64U, 65U, 129U, 999U, 1000U}) {
    const std::unique_ptr<Sha256Stream> stream = GetParam()->start_sha256();
    for (size_t at = 0; at < text.size(); at += part) {
      stream->add(as_bytes_of(text.substr(at, part)));
      stream->add({});
    }
    EXPECT_EQ(to_hex(stream->end()), to_hex(GetParam()->sha256(as_bytes_of(text)))) << part;
  }
  EXPECT_EQ(to_hex(GetParam()->start_sha256()->end()), known_hashes().front().digest);
}

INSTANTIATE_TEST_SUITE_P(Crypto, EveryCrypto, testing::Values(&crypto(), &own_crypto()),
                         [](const testing::TestParamInfo<const Crypto*>& made) {
                           return made.index == 0 ? std::string("chosen") : std::string("own");
                         });

// Lengths around every edge of blocks and of padding.
TEST(Crypto, BothAgreeOnEveryLength) {
  if (&crypto() == &own_crypto()) GTEST_SKIP() << "built without libcrypto";
  std::mt19937 generator(20260711);
  std::string text, key;
  for (int length = 0; length <= 300; ++length) {
    EXPECT_EQ(to_hex(own_crypto().sha256(as_bytes_of(text))),
              to_hex(crypto().sha256(as_bytes_of(text))))
        << length;
    EXPECT_EQ(to_hex(own_crypto().hmac_sha256(as_bytes_of(key), as_bytes_of(text))),
              to_hex(crypto().hmac_sha256(as_bytes_of(key), as_bytes_of(text))))
        << length;
    text += static_cast<char>(generator());
    key.resize(generator() % 200);
    for (char& c : key) c = static_cast<char>(generator());
  }
}

TEST(Crypto, VersionNamesTheLibrary) {
  EXPECT_EQ(own_crypto().version(), "");
  if (&crypto() == &own_crypto()) GTEST_SKIP() << "built without libcrypto";
  EXPECT_THAT(crypto().version(), testing::HasSubstr("SSL"));
}

TEST(Crypto, DigestsDifferInAnyByte) {
  const Digest digest = own_crypto().sha256({});
  for (size_t i = 0; i < digest.size(); ++i) {
    Digest other = digest;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(equal_digest(digest, other)) << i;
  }
  EXPECT_TRUE(equal_digest(digest, digest));
}

}  // namespace
}  // namespace plumbline
