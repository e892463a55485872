#include "tools/toolchain.hpp"

#include "catch.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

TEST_CASE("A file inside the cabinet is refused for any spelling of the two paths, and a file beside it is accepted") {
  const test::TempFolder folder;
  fs::create_directories(folder / "cabinet/objects");
  test::write_file(folder / "cabinet/index.db", "index");
  fs::create_directory_symlink(folder / "cabinet", folder / "other");
  fs::create_symlink(folder / "cabinet/index.db", folder / "link");
  const fs::path cabinet = folder / "cabinet";
  const fs::path relative = fs::relative(folder.path());
  for (const fs::path& root : {cabinet, folder / "other", folder / "cabinet/", relative / "cabinet"}) {
    for (const fs::path& inside :
         {cabinet, cabinet / "index.db", cabinet / "objects/ab/new", cabinet / "p", folder / "other/index.db",
          folder / "cabinet/objects/../p", relative / "cabinet/p", folder / "link", folder / "absent/../cabinet/p"}) {
      INFO(root << ", " << inside);
      const auto checked = tools::check_outside("--option", inside, root);
      REQUIRE_FALSE(checked);
      CHECK(checked.error().code == ErrorCode::invalid_argument);
      CHECK(checked.error().message.starts_with("--option: " + inside.native() + " is inside the cabinet "));
    }
    for (const fs::path& outside : {folder / "p", folder / "cabinet.p", folder / "cabinet/../p", folder / "absent/p",
                                    folder / "..p", relative / "p", fs::path("p")}) {
      INFO(root << ", " << outside);
      CHECK(tools::check_outside("--option", outside, root));
    }
  }
  CHECK_FALSE(tools::check_outside("--option", folder / "unborn/p", folder / "unborn"));
}
