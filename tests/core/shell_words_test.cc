#include "core/shell_words.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(ShellWords, QuotesWhatTheShellWouldTakeApart) {
  EXPECT_EQ(shell_line({"plumbline", "run", "a b.json"}), "plumbline run 'a b.json'");
  EXPECT_EQ(shell_line({"it's", "", "$(reboot)"}), "'it'\\''s' '' '$(reboot)'");
  EXPECT_EQ(shell_line({}), "");
  EXPECT_EQ(shell_word("--out=/tmp/a_b"), "--out=/tmp/a_b");
  EXPECT_EQ(shell_quoted("esac"), "'esac'");
}

}  // namespace
}  // namespace plumbline
