#include "app/weights/fetch.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/file/file_lock.h"
#include "base/text.h"
#include "tests/base/net/no_proxies.h"
#include "tests/support/downloads.h"

using namespace shoal;
using namespace shoal::app;
using namespace shoal::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

struct Cache {
  Folder folder;
  FetchOptions options;

  Cache() {
    options.cache = folder / "cache";
    options.download = quick();
  }
  void use(const HttpServer& server) {
    options.servers = {server.url("/models"), server.url("/hf")};
  }
  // Returns the path in the cache for a file of `server`.
  fs::path place(const HttpServer& server, const std::string& path) const {
    return options.cache / ("http/127.0.0.1:" + std::to_string(server.port()) + path);
  }
};

}  // namespace

TEST_CASE("weights are downloaded once, and later found without a network") {
  const std::string content = content_of(5000);
  const std::string digest = sha256(content).substr(0, 8);
  std::optional<HttpServer> server(std::in_place, serving(content, "\"a\""));
  Cache cache;
  const std::string what = server->url("/models/net.pth#sha256=" + digest);
  const fs::path place = cache.place(*server, "/models/net.pth");
  CHECK(fetch_weights(what, cache.options) == place);
  CHECK(read_text(place) == content);
  CHECK(fs::exists(place.parent_path()));
  CHECK(server->requests().size() == 1);
  server.reset();
  CHECK(fetch_weights(what, cache.options) == place);
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cache.options.cache))
    files += entry.is_regular_file() ? 1 : 0;
  CHECK(files == 1);  // no lock file and no partial file is left
}

TEST_CASE("a path is returned as it is") {
  Cache cache;
  CHECK(fetch_weights("runs/a/best", cache.options) == "runs/a/best");
  CHECK(fetch_weights("no-such-file.pth", cache.options) == "no-such-file.pth");
  CHECK_FALSE(fs::exists(cache.options.cache));
  CHECK_THROWS_WITH(fetch_weights("resnet50", cache.options),
                    Contains("did you mean torchvision:resnet50?"));
}

TEST_CASE("a file in the cache with a wrong digest is downloaded again") {
  const std::string content = content_of(5000);
  HttpServer server(serving(content, "\"a\""));
  Cache cache;
  const fs::path place = cache.place(server, "/net.pth");
  const std::string what = server.url("/net.pth#sha256=" + sha256(content));
  write_text(place, "damaged");
  CHECK(fetch_weights(what, cache.options) == place);
  CHECK(read_text(place) == content);
  write_text(place, "damaged");
  const auto replaced = capture([&] {
    fetch_weights(what, cache.options);
    return 0;
  });
  CHECK(replaced.code == 0);
  CHECK_THAT(replaced.err, Contains(place.string()) && Contains("again"));
  CHECK(count_of(replaced.err, "warning") == 1);
}

TEST_CASE("if a file in the cache is damaged and cannot be replaced, the error says what to do") {
  const std::string content = content_of(5000);
  HttpServer server(serving(content, "\"a\""));
  Cache cache;
  cache.options.download.retries = 0;
  const fs::path place = cache.place(server, "/net.pth");
  const std::string what = server.url("/net.pth#sha256=" + sha256(content));
  write_text(place, "damaged");
  for (const int status : {500, 404, 403}) {
    INFO(status);
    server.answer_with(always({status, {}, ""}));
    CHECK_THROWS_WITH(fetch_weights(what, cache.options),
                      Contains(place.string() + ", is damaged") && Contains("replace it") &&
                          Contains("--weights FILE") && !Contains("copy the file to"));
    CHECK(read_text(place) == "damaged");  // kept, because there is no replacement
  }
  server.answer_with(serving("another file", "\"b\""));
  CHECK_THROWS_WITH(fetch_weights(what, cache.options),
                    Contains(sha256("another file")) && Contains(place.string() + ", is damaged"));
  server.answer_with(always({500, {}, ""}));
  const auto failed = capture([&] {
    try {
      fetch_weights(what, cache.options);
    } catch (const std::runtime_error&) {
      return 0;
    }
    return 1;
  });
  CHECK(failed.code == 0);
  CHECK(count_of(failed.err, "warning") == 1);
  fs::remove(place);
  CHECK_THROWS_WITH(fetch_weights(what, cache.options), !Contains("damaged"));
}

TEST_CASE("a file whose contents do not match the digest in its name is reported") {
  const Folder folder;
  const std::string content = content_of(5000), all = sha256(content), eight = all.substr(0, 8);
  const auto note = [&](const std::string& name, const std::string& text) {
    const fs::path path = folder / name;
    write_text(path, text);
    return wrong_digest_note(path);
  };
  // These tests need a digest that is_number_or_date() does not reject.
  REQUIRE(eight.find_first_of("abcdef") != eight.npos);
  for (const std::string& name : {"net-" + eight + ".pth", "net-" + upper(eight) + ".pth.tar",
                                  "net-" + all + ".safetensors"}) {
    INFO(name);
    CHECK(note(name, content).empty());
    CHECK_THAT(note(name, content + "."), Contains(name.substr(4, 8)) && Contains("damaged") &&
                                              Contains("saved anew") &&
                                              Contains(sha256(content + ".")));
  }
  for (const char* name :
       {"net.pth", "net-20231015.pth", "epoch-0001-step-00000009.pt",
        "net-550e8400-e29b-41d4-a716-446655440000.pth", "net-d41d8cd98f00b204e9800998ecf8427e.pth"})
    CHECK(note(name, content).empty());
  CHECK(wrong_digest_note(folder / "missing-1a2b3c4d.pth").empty());
  CHECK(wrong_digest_note("torchvision:resnet18").empty());
  fs::create_directories(folder / "run-1a2b3c4d");
  CHECK(wrong_digest_note(folder / "run-1a2b3c4d").empty());
}

