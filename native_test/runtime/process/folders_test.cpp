#include "runtime/process/folders.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "runtime/error.hpp"
#include "runtime/process/files.hpp"
#include "runtime/process/worker.hpp"
#include "runtime/program/cache_folders.hpp"
#include "support/folder.hpp"

using namespace dala;
using test::Folder;

TEST_CASE("a folder is trusted when it is ours alone to write") {
  const Folder folder;
  CHECK(trust_problem(folder.path, FolderUse::own) == "");
  CHECK(trust_problem(folder.path, FolderUse::shared) == "");
  chmod(folder.path.c_str(), 0755);
  CHECK(trust_problem(folder.path, FolderUse::own) == "");
  chmod(folder.path.c_str(), 0770);
  CHECK(trust_problem(folder.path, FolderUse::own) == "can be written by others (mode 770)");
  chmod(folder.path.c_str(), 0777);
  CHECK(trust_problem(folder.path, FolderUse::shared) == "can be written by others (mode 777)");
  chmod(folder.path.c_str(), 01777);
  CHECK(trust_problem(folder.path, FolderUse::shared) == "");
  CHECK(trust_problem(folder.path, FolderUse::own) == "can be written by others (mode 1777)");

  const std::string below = folder.path + "/below";
  REQUIRE(make_folder(below));
  CHECK(trust_problem(below, FolderUse::own) == "");
  chmod(folder.path.c_str(), 0777);
  CHECK(trust_problem(below, FolderUse::own) ==
        text("can be replaced by others: everyone may write to ", folder.path));

  CHECK(trust_problem(folder.path + "/none", FolderUse::own).find("cannot be used") == 0);
  test::set_content(folder.path + "/file", "");
  CHECK(trust_problem(folder.path + "/file", FolderUse::own) == "is not a folder");
}

TEST_CASE("a folder of another user, or a link of theirs, is not trusted") {
  if (geteuid() != 0) {
    MESSAGE("skipped: only root can give a folder away");
    return;
  }
  const Folder folder;
  const std::string theirs = folder.path + "/theirs";
  REQUIRE(make_folder(theirs + "/below"));
  const std::string link = folder.path + "/link";
  REQUIRE(symlink(theirs.c_str(), link.c_str()) == 0);
  CHECK(trust_problem(link, FolderUse::own) == "");
  REQUIRE(lchown(link.c_str(), 65534, 65534) == 0);
  CHECK(trust_problem(link, FolderUse::own) == "is a symbolic link of another user (uid 65534)");
  REQUIRE(chown(theirs.c_str(), 65534, 65534) == 0);
  CHECK(trust_problem(theirs, FolderUse::own) == "belongs to another user (uid 65534)");
  CHECK(trust_problem(theirs + "/below", FolderUse::own) ==
        text("can be replaced by the owner of ", theirs, " (uid 65534)"));
}

TEST_CASE("a folder that can serve has no problem, and is left as it was") {
  const Folder folder;
  CHECK(write_problem(folder.path) == "");
  CHECK(room_problem(folder.path) == "");
  CHECK(real_room_problem(folder.path) == "");
  CHECK(load_problem(folder.path) == "");
  CHECK(folder.names().empty());
  CHECK(load_problem("/proc") != "");
  CHECK(write_problem("/proc") != "");
  CHECK(room_problem("/proc").find("has no room") == 0);
}

TEST_CASE("folders are made for their owner only") {
  const Folder folder;
  const std::string path = folder.path + "/a/b/c";
  REQUIRE(make_folder(path));
  for (const char* part : {"/a", "/a/b", "/a/b/c"}) {
    struct stat state {};
    REQUIRE(stat((folder.path + part).c_str(), &state) == 0);
    CHECK((state.st_mode & 0777) == 0700);
  }
  CHECK(make_folder(path + "/"));
  test::set_content(folder.path + "/file", "");
  CHECK_FALSE(make_folder(folder.path + "/file"));
  CHECK_FALSE(make_folder(folder.path + "/file/below"));
  CHECK_FALSE(make_folder(""));
}

TEST_CASE("work folders that nobody holds are swept") {
  const Folder folder;
  REQUIRE(make_folder(folder.path + "/dala_gpu-work-abcdef/AB/cd"));
  REQUIRE(make_folder(folder.path + "/else"));
  sweep_work_folders(folder.path);
  CHECK(folder.names() == std::vector<std::string>{"else"});
}

TEST_CASE("a worker that is abandoned by its own job does not wait for itself") {
  Worker worker("test", 1);
  std::atomic<int> ended{-1};
  worker.post([&] { ended = worker.abandon() ? 1 : 0; });
  while (ended < 0) std::this_thread::yield();
  CHECK(ended == 0);
}

TEST_CASE("a worker that is abandoned while a job goes on waits for it, but not for ever") {
  Worker worker("test", 2);
  std::atomic<bool> begun{false};
  std::atomic<bool> go_on{false};
  bool dropped = true;
  worker.post([&] {
    begun = true;
    while (!go_on) std::this_thread::yield();
  });
  while (!begun) std::this_thread::yield();
  CHECK_FALSE(worker.abandon(std::chrono::milliseconds(5)));
  worker.post([&] { dropped = false; });
  go_on = true;
  CHECK(worker.abandon());
  CHECK(dropped);
}
