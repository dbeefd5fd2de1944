// Tests handmade torch.save files that refer to data outside the file or need too much memory.
#include "train/weights/formats/torch_archive.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "base/error.h"
#include "tests/train/weights/formats/hostile.h"
#include "train/weights/formats/state_dict.h"

using namespace shoal::train;
using Catch::Contains;

namespace {

constexpr size_t kStorageBytes = 4 * sizeof(float);

std::vector<char> archive_of(const std::string& items, size_t storage = kStorageBytes) {
  return zip_of({{"a/data.pkl", pickled_dict(items)}, {"a/data/0", std::string(storage, '\1')}});
}

StoredStateDict read(const std::vector<char>& bytes) {
  TorchArchive file(bytes);
  return find_state_dict(file, "");
}

std::string refusal(const HandMadeTensor& tensor) {
  try {
    read(archive_of(pickled("fc.weight") + pickled(tensor)));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a tensor that lies inside its storage is read, also a strided one") {
  const auto bytes = archive_of(pickled("w") + pickled(HandMadeTensor{1, {3}, {1}}));
  const StoredTensors tensors = read(bytes).tensors;
  REQUIRE(tensors.size() == 1);
  CHECK(tensors[0].first == "w");
  CHECK(tensors[0].second.bytes() == 12);
  const std::string values = "0a1b2c3d4e5f";
  StoredTensor transposed{Element::i16, {3, 2}, {1, 3}, values.data()};
  std::string copy(12, ' ');
  copy_elements(transposed, copy.data());
  CHECK(copy == "0a3d1b4e2c5f");
}

TEST_CASE("a tensor that does not lie inside its storage is refused") {
  constexpr int64_t kLarge = INT32_MAX;
  for (const HandMadeTensor& tensor : {
           HandMadeTensor{kLarge, {2}, {kLarge}},
           HandMadeTensor{0, {2}, {kLarge}},
           HandMadeTensor{0, {2}, {INT32_MIN}},
           HandMadeTensor{kLarge, {2}, {INT32_MIN}},
           HandMadeTensor{-1'000'000, {4}, {1}},
           HandMadeTensor{5, {1}, {1}},
           HandMadeTensor{1, {4}, {1}},
           HandMadeTensor{0, {-4}, {1}},
           HandMadeTensor{0, {kLarge, kLarge, kLarge}, {0, 0, 0}},
           HandMadeTensor{0, {0, kLarge, kLarge, kLarge}, {0, 0, 0, 0}},
           HandMadeTensor{0, std::vector<int64_t>(17, 1), std::vector<int64_t>(17, 1)},
           HandMadeTensor{0, {2, 2}, {1}},
           HandMadeTensor{0, {4}, {1}, "1"},
           HandMadeTensor{0, {4}, {1}, "../data.pkl"},
           HandMadeTensor{0, {4}, {1}, std::string(1000, 'k')},
           HandMadeTensor{0, {4}, {1}, "0", "DoubleStorage"},
           HandMadeTensor{0, {4}, {1}, "0", "QUInt8Storage"},
       }) {
    INFO(tensor.offset << " " << tensor.storage << " " << tensor.type);
    const std::string text = refusal(tensor);
    CHECK(!text.empty());
    CHECK(text.size() < 300);
  }
  CHECK(refusal({0, {4}, {1}}).empty());
  CHECK(refusal({4, {0, 3}, {3, 1}}).empty());
}

TEST_CASE("entries that share a storage cannot take more memory than four times the file") {
  // 200 tensors of 1 MiB, all of the same storage.
  std::string items = pickled("first") + pickled(HandMadeTensor{0, {1 << 18}, {1}}) + "q\1";
  for (int i = 0; i < 200; ++i) items += pickled("more" + std::to_string(i)) + "h\1";
  CHECK_THROWS_WITH(read(archive_of(items, 1 << 20)), Contains("more memory"));
}

TEST_CASE("names that are shared by many entries cannot take more memory") {
  std::string items =
      pickled(std::string(1 << 20, 'n')) + "q\1" + pickled(HandMadeTensor{0, {4}, {1}}) + "q\2";
  for (int i = 0; i < 200; ++i) items += "h\1h\2";
  CHECK_THROWS_WITH(read(archive_of(items)), Contains("more memory"));
}

TEST_CASE("dicts that are shared by many dicts cannot be searched without end") {
  const auto dict_of_copies = [](const std::string& value) {
    std::string items = "}(";
    for (int i = 0; i < 3000; ++i) items += pickled(i) + value;
    return items + "u";
  };
  // An inner dict of 3,000 entries is the value of 3,000 entries of an outer dict. Code that visits
  // the values of all entries would visit 9 million, although the file has only 53 kB.
  const std::string inner = dict_of_copies("N") + "q\1";
  std::string items = pickled("inner") + inner;
  for (int i = 0; i < 3000; ++i) items += pickled("k" + std::to_string(i)) + "h\1";
  CHECK_THROWS_WITH(read(archive_of(items)), Contains("more memory"));
}

TEST_CASE("a parameter wraps one tensor, not a chain of parameters") {
  std::string wrapped = pickled(HandMadeTensor{0, {4}, {1}});
  const auto wrap = [](const std::string& value) {
    return "ctorch._utils\n_rebuild_parameter\n(" + value + "\x88}tR";
  };
  CHECK(read(archive_of(pickled("w") + wrap(wrapped))).tensors.size() == 1);
  CHECK_THROWS_WITH(read(archive_of(pickled("w") + wrap(wrap(wrapped)))),
                    Contains("no state dict"));
}

TEST_CASE("an archive of images is called that, and other archives lack data.pkl") {
  const auto refused = [](const char* name) {
    const auto bytes = zip_of({{"c/", ""}, {name, "content"}});
    return TorchArchive(bytes);
  };
  for (const char* image : {"c/cat/1.jpg", "c/cat/1.JPEG", "1.png"})
    CHECK_THROWS_WITH(refused(image), Contains("archive of images") && Contains(image));
  for (const char* other : {"c/notes.txt", "c/xpng", "jpg"})
    CHECK_THROWS_WITH(refused(other), Contains("no data.pkl"));
}

TEST_CASE("a compressed archive is refused") {
  const auto bytes = zip_of({{"a/data.pkl", pickled_dict("")}}, {.method = 8});
  CHECK_THROWS_WITH(TorchArchive(bytes), Contains("compressed"));
}

TEST_CASE("a file that refers to a function with which files run code is refused by name") {
  const std::string good = pickled("state_dict") + "}(" + pickled("fc.weight") +
                           pickled(HandMadeTensor{0, {4}, {1}}) + "u";
  const std::string nothing = "(t", text = "(" + pickled("touch marker") + "t";
  const auto called = [](const std::string& module, const std::string& name,
                         const std::string& arguments) {
    return "c" + module + "\n" + name + "\n" + arguments + "R";
  };
  CHECK(read(archive_of(good + pickled("epoch") + pickled(3))).tensors.size() == 1);

  for (const auto& [module, name] : std::vector<std::pair<std::string, std::string>>{
           {"posix", "system"},
           {"os", "popen"},
           {"os.path", "os.remove"},
           {"nt", "system"},
           {"subprocess", "Popen"},
           {"sys", "exit"},
           {"runpy", "run_path"},
           {"shutil", "rmtree"},
           {"socket", "create_connection"},
           {"importlib", "import_module"},
           {"builtins", "eval"},
           {"builtins", "exec"},
           {"builtins", "compile"},
           {"builtins", "open"},
           {"builtins", "__import__"},
           {"builtins", "getattr"},
           {"__builtin__", "execfile"},
           {"torch.serialization", "os.system"},
           {"timeit", "timeit"},
           {"gzip", "builtins.eval"},
           {"gzip", "io.open"},
           {"gzip", "builtins.getattr"},
           {"random", "_os.system"},
           {"m", "__builtins__.eval"},
           {"builtins", "eval.__call__"},
           {"builtins", "getattr.__call__"},
           {"gzip", "builtins"},
           {"operator", "attrgetter"},
           {"pkgutil", "resolve_name"},
           {"cProfile", "runctx"},
       }) {
    INFO(module << "." << name);
    const auto refused = [&](const std::string& value) {
      CHECK_THROWS_AS(read(archive_of(good + pickled("extra") + value)), shoal::UserError);
      CHECK_THROWS_WITH(read(archive_of(good + pickled("extra") + value)),
                        Contains(module + "." + name) && Contains("entry 'extra'"));
    };
    refused(called(module, name, text));
    // Also refused: the call in a list in a dict, and the function as the class of a new object
    // (opcodes STACK_GLOBAL and NEWOBJ).
    refused("}(" + pickled("inner") + "](" + called(module, name, text) + "eu");
    refused(pickled(module) + pickled(name) + "\x93" + text + "\x81");
    // Also refused: the call as an attribute of an object, and a call whose result is removed from
    // the stack. No entry contains such a call, so the message names none.
    for (const std::string& hidden : {called("argparse", "Namespace", nothing) + "}(" +
                                          pickled("x") + called(module, name, text) + "ub",
                                      called(module, name, text) + "0N"})
      CHECK_THROWS_WITH(read(archive_of(good + pickled("extra") + hidden)),
                        Contains(module + "." + name) && !Contains("entry"));
  }
  // os.system is refused even without a call, getattr if its result is called or is a module.
  CHECK_THROWS_WITH(read(archive_of(good + pickled("extra") + "cos\nsystem\n")),
                    Contains("os.system"));
  const std::string attribute =
      "cbuiltins\ngetattr\n(cm\nClass\n" + pickled("method") + "tR" + text + "R";
  CHECK_THROWS_WITH(read(archive_of(good + pickled("extra") + attribute)),
                    Contains("builtins.getattr"));

  const std::string module = "cbuiltins\ngetattr\n(ctorch\nserialization\n" + pickled("os") + "tR";
  CHECK_THROWS_WITH(read(archive_of(good + pickled("extra") + module)),
                    Contains("builtins.getattr"));

  for (const std::string& harmless : {
           called("argparse", "Namespace", nothing) + "}(" + pickled("os") + pickled("linux") +
               "ub",
           called("numpy.core.multiarray", "scalar", text),
           called("numpy._core.multiarray", "_reconstruct", text),
           called("_codecs", "encode", text),
           called("collections", "OrderedDict", nothing),
           called("collections", "defaultdict", "(cbuiltins\ndict\nt"),
           called("builtins", "set", nothing),
           called("torch", "device", text),
           called("torch.nn.modules.linear", "Linear", nothing),
           called("omegaconf.dictconfig", "DictConfig", nothing),
           called("pathlib", "PosixPath", text),
           called("functools", "partial", text),
           called("project.os_tools", "System", nothing),
           called("project.sys.posix", "Settings", nothing),
           called("code.options", "Options", nothing),
           "cbuiltins\ngetattr\n(cm\nColor\n" + pickled("RED") + "tR",
           "cbuiltins\ngetattr\n(" + called("m", "Callback", nothing) + pickled("run") + "tR",
           pickled("posix system"),
       })
    CHECK(read(archive_of(good + pickled("extra") + harmless)).tensors.size() == 1);
}
