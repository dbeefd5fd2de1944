// Tests commands that download weights.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/http_server.h"
#include "tests/support/program.h"

using namespace shoal;
using namespace shoal::test;
using Catch::Contains;
using Words = std::vector<std::string>;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A trained model for a server to offer, and an empty cache.
struct Published {
  TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string(),
                    run = (directory.path() / "run").string(),
                    cache = (directory.path() / "cache").string();
  std::string model;  // bytes of model.safetensors

  Published() {
    make_images(data, 24, 12, 3, 40);
    // clang-format off
    const auto outcome = run_shoal({
        "train", "--data", data, "--output", run, "--export-dir", run + "/model", "--model",
        "resnet18", "--size", "32", "--batch-size", "8", "--epochs", "1", "--lr", "0.02"});
    // clang-format on
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    model = read_text(run + "/model/model.safetensors");
  }

  Answerer answerer(size_t cut = std::string::npos) const {
    return [this, cut](const HttpRequest& request) {
      HttpAnswer answer = file_answer(request, model, "\"a\"");
      answer.cut = cut;
      return answer;
    };
  }
};

Outcome succeeded(const Words& words, const Words& environment = {}) {
  const Outcome outcome = run_shoal(words, environment);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return outcome;
}

}  // namespace

TEST_CASE("eval and predict download weights once, for all processes") {
  const Published published;
  const HttpServer server(published.answerer(published.model.size() / 2 + 1));
  const Words endpoint = {"HF_ENDPOINT=" + server.url("/hf/"), "HF_TOKEN=not-over-plain-http"};
  const Words eval = {"eval", "--json", "--data", published.data};
  Words own = eval, remote = eval;
  own.insert(own.end(), {"--checkpoint", published.run});
  remote.insert(remote.end(),
                {"--weights", "hf:me/net", "--weights-cache", published.cache, "--nproc", "2"});
  const Outcome outcome = succeeded(remote, endpoint);
  const Json json = Json::parse(outcome.out), expected = Json::parse(succeeded(own).out);
  CHECK(json["correct1"] == expected["correct1"]);
  CHECK(json["images"] == expected["images"]);
  REQUIRE(server.requests().size() == 2);  // the connection breaks once
  CHECK(server.requests()[0].target == "/hf/me/net/resolve/main/model.safetensors");
  CHECK_FALSE(server.requests()[1].header("range").empty());
  CHECK(server.requests()[0].header("authorization").empty());
  CHECK(count_of(outcome.err, "downloaded ") == 1);
  CHECK_THAT(outcome.err, Contains(server.url("/hf/me/net")) && Contains("SHA-256"));

  succeeded(remote, endpoint);
  succeeded({"predict", published.data + "/val", "--weights", "hf:me/net", "--weights-cache",
             published.cache},
            endpoint);
  CHECK(server.requests().size() == 2);
}

TEST_CASE("processes that start at the same time download a file once") {
  const Published published;
  const HttpServer server(published.answerer());
  const Invocation predict = {{shoal_program(), "predict", published.data + "/val", "--weights",
                               server.url("/net.safetensors")},
                              {"SHOAL_CACHE=" + published.cache}};
  for (const Outcome& outcome : run_together({predict, predict})) {
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
  }
  const Outcome inspected =
      succeeded({"inspect", server.url("/net.safetensors")}, {"SHOAL_CACHE=" + published.cache});
  CHECK_THAT(inspected.out, Contains("resnet18") && Contains(published.cache));
  CHECK(server.requests().size() == 1);
  CHECK(fs::is_regular_file(published.cache + "/weights/http/127.0.0.1:" +
                            std::to_string(server.port()) + "/net.safetensors"));
}

