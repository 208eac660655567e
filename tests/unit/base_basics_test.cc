// The lowest layer: errors, buffers, files, names, random numbers, parallel loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_pages.h"
#include "base/mapped_pages.h"
#include "base/matrix_view.h"
#include "base/names.h"
#include "base/parallel.h"
#include "base/process.h"
#include "base/random.h"
#include "base/visible.h"
#include "support/data_fixtures.h"

namespace gneiss {
namespace {

using ::gneiss::testing::error_of;
using ::gneiss::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ErrorTest, SaysWhatWhereAndHint) {
  const Error error(ErrorCode::kBadData, "node 9 is unknown", "edges.txt:3", "check the ids");
  EXPECT_STREQ(error.what(), "error: node 9 is unknown\n  where: edges.txt:3\n  hint: check the ids");
  EXPECT_STREQ(Error(ErrorCode::kUsage, "no").what(), "error: no");
}

TEST(ErrorTest, HasAnExitCodeForEveryKind) {
  const std::pair<ErrorCode, int> codes[] = {
      {ErrorCode::kInternal, 1}, {ErrorCode::kUsage, 2},       {ErrorCode::kUnsupported, 2}, {ErrorCode::kBadData, 3},
      {ErrorCode::kShape, 3},    {ErrorCode::kOutOfMemory, 4}, {ErrorCode::kDisk, 4},        {ErrorCode::kNumeric, 5},
      {ErrorCode::kPeerLost, 6}, {ErrorCode::kStopped, 75}};
  for (const auto& [code, expected] : codes) EXPECT_EQ(exit_code(code), expected);
}

TEST(ErrorTest, ChecksThrow) {
  const int three = 3;
  EXPECT_NO_THROW(GNEISS_CHECK(three == 3, ErrorCode::kShape, "never"));
  const Error error = error_of([&] { GNEISS_CHECK(three == 4, ErrorCode::kShape, "{} is not {}", three, 4); });
  EXPECT_EQ(error.code(), ErrorCode::kShape);
  EXPECT_EQ(error.message(), "3 is not 4");
  EXPECT_THAT(error_of([&] { GNEISS_ASSERT(three == 4, "broken"); }).hint(), HasSubstr("a defect of Gneiss"));
}

TEST(VisibleTest, ShowsWhatNobodySeesAsItsCode) {
  EXPECT_EQ(visible("src,größe"), "src,größe");
  EXPECT_EQ(visible("\xEF\xBB\xBFsrc"), "<U+FEFF>src");
  EXPECT_EQ(visible("a\xC2\xA0 b\xE2\x80\x8B\t"), "a<U+00A0> b<U+200B><U+0009>");
  EXPECT_EQ(visible(std::string("\0x", 2)), "<U+0000>x");
  EXPECT_EQ(visible("na\xEFve"), "na<0xEF>ve") << "Latin-1";
  EXPECT_EQ(visible("\xC0\xAF\xED\xA0\x80"), "<0xC0><0xAF><0xED><0xA0><0x80>") << "too long a form, a surrogate";
  EXPECT_EQ(visible("größer", 4), "größ…");
  EXPECT_EQ(visible("größ", 4), "größ");
  EXPECT_EQ(visible(""), "");
  EXPECT_EQ(visible_lines("a\n\tb\xC2\xA0\n"), "a\n\tb<U+00A0>\n");
  EXPECT_STREQ(Error(ErrorCode::kUsage, "no '\xEF\xBB\xBFx'", "f\x1B", "a\xE2\x80\x8B").what(),
               "error: no '<U+FEFF>x'\n  where: f<U+001B>\n  hint: a<U+200B>");
}

TEST(VisibleTest, DescribesOneCharacter) {
  EXPECT_EQ(describe_character("$", 0), "'$'");
  EXPECT_EQ(describe_character("aé", 1), "'é' (U+00E9)");
  EXPECT_EQ(describe_character("\xE2\x80\x8B", 0), "U+200B (a zero-width space)");
  EXPECT_EQ(describe_character("\xE2\x81\xA3", 0), "U+2063 (an invisible character)");
  EXPECT_EQ(describe_character("\xFF", 0), "the byte 0xFF, which is no UTF-8");
}

TEST(BufferTest, IsAlignedMovableAndShrinks) {
  Buffer<float> a(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0U);
  a[0] = 7;
  const float* data = a.data();
  Buffer<float> b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b[0], 7);
  b.shrink(10);
  EXPECT_EQ(b.size(), 10U);
  EXPECT_EQ(b.data(), data);
  EXPECT_TRUE(Buffer<int>().empty());
  const auto zeros = Buffer<int>::zeros(100);
  EXPECT_EQ(std::accumulate(zeros.begin(), zeros.end(), 0), 0);
  EXPECT_THAT(gneiss::testing::list(Buffer<int>::copy_of(std::vector<int>{1, 2})), ElementsAre(1, 2));
}

