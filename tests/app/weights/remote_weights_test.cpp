#include "app/weights/remote_weights.h"

#include <catch2/catch.hpp>
#include <set>

#include "app/weights/known_weights.h"
#include "base/error.h"

using namespace shoal;
using namespace shoal::app;
using Catch::Contains;

namespace {

RemoteFile first_of(const std::string& what) {
  const auto remote = remote_weights(what);
  REQUIRE(remote);
  return remote->files.front();
}

// timm writes mobilenetv3 for mobilenet_v3.
std::string without_underscores(std::string text) {
  std::erase(text, '_');
  return text;
}

}  // namespace

TEST_CASE("a name of weights is resolved to the URL of a file on its publisher's server") {
  const std::string torchvision = "https://download.pytorch.org/models/";
  const std::pair<const char*, std::string> cases[] = {
      {"torchvision:resnet50/V1", torchvision + "resnet50-0676ba61.pth"},
      {"torchvision:resnet50/IMAGENET1K_V1", torchvision + "resnet50-0676ba61.pth"},
      {"torchvision:ResNet50_Weights.IMAGENET1K_V1", torchvision + "resnet50-0676ba61.pth"},
      {"torchvision:resnet50/V2", torchvision + "resnet50-11ad3fa6.pth"},
      {"torchvision:resnet50", torchvision + "resnet50-11ad3fa6.pth"},
      {"torchvision:ResNet50_Weights.DEFAULT", torchvision + "resnet50-11ad3fa6.pth"},
      {"torchvision:resnet18", torchvision + "resnet18-f37072fd.pth"},
      {"torchvision:efficientnet_b1", torchvision + "efficientnet_b1-c27df63c.pth"},
      {"torchvision:MobileNet_V2_Weights.IMAGENET1K_V1", torchvision + "mobilenet_v2-b0353104.pth"},
      {"torchvision:mobilenet_v2", torchvision + "mobilenet_v2-7ebf99e0.pth"},
      {"timm:mobilenetv2_140",
       "https://huggingface.co/timm/mobilenetv2_140.ra_in1k/resolve/main/model.safetensors"},
      {"timm:resnet50.a1_in1k",
       "https://huggingface.co/timm/resnet50.a1_in1k/resolve/main/model.safetensors"},
      {"timm:efficientnet_b0",
       "https://huggingface.co/timm/efficientnet_b0.ra_in1k/resolve/main/model.safetensors"},
      {"timm:convnext_tiny.fb_in1k",
       "https://huggingface.co/timm/convnext_tiny.fb_in1k/resolve/main/model.safetensors"},
      {"hf:me/net", "https://huggingface.co/me/net/resolve/main/model.safetensors"},
      {"hf:me/net@v1.0", "https://huggingface.co/me/net/resolve/v1.0/model.safetensors"},
      {"hf:me/net@v2/sub/x.bin", "https://huggingface.co/me/net/resolve/v2/sub/x.bin"},
      {"https://h/a/b.pth#sha256=0123abcd", "https://h/a/b.pth"},
      {"HTTP://H:8080/b.pth?x=1", "HTTP://H:8080/b.pth?x=1"},
  };
  for (const auto& [what, url] : cases) CHECK(first_of(what).url == url);
  const auto both = remote_weights("hf:me/net")->files;
  REQUIRE(both.size() == 2);
  CHECK_THAT(both[1].url, Contains("/pytorch_model.bin"));
  CHECK(remote_weights("hf:me/net/x.safetensors")->files.size() == 1);
}

TEST_CASE("paths are not names of weights") {
  for (const char* path : {"resnet50.pth", "runs/a", "/data/x:y.pth", "runs/a/best", "pretrained"})
    CHECK_FALSE(remote_weights(path));
}

TEST_CASE("the digest is the one after #, else the one in the name, if that looks like a digest") {
  CHECK(first_of("https://h/resnet50-11ad3fa6.pth").sha256 == "11ad3fa6");
  CHECK(first_of("https://h/resnet50-11ad3fa6.pth#sha256=FFFFFFFF").sha256 == "FFFFFFFF");
  CHECK(first_of("https://h/x-11ad3fa6.pth.tar").sha256 == "11ad3fa6");
  CHECK(first_of("https://h/x-1.0-11ad3fa6.pth").sha256 == "11ad3fa6");
  CHECK(first_of("https://h/efficientnet-lite0-57934424.pth").sha256 == "57934424");
  for (const char* other : {"https://h/x-20231015.pth", "https://h/x-15102023.pth",
                            "https://h/epoch-0001-step-00000009.pt", "https://h/x-11ad3fa.pth",
                            "https://h/x-large.pth", "https://h/x.pth", "https://h/x-baseline.pth"})
    CHECK(first_of(other).sha256.empty());
  for (const char* bad : {"https://h/x#sha256=0123", "https://h/x#sha256=0123456z",
                          "https://h/x#md5=01234567", "https://h/x#"})
    CHECK_THROWS_WITH(remote_weights(bad), Contains("sha256=HEX"));
}