TEST_CASE("training starts from downloaded weights, and resumes without them") {
  const Published published;
  const std::string output = (published.directory.path() / "second").string();
  Words words;
  {
    const HttpServer server(published.answerer());
    words = {"train",
             "--data",
             published.data,
             "--output",
             output,
             "--model",
             "resnet18",
             "--size",
             "32",
             "--batch-size",
             "4",
             "--lr",
             "0.01",
             "--epochs",
             "1",
             "--nproc",
             "2",
             "--weights",
             server.url("/net.safetensors"),
             "--weights-cache",
             published.cache};
    const Outcome outcome = succeeded(words);
    CHECK_THAT(outcome.err, Contains("weights of " + published.cache) && Contains("parameters"));
    CHECK(server.requests().size() == 1);
  }
  fs::remove_all(published.cache);
  words.insert(words.end(), {"--resume", "--epochs", "2"});
  CHECK_THAT(succeeded(words).err, Contains("--weights has no effect: the run continues"));
  CHECK_FALSE(fs::exists(published.cache));
}

TEST_CASE("downloads that fail end the command with one sentence that says what to do") {
  const Published published;
  const HttpServer server([](const HttpRequest& request) {
    if (request.target == "/page") return HttpAnswer{200, {"Content-Type: text/html"}, "<html>"};
    return HttpAnswer{404, {}, ""};
  });
  const auto failed = [&](const std::string& weights, const Words& more = {}) {
    Words words = {"train",
                   "--data",
                   published.data,
                   "--output",
                   published.directory.path() / "failed",
                   "--weights",
                   weights,
                   "--weights-cache",
                   published.cache};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_shoal(words);
    CHECK(count_of(outcome.err, "shoal: error:") == 1);
    return outcome;
  };
  const Outcome missing = failed(server.url("/net.pth"));
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.err, Contains("404") && Contains(server.url("/net.pth")));
  const Outcome page = failed(server.url("/page"));
  CHECK(page.exit_code == 1);
  CHECK_THAT(page.err, Contains("web page") && Contains("copy the file to " + published.cache));
  const Outcome model = failed("torchvision:resnet18", {"--model", "resnet34"});
  CHECK(model.exit_code == 2);
  CHECK_THAT(model.err, Contains("--model resnet34") && Contains("weights of resnet18"));
  CHECK(server.requests().size() == 2);
}

TEST_CASE("shoal weights lists weights that shoal's networks can hold") {
  std::set<std::string> models;
  std::map<std::string, double> parameters;
  for (const Json& model : Json::parse(succeeded({"models", "--json"}).out))
    parameters[model["name"]] = model["parameters"];
  const Json rows = Json::parse(succeeded({"weights", "--json"}).out);
  for (const Json& row : rows) {
    INFO(row.dump());
    REQUIRE(parameters.contains(row["model"]));
    models.insert(row["model"].get<std::string>());
    const double megabytes = 4e-6 * parameters[row["model"]];  // buffers add at most 1.5 %
    CHECK(row["file_mb"].get<double>() == Approx(1.01 * megabytes).epsilon(0.01));
  }
  CHECK(models.size() == parameters.size());

  const TemporaryDirectory home;
  const fs::path file = home.path() / "https/download.pytorch.org/models/resnet50-11ad3fa6.pth";
  const Words one = {"weights", "torchvision:resnet50", "--weights-cache", home.path()};
  CHECK_THAT(succeeded(one).out, Contains("80.858") && Contains("its place is " + file.string()));
  fs::create_directories(file.parent_path());
  fs::copy_file(shoal_program(), file);
  CHECK_THAT(succeeded(one).out, Contains("cached    " + file.string()));
  CHECK(lines_of(succeeded({"weights", "resnet50", "timm:resnet18"}).out).size() > 15);
  const auto listed = lines_of(succeeded({"weights", "mobilenet"}).out);
  CHECK(listed.size() > 5);
  for (const std::string& line : listed)
    CHECK_THAT(line, Contains("mobilenet") || Catch::StartsWith("name"));
  const Outcome unknown = run_shoal({"weights", "resnte50"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, Contains("did you mean"));
}