TEST(BufferTest, LargeOnesSitOnHugePages) {
  const Buffer<float> large(std::size_t{4} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (std::size_t{2} << 20), 0U);
}

TEST(BufferTest, RefusesTheImpossible) {
  EXPECT_EQ(error_of([] { Buffer<char> buffer(std::size_t{1} << 63); }).code(), ErrorCode::kOutOfMemory);
}

TEST(MatrixViewTest, AddressesByStride) {
  std::array<int, 12> values{};
  std::iota(values.begin(), values.end(), 0);
  const MatrixView<int> view(values.data(), 3, 2, 4);
  EXPECT_EQ(view.at(2, 1), 9);
  EXPECT_EQ(view.size(), 6);
  EXPECT_FALSE(view.contiguous());
  const ConstMatrixView<int> constant = view;
  EXPECT_EQ(constant.row(1)[0], 4);
}

TEST(FileTest, ReadsAndMaps) {
  const TempFolder folder;
  const auto path = folder.write("a", "hello");
  EXPECT_EQ(read_file(path), "hello");
  EXPECT_EQ(MappedFile(path).text(), "hello");
  EXPECT_EQ(MappedFile(folder.write("empty", "")).text(), "");
}

TEST(ParallelTest, AllChunksHoldOrOneDoesNot) {
  for (const int threads : {1, 2, 5}) {
    for (const std::int64_t wrong : {-1, 0, 41, 99}) {
      const bool all = all_chunks(threads, 100, 7,
                                  [&](std::int64_t begin, std::int64_t end) { return wrong < begin || wrong >= end; });
      EXPECT_EQ(all, wrong < 0) << threads << " threads, " << wrong;
    }
    EXPECT_TRUE(all_chunks(threads, 0, 7, [](std::int64_t, std::int64_t) { return false; }));
  }
}

TEST(FileTest, SaysWhyItCannotRead) {
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { read_file(folder.path() / "absent"); }).message(), HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { MappedFile file(folder.path()); }).message(), HasSubstr("it is a folder"));
  EXPECT_THAT(error_of([&] { read_file(folder.write("big", "12345"), 3); }).message(),
              HasSubstr("it has 5 bytes, at most 3 are expected"));
  EXPECT_THAT(error_of([&] { read_file("/dev/null"); }).message(), HasSubstr("not a regular file"));
}

TEST(FileTest, AtomicFileIsAllOrNothing) {
  const TempFolder folder;
  const auto path = folder.path() / "a";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("half of the n");
  }
  EXPECT_EQ(read_file(path), "old");
  AtomicFile file(path);
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_EQ(error_of([&] { AtomicFile other(folder.path() / "no/such/place"); }).code(), ErrorCode::kDisk);
}

TEST(FileTest, AScratchFileHasNoNameAndIsThereWhileItIsMapped) {
  const TempFolder folder;
  const gneiss::testing::Environment there("TMPDIR", folder.path().string());
  std::unique_ptr<MappedFile> mapped;
  {
    std::deque<ScratchFile> files;
    files.emplace_back(6).write("abc", 3);
    files.front().write("def", 3);
    mapped = std::make_unique<MappedFile>(ScratchFile::map_in_a_row(files));
  }
  EXPECT_EQ(mapped->text(), "abcdef");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FileTest, ScratchFilesAreMappedInARow) {
  const TempFolder folder;
  const gneiss::testing::Environment there("TMPDIR", folder.path().string());
  const std::string page(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 'a');
  std::unique_ptr<MappedFile> mapped;
  {
    std::deque<ScratchFile> files;
    files.emplace_back(page.size()).write(page.data(), page.size());
    files.emplace_back(3, page.size()).write("bcd", 3);
    mapped = std::make_unique<MappedFile>(ScratchFile::map_in_a_row(files));
  }
  EXPECT_EQ(mapped->text(), page + "bcd");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_TRUE(ScratchFile::map_in_a_row({}).bytes().empty());
  const std::span<const std::byte> bytes = mapped->bytes();
  EXPECT_TRUE(pages_are_the_files(bytes.data(), bytes.size()));
  const_cast<std::byte&>(bytes[page.size()]) = std::byte{'B'};
  EXPECT_TRUE(pages_are_the_files(bytes.data(), page.size()));
  EXPECT_FALSE(pages_are_the_files(bytes.data(), bytes.size())) << "a page of the second file is the process's own";
}

