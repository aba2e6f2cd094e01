#include "runtime/program/disk_cache.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <set>

#include "runtime/process/files.hpp"
#include "runtime/program/pack.hpp"
#include "support/folder.hpp"

using namespace dala;
using test::Folder;

namespace {

void set_age(const std::string& path, time_t seconds) {
  const timespec then{time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("a checksum differs for every byte that does, and for every length") {
  std::string bytes;
  for (int i = 0; i < 203; ++i) bytes.push_back(static_cast<char>(i * 7));
  std::set<uint64_t> seen;
  for (size_t length = 0; length <= bytes.size(); ++length) {
    seen.insert(checksum(std::string_view(bytes).substr(0, length)));
  }
  CHECK(seen.size() == bytes.size() + 1);
  for (char& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      seen.insert(checksum(bytes));
      byte = static_cast<char>(byte ^ (1 << bit));
    }
  }
  CHECK(seen.size() == bytes.size() + 1 + 8 * bytes.size());
  CHECK(checksum(bytes, 1) != checksum(bytes, 2));
  CHECK(checksum(std::string(40, '\0')) != checksum(std::string(41, '\0')));
}

TEST_CASE("what is written is read, by any cache on the folder") {
  const Folder folder;
  CHECK(DiskCache(folder.path, 0).write("a.bin", "content"));
  CHECK(DiskCache(folder.path, 0).read("a.bin") == "content");
  CHECK(DiskCache(folder.path, 0).write("a.bin", ""));
  CHECK(DiskCache(folder.path, 0).read("a.bin") == "");
  CHECK_FALSE(DiskCache(folder.path, 0).read("b.bin"));
  CHECK(folder.names() == std::vector<std::string>{"a.bin"});
  struct stat state {};
  REQUIRE(stat((folder.path + "/a.bin").c_str(), &state) == 0);
  CHECK((state.st_mode & 0777) == 0600);
  DiskCache(folder.path, 0).remove("a.bin");
  CHECK(folder.names().empty());
}

TEST_CASE("a damaged file is removed") {
  const Folder folder;
  DiskCache cache(folder.path, 0);
  REQUIRE(cache.write("a.bin", std::string(1000, 'x')));
  const std::string path = folder.path + "/a.bin";
  const std::string good = test::content_of(path);
  const auto is_removed = [&](const std::string& content) {
    test::set_content(path, content);
    return !cache.read("a.bin") && folder.names().empty();
  };
  CHECK(is_removed(""));
  CHECK(is_removed("x"));
  CHECK(is_removed(good.substr(0, good.size() - 1)));
  CHECK(is_removed(good + "x"));
  CHECK(is_removed(std::string(good.size(), '\0')));
  for (size_t at = 0; at < good.size(); at += 13) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    CHECK(is_removed(flipped));
  }
  SUBCASE("and so is one with another name") {
    test::set_content(folder.path + "/b.bin", good);
    CHECK_FALSE(cache.read("b.bin"));
    CHECK(folder.names().empty());
  }
  SUBCASE("what is not a file is left alone") {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    CHECK_FALSE(cache.read("a.bin"));
  }
}

TEST_CASE("the files that were not used for longest go first") {
  const Folder folder;
  const std::string content(10000, 'x');
  DiskCache unlimited(folder.path, 0);
  for (const char* name : {"a.bin", "b.pack", "c.bin"}) unlimited.write(name, content);
  test::set_content(folder.path + "/models", std::string(90000, 'x'));  // a foreign file
  set_age(folder.path + "/a.bin", 100);
  set_age(folder.path + "/b.pack", 300);
  set_age(folder.path + "/c.bin", 200);

  DiskCache limited(folder.path, 32000);
  CHECK(limited.read("c.bin") == content);  // counts as used now
  CHECK(limited.write("d.bin", content));
  CHECK(folder.names() == std::vector<std::string>{"a.bin", "c.bin", "d.bin", "models"});
  CHECK(limited.write("e.bin", content));
  CHECK(folder.names() == std::vector<std::string>{"c.bin", "d.bin", "e.bin", "models"});
  // A file that would evict all others is not stored.
  CHECK_FALSE(limited.write("f.bin", std::string(40000, 'x')));
  CHECK(folder.names().size() == 4);
}

TEST_CASE("what nobody will finish goes, what somebody may be writing stays") {
  const Folder folder;
  for (const char* name : {"/a.bin.abcdef.tmp", "/b.bin.ghijkl.tmp"}) {
    test::set_content(folder.path + name, "half");
  }
  set_age(folder.path + "/a.bin.abcdef.tmp", 7200);
  DiskCache(folder.path, 1000).trim();
  CHECK(folder.names() == std::vector<std::string>{"b.bin.ghijkl.tmp"});
}

TEST_CASE("a cache without a folder, or with one that is gone, keeps nothing") {
  for (const char* folder : {"", "/proc/no/such/folder"}) {
    DiskCache cache(folder, 1000);
    CHECK_FALSE(cache.write("a.bin", "content"));
    CHECK_FALSE(cache.read("a.bin"));
    cache.remove("a.bin");
    cache.trim();
  }
}

TEST_CASE("a pack gives the files back, and nothing outside of its folder") {
  const Files files = {{"AB/c/d.so", std::string("\0x\xff", 3)}, {"AB/e", ""}};
  CHECK(unpack(pack(files)) == files);
  CHECK(unpack("").empty());
  const std::string packed = pack(files);
  for (size_t length = 0; length < packed.size(); ++length) {
    const Files some = unpack(std::string_view(packed).substr(0, length));
    CHECK(some.size() < 2);
    for (const auto& [path, content] : some) CHECK(files.at(path) == content);
  }
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "a//b", ""}) {
    CHECK(unpack(pack({{path, "x"}})).empty());
  }
}
