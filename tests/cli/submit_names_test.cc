// submit asks about this machine's own names in what somebody states: they are asked for again,
// refused where there is no terminal, or meant as words.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/submit_questions.h"
#include "tests/cli/submit_support.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// A machine called "vm", whose user is dorothea.
OwnNames own_names() {
  OwnNames own;
  own.names.learn_host("vm.example.org");
  own.names.learn_user("dorothea");
  own.home = "/srv/dorothea";
  return own;
}

TEST(Submit, ATextWithTheMachinesOwnNameIsAskedForAgain) {
  std::istringstream in(
      "thunderbolt5\n\n\nfrom VM to vm.example.org\n\n0.8 m\n2-core VM\nn\n2-core virtual "
      "machine\ndorothea\nin /srv/dorothea/x\nno\nnone\n");
  std::ostringstream out;
  const auto statement = ask_statement({}, own_names(), &in, out);
  ASSERT_TRUE(statement) << statement.error().message() << out.str();
  EXPECT_EQ(statement->cable, "0.8 m");
  EXPECT_EQ(statement->hardware, std::vector<std::string>{"2-core virtual machine"});
  EXPECT_EQ(statement->submitter, "dorothea");  // a user's name is what is asked for there
  EXPECT_EQ(statement->notes, "none");
  EXPECT_TRUE(statement->kept.empty());
  for (const char* words :
       {"'VM' is a name of this machine, 'vm.example.org' is a name of this machine. Publish it",
        "'dorothea' is your user name here, '/srv/dorothea' is your home folder"}) {
    EXPECT_NE(out.str().find(words), std::string::npos) << out.str();
  }
  // The same again three times is no answer.
  std::istringstream stubborn("loopback\nVM\nn\nVM\nn\nVM\nn\n");
  const auto none = ask_statement({}, own_names(), &stubborn, out);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("--hardware"), std::string::npos);
  // Part of another word is another word.
  std::istringstream other("loopback\nvmware and dorotheas\n\n\n");
  EXPECT_TRUE(ask_statement({}, own_names(), &other, out));
}

TEST(Submit, AnOwnNameThatIsMeantAsAWordStays) {
  std::istringstream in("loopback\n2-core VM\ny\nvm\nn\nAnn\n\n");
  std::ostringstream out;
  const auto statement = ask_statement({}, own_names(), &in, out);
  ASSERT_TRUE(statement) << statement.error().message() << out.str();
  EXPECT_EQ(statement->hardware, std::vector<std::string>{"2-core VM"});
  EXPECT_EQ(statement->submitter, "Ann");  // the machine's name is no name of a person
  EXPECT_EQ(statement->kept, std::vector<std::string>{"VM"});
  Redactor redactor = own_names().names;
  for (const std::string& word : statement->kept) redactor.keep(word);
  EXPECT_EQ(redactor.text("2-core VM of dorothea on vm.example.org", TextFrom::kTyped),
            "2-core VM of user1 on host1");
  EXPECT_EQ(redactor.text("vm"), "host1");  // what the system says of itself
}

TEST(Submit, WhereNobodyCanBeAskedAnOwnNameIsRefusedWithTheFlagThatMeansIt) {
  for (const char* flag : {"cable", "hardware", "submitter", "notes"}) {
    for (const bool terminal : {false, true}) {
      Args args;
      for (const char* name : {"cable", "hardware", "submitter", "notes"}) {
        args.add(name, name == std::string(flag) ? "a vm" : "x");
      }
      args.add("link-kind", "ethernet-10g");
      args.add("link-speed", "10Gbit");
      args.add("links", "1");
      if (terminal) args.add("yes", "");
      std::istringstream in("y\n");
      std::ostringstream out;
      const auto refused = ask_statement(args, own_names(), terminal ? &in : nullptr, out);
      ASSERT_FALSE(refused) << flag;
      for (const std::string& word : {std::string("--") + flag + ": 'vm' is a name of this machine",
                                      std::string("--keep-names")}) {
        EXPECT_NE(refused.error().message().find(word), std::string::npos)
            << refused.error().message();
      }
      args.add("keep-names", "");
      const auto meant = ask_statement(args, own_names(), nullptr, out);
      ASSERT_TRUE(meant) << flag;
      EXPECT_EQ(meant->kept, std::vector<std::string>{"vm"});
    }
  }
}

// On a terminal a flag's text is asked about like any other.
TEST(Submit, AFlagWithAnOwnNameIsAskedAboutOnATerminal) {
  Args args;
  args.add("link-kind", "loopback");
  args.add("hardware", "one vm");
  args.add("submitter", "Ann");
  args.add("notes", "none");
  std::istringstream in("n\none virtual machine\n");
  std::ostringstream out;
  const auto statement = ask_statement(args, own_names(), &in, out);
  ASSERT_TRUE(statement) << statement.error().message();
  EXPECT_EQ(statement->hardware, std::vector<std::string>{"one virtual machine"});
}

// From the command to the file, with the user's names as the system says them.
TEST(Submit, OwnNamesAreThoseOfTheSystem) {
  const ScratchFolder folder;
  const std::string run = write_run(folder, samples::seeded_run());
  const auto submit = [&](std::vector<std::string> more) {
    more.emplace_back("--yes");
    more.insert(more.end(), {"--notes", "the quokka of /home/quokka"});
    return run_program(submit_argv(run, folder.path("community"), more),
                       {"USER=quokka", "HOME=/home/quokka"});
  };
  const Finished refused = submit({});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("--notes: 'quokka' is your user name here"), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("--keep-names"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(folder.path("community")));
  const std::string text = read_file(written(submit({"--keep-names"})));
  EXPECT_NE(text.find("the quokka of path"), std::string::npos) << text;
}

}  // namespace
}  // namespace plumbline