TEST_CASE("torchvision's weights are checked against the digest in their names") {
  const HttpServer server(serving("not the weights", "\"a\""));
  Cache cache;
  cache.use(server);
  CHECK_THROWS_WITH(fetch_weights("torchvision:resnet18", cache.options),
                    Contains("--weights torchvision:resnet18") && Contains("f37072fd") &&
                        Contains(sha256("not the weights")) && !Contains("without a network"));
  REQUIRE_FALSE(server.requests().empty());
  CHECK(server.requests()[0].target == "/models/resnet18-f37072fd.pth");
  CHECK_FALSE(fs::exists(cache.place(server, "/models/resnet18-f37072fd.pth")));
}

TEST_CASE("Hugging Face: safetensors are preferred, and pytorch_model.bin is the alternative") {
  HttpServer server([](const HttpRequest& request) {
    if (request.target.ends_with(".bin")) return HttpAnswer{200, {}, "pickle"};
    return HttpAnswer{404, {}, ""};
  });
  Cache cache;
  cache.use(server);
  cache.options.download.token = "my-token";
  CHECK(fetch_weights("hf:me/net", cache.options) ==
        cache.place(server, "/hf/me/net/resolve/main/pytorch_model.bin"));
  REQUIRE(server.requests().size() == 2);
  CHECK(server.requests()[0].target == "/hf/me/net/resolve/main/model.safetensors");
  for (const HttpRequest& request : server.requests())  // http would reveal a token
    CHECK(request.header("authorization").empty());
  CHECK(fetch_weights("hf:me/net", cache.options).ends_with("pytorch_model.bin"));
  CHECK(server.requests().size() == 2);

  CHECK_THROWS_AS(fetch_weights("hf:me/net/other.safetensors", cache.options), UserError);
  server.answer_with(always({401, {}, ""}));
  CHECK_THROWS_WITH(fetch_weights("timm:resnet18.a1_in1k", cache.options),
                    Contains("401") && Contains("HF_TOKEN"));
  server.answer_with(always({200, {}, "tensors"}));
  CHECK_THAT(fetch_weights("timm:resnet18.a1_in1k", cache.options),
             Contains("/hf/timm/resnet18.a1_in1k/resolve/main/model.safetensors"));
}

TEST_CASE("if a download with an unlisted tag fails, the error names the tags that are listed") {
  HttpServer server(always({404, {}, ""}));
  Cache cache;
  cache.use(server);
  for (const int status : {404, 401}) {
    server.answer_with(always({status, {}, ""}));
    CHECK_THROWS_WITH(fetch_weights("timm:resnet34.a9_in1k", cache.options),
                      Contains("a1_in1k, a2_in1k, a3_in1k, bt_in1k, gluon_in1k"));
    // The error names no tags if the tag is listed, or if the list lacks the network.
    for (const char* other : {"timm:resnet34.a1_in1k", "timm:convnext_tiny.in12k"})
      CHECK_THROWS_WITH(fetch_weights(other, cache.options), !Contains("tag"));
  }
  server.answer_with(always({200, {}, "tensors"}));  // the tag exists, but is not listed
  CHECK_THAT(fetch_weights("timm:resnet34.a9_in1k", cache.options),
             Contains("/hf/timm/resnet34.a9_in1k/"));
}

TEST_CASE("without a network, the error says which file to copy, and where to") {
  std::optional<HttpServer> gone(std::in_place, always({}));
  Cache cache;
  cache.use(*gone);
  const std::string url = gone->url("/models/resnet18-f37072fd.pth");
  const std::string place = cache.place(*gone, "/models/resnet18-f37072fd.pth").string();
  gone.reset();
  CHECK_THROWS_WITH(
      fetch_weights("torchvision:resnet18", cache.options),
      Contains(url) && Contains("copy the file to " + place) && Contains("--weights FILE"));
  cache.options.cache.clear();
  CHECK_THROWS_WITH(fetch_weights("torchvision:resnet18", cache.options),
                    Contains("--weights-cache DIR"));
}

TEST_CASE("a file is downloaded by one process at a time") {
  const std::string content = content_of(200000);
  const HttpServer server(serving(content, "\"a\""));
  Cache cache;
  const fs::path place = cache.place(server, "/net.pth");
  fs::create_directories(place.parent_path());
  {
    const FileLock other(place.parent_path() / ".net.pth.lock", "it", "folder", 0);
    cache.options.lock_seconds = 0;
    CHECK_THROWS_WITH(fetch_weights(server.url("/net.pth"), cache.options),
                      Contains(place.string()) && Contains("--weights-cache"));
    CHECK(server.requests().empty());
  }
  cache.options.lock_seconds = 60;
  std::string paths[4];
  std::vector<std::thread> threads;
  for (std::string& path : paths)
    threads.emplace_back([&] { path = fetch_weights(server.url("/net.pth"), cache.options); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& path : paths) CHECK(path == place);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("without a terminal, messages show the progress") {
  const HttpServer server(serving(content_of(200000), "\"a\""));
  Cache cache;
  cache.options.progress_seconds = 0;
  const auto fetched = capture([&] {
    fetch_weights(server.url("/net.pth"), cache.options);
    return 0;
  });
  CHECK(fetched.code == 0);
  CHECK_THAT(fetched.err, Contains("downloading net.pth  0.2 of 0.2 MB") && Contains("MB/s") &&
                              Contains("downloaded 0.2 MB to " + cache.options.cache.string()));
}