TEST_CASE("the place in the cache is the URL without login, query and fragment") {
  CHECK(first_of("https://h/a/b.pth").cached == "https/h/a/b.pth");
  CHECK(first_of("http://H:80/a/b.pth#sha256=01234567").cached == "http/h:80/a/b.pth");
  CHECK(first_of("https://me:pw@h/a/b.pth").cached == "https/h/a/b.pth");
  const std::string with = first_of("https://h/a/b.pth?token=x").cached,
                    other = first_of("https://h/a/b.pth?token=y").cached;
  CHECK_THAT(with, Catch::StartsWith("https/h/a/") && Catch::EndsWith("-b.pth"));
  CHECK(with != other);
  CHECK_THAT(with, !Contains("token"));
}

TEST_CASE("URLs cannot leave the cache folder, and repositories cannot leave theirs") {
  for (const std::string bad :
       {"https://h/../../x.pth", "https://h/a//b.pth", "https://../x.pth", "https://h/a/./x",
        "https:///x", "https://h/a b", "https://h/a\nb", "https://h/a\\b"})
    CHECK_THROWS_WITH(remote_weights(bad), Contains("not well-formed"));
  CHECK_THROWS_AS(remote_weights("https://h/" + std::string(300, 'x')), UserError);
  for (const char* bad : {"https://h", "https://h/", "https://h/a/", "https://h?x=/y"})
    CHECK_THROWS_WITH(remote_weights(bad), Contains("names no file"));
  for (const char* bad : {"hf:net", "hf:", "hf:a/", "hf:a/b/", "hf:../b", "hf:a/../c", "hf:a/b?x",
                          "hf:a//b", "hf:a/b/../../c"})
    CHECK_THROWS_WITH(remote_weights(bad), Contains("hf:OWNER/NAME"));
  CHECK_THROWS_WITH(remote_weights("s3://bucket/x.pth"), Contains("only http:// and https://"));
  CHECK_THROWS_WITH(remote_weights("file:///etc/passwd"), Contains("only http:// and https://"));
  CHECK_THROWS_WITH(remote_weights("ftp://me:pw@h/x"), !Contains("pw"));
}

TEST_CASE("unknown names get a suggestion") {
  CHECK_THROWS_WITH(remote_weights("torchvision:resnet5"),
                    Contains("did you mean torchvision:resnet50?") && Contains("shoal weights"));
  CHECK_THROWS_WITH(remote_weights("torchvision:resnet50/V3"), Contains("unknown name"));
  CHECK_THROWS_WITH(remote_weights("timm:resnet5"), Contains("did you mean timm:resnet50?"));
  CHECK(nearest_weights("resnet50") == "torchvision:resnet50");
  CHECK(nearest_weights("runs/a").empty());
  // torchvision has no EfficientNet-Lite. timm's name for shoal's efficientnet_lite0 is
  // tf_efficientnet_lite0.
  for (const char* lite : {"torchvision:efficientnet_lite0", "torchvision:efficientnet_lite0/V1",
                           "timm:efficientnet_lite0"})
    CHECK_THROWS_WITH(remote_weights(lite), Contains("did you mean timm:tf_efficientnet_lite0?"));
  CHECK(nearest_weights("efficientnet_lite4") == "timm:tf_efficientnet_lite4");
}

TEST_CASE("the network and the preprocessing follow from the name of the weights") {
  const auto model = [](const std::string& what) {
    const KnownWeights* const known = find_known_weights(what);
    return known ? known->model : "";
  };
  CHECK(model("torchvision:resnet50") == "resnet50");
  CHECK(model("timm:efficientnet_b3.ra2_in1k") == "efficientnet_b3");
  CHECK(model("timm:tf_efficientnet_lite0") == "efficientnet_lite0");
  CHECK(model("timm:mobilenetv2_100") == "mobilenet_v2");
  CHECK(model("timm:mobilenetv2_120d.ra_in1k") == "mobilenet_v2_120d");
  CHECK(model("hf:timm/resnet18.a1_in1k") == "resnet18");
  CHECK(model("https://mirror/resnet101-cd907fc2.pth?x=1#sha256=cd907fc2") == "resnet101");
  CHECK(model("/data/resnet34-b627a593.pth") == "resnet34");
  for (const char* other : {"hf:me/resnet50", "https://h/resnet50.pth", "resnet50.pth", "runs/a",
                            "timm:convnext_tiny.fb_in1k"})
    CHECK_FALSE(find_known_weights(other));
  CHECK(find_known_weights("torchvision:resnet50/V1")->resize == 256);
  CHECK(find_known_weights("torchvision:resnet50")->resize == 232);
}

TEST_CASE("each row of the known weights is consistent") {
  std::set<std::string> names, urls;
  for (const KnownWeights& row : known_weights()) {
    INFO(row.name);
    const auto remote = remote_weights(row.name);
    REQUIRE(remote);
    CHECK(remote->known == &row);
    const RemoteFile& file = remote->files.front();
    CHECK_THAT(file.url, Contains(row.file));
    CHECK(file.sha256.size() == (row.is_torchvision() ? 8 : 0));
    CHECK(names.insert(row.name).second);
    CHECK(urls.insert(file.url).second);
    CHECK((50 < row.top1 && row.top1 < row.top5 && row.top5 < 100));
    CHECK_THAT(without_underscores(row.name), Contains(without_underscores(row.model)));
    CHECK((row.size <= row.resize && 2 * row.size > row.resize));
  }
  CHECK(names.size() > 50);
}