TEST(FileTest, ScratchFilesInARowLieAsTheirHugePagesDo) {
  const TempFolder folder;
  const gneiss::testing::Environment there("TMPDIR", folder.path().string());
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::vector<std::size_t> sizes = {kHugePage + 3 * page, page, 2 * kHugePage, 5 * page + 7};
  std::unique_ptr<MappedFile> mapped;
  std::string all;
  {
    std::deque<ScratchFile> files;
    for (const std::size_t size : sizes) {
      std::string text(size, ' ');
      for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (all.size() + i) / 1000 % 26);
      ScratchFile& file = files.emplace_back(size, all.size());
      for (std::size_t i = 0; i < size; i += 999983)
        file.write(text.data() + i, std::min<std::size_t>(999983, size - i));
      all += text;
    }
    mapped = std::make_unique<MappedFile>(ScratchFile::map_in_a_row(files));
  }
  EXPECT_TRUE(mapped->text() == all);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped->bytes().data()) % kHugePage, 0U);
  EXPECT_TRUE(pages_are_the_files(mapped->bytes().data(), mapped->bytes().size()));
}

TEST(FileTest, MemoryOfAFileKeepsWhatPagesThatWereGivenBackHold) {
  const TempFolder folder;
  const gneiss::testing::Environment there("TMPDIR", folder.path().string());
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  FileMemory memory(kBytes);
  ASSERT_EQ(memory.bytes().size(), kBytes);
  EXPECT_EQ(memory.bytes()[kBytes - 1], std::byte{0});
  for (std::size_t i = 0; i < kBytes; i += 10000) {  // parts that are no whole pages
    const std::span<std::byte> part = memory.bytes().subspan(i, std::min<std::size_t>(10000, kBytes - i));
    map_pages(part.data(), part.size(), true);
    std::fill(part.begin(), part.end(), static_cast<std::byte>(i / 10000));
    give_back_tail(part.data(), 0, part.size());
  }
  give_back_tail(memory.bytes().data(), 0, kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(memory.bytes()[i], static_cast<std::byte>(i / 10000)) << i;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_TRUE(FileMemory(0).bytes().empty());
  const gneiss::testing::Environment nowhere("TMPDIR", (folder.path() / "absent").string());
  EXPECT_EQ(error_of([] { FileMemory none(1); }).code(), ErrorCode::kDisk);
}

TEST(FileTest, AScratchFileNeedsRoom) {
  const TempFolder folder;
  const gneiss::testing::Environment nowhere("TMPDIR", (folder.path() / "absent").string());
  EXPECT_EQ(scratch_room(), 0U);
  const Error error = error_of([] { ScratchFile file(1); });
  EXPECT_EQ(error.code(), ErrorCode::kDisk);
  EXPECT_THAT(error.message(), HasSubstr((folder.path() / "absent").string()));
  const gneiss::testing::Environment there("TMPDIR", folder.path().string());
  EXPECT_EQ(error_of([] { ScratchFile file(std::uint64_t{1} << 62); }).code(), ErrorCode::kDisk);
  const gneiss::testing::Environment unset("TMPDIR", "");
  EXPECT_EQ(scratch_folder(), "/var/tmp");
}

TEST(NamesTest, FindsTheNearest) {
  const std::vector<std::string> names = {"hidden", "layers", "dropout"};
  EXPECT_EQ(nearest_name("hiden", names), "hidden");
  EXPECT_EQ(nearest_name("DROPUOT", names), "dropout");
  EXPECT_EQ(nearest_name("momentum", names), "");
  EXPECT_EQ(unknown_name_hint("layer", names), "did you mean 'layers'? known: hidden, layers, dropout");
  EXPECT_EQ(unknown_name_hint("xyz", names), "known: hidden, layers, dropout");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(RandomTest, PhiloxGivesThePublishedNumbers) {
  // Known answers of Random123 for philox4x32 with 7 rounds.
  EXPECT_THAT(philox(0, {0, 0, 0, 0}), ElementsAre(0x5f6fb709U, 0x0d893f64U, 0x4f121f81U, 0x4f730a48U));
  EXPECT_THAT(philox(~0ULL, {~0U, ~0U, ~0U, ~0U}), ElementsAre(0x5207ddc2U, 0x45165e59U, 0x4d8ee751U, 0x8c52f662U));
  EXPECT_THAT(philox(0x299f31d0a4093822ULL, {0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}),
              ElementsAre(0x4dfccabaU, 0x190a87f0U, 0xc47362baU, 0xb6b5242aU));
}

TEST(RandomTest, StreamsAreUniformAndIndependent) {
  RandomStream a(1, 0);
  RandomStream b(1, 1);
  EXPECT_NE(a.next64(), b.next64());
  std::array<int, 7> count{};
  double sum = 0;
  double square = 0;
  for (int i = 0; i < 70000; ++i) {
    ++count[a.below(7)];
    const double x = b.normal();
    sum += x;
    square += x * x;
    const double u = a.uniform(2, 3);
    ASSERT_TRUE(u >= 2 && u < 3);
  }
  for (const int c : count) EXPECT_NEAR(c, 10000, 400);
  EXPECT_NEAR(sum / 70000, 0, 0.02);
  EXPECT_NEAR(square / 70000, 1, 0.03);
  EXPECT_LT(uniform_float(~0U), 1.0F);
  EXPECT_EQ(uniform_float(0), 0.0F);
}

TEST(BufferTest, MayLieInMemoryOfAnother) {
  auto owner = std::make_shared<std::vector<int>>(std::vector<int>{1, 2, 3});
  std::weak_ptr<std::vector<int>> watch = owner;
  Buffer<int> buffer = Buffer<int>::within(owner, owner->data(), 3);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  Buffer<int> moved = std::move(buffer);
  EXPECT_EQ(moved[2], 3);
  moved = {};
  EXPECT_TRUE(watch.expired());
}

TEST(ParallelTest, CoversEveryIndexOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 5}) {
    std::vector<int> hits(1001, 0);
    parallel_chunks(threads, 1001, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(std::set<int>(hits.begin(), hits.end()), std::set<int>{1});
  }
  parallel_chunks(2, 0, 64, [](std::int64_t, std::int64_t) { FAIL(); });
  EXPECT_GE(available_threads(), 1);
}

TEST(MappedFileTest, AProgramCanNameTheFileThatWasCutShort) {
  const TempFolder folder;
  const auto path = folder.write("short", std::string(1 << 20, 'x'));
  EXPECT_EXIT(
      {
        name_unreadable_files();
        const MappedFile file(path);
        std::filesystem::resize_file(path, 4096);
        std::exit(file.text()[600'000] == 'x' ? 0 : 1);
      },
      ::testing::ExitedWithCode(3), "cut short while it was in use\n.*short");
}

TEST(ProcessTest, GivesItsCodeBackAndRunsOn) {
  const std::int64_t before = current_rss_bytes();
  give_back_code();
  const std::int64_t after = current_rss_bytes();
  EXPECT_LT(after, before - (1 << 20)) << "what this program and its libraries ran to get here is over a megabyte";
  EXPECT_GT(after, before / 8);
}

TEST(ProcessTest, KnowsItsMemory) {
  EXPECT_GT(current_rss_bytes(), 0);
  EXPECT_GE(peak_rss_bytes(), current_rss_bytes());
  EXPECT_GT(memory_limit_bytes(), peak_rss_bytes());
}

TEST(ProcessTest, TheSharedCacheIsThatOfOneProcessor) {
  const TempFolder folder;
  const auto cache = [&](const std::string& index, const std::string& level, const std::string& size) {
    folder.write(index + "/level", level + "\n");
    folder.write(index + "/size", size + "\n");
  };
  cache("index0", "1", "32K");
  const std::int64_t by_library = shared_cache_bytes(folder.path());
  EXPECT_GE(by_library, 0) << "no file says it";
  cache("index2", "2", "1024K");
  EXPECT_EQ(shared_cache_bytes(folder.path()), by_library);
  cache("index3", "3", "12345K");
  EXPECT_EQ(shared_cache_bytes(folder.path()), 12345 << 10);
  cache("index3", "3", "7M");
  EXPECT_EQ(shared_cache_bytes(folder.path()), 7 << 20);
  cache("index3", "3", "unknown");
  EXPECT_EQ(shared_cache_bytes(folder.path()), by_library);
}

}  // namespace
}  // namespace gneiss
