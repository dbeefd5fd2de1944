#include "base/secrets.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using Catch::Contains;
using shoal::masked;

TEST_CASE("secrets are masked, and the text around them is kept") {
  const std::string token = "abcdefghijklmnopqrstuvwxyz0123456789ABCD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"tcp://user:word@host/x", "tcp://user:***@host/x"},
      {"http://user:p:w@proxy:3128 failed", "http://user:***@proxy:3128 failed"},
      {"https://" + token + "@host/x", "https://***@host/x"},
      {"https://b.s3.amazonaws.com/k?X-Amz-Signature=abc", "https://b.s3.amazonaws.com/k?***"},
      {"'https://h/k?a=b&c=d' failed", "'https://h/k?***' failed"},
      {"https://ghp_" + token + ":x-oauth-basic@host/a", "https://***@host/a"},
      {"s3://AKIAABCDEFGHIJKLMNOP:pw@b/k", "s3://***@b/k"},
      {"glpat-" + token, "***"},
      {"https://h/k?a=b,c&sig=d: not found", "https://h/k?***: not found"},
      {"key AKIAABCDEFGHIJKLMNOP.", "key ***"},
      {"(ASIAABCDEFGHIJKLMNOP)", "(***)"},
      {"hf_" + token, "***"},
      {"ghp_" + token + " x", "*** x"},
      {"xoxb-1234567890-abc", "***"},
      {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-_1", "***"},
      {"IQoJb3JpZ2luX2VjE" + token + token, "***"},
      {"aws_secret_access_key = " + token, "aws_secret_access_key = ***"},
      {"{\"password\": \"a b\"}", "{\"password\": \"***\"}"},
      {"--api-key=" + token + " --lr 1", "--api-key=*** --lr 1"},
      {"Authorization: Bearer " + token, "Authorization: Bearer ***"},
      {"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx", "***\nx"},
  };
  for (const auto& [text, expected] : cases) CHECK(masked(text) == expected);
}

TEST_CASE("ordinary text is not masked") {
  for (const std::string text :
       {"/opt/ml/input/data/train/n01440764/ILSVRC2012_val_00000293.JPEG", "s3://bucket/key/x.tar",
        "--lr 0.1 --resume", "what? a question at 12:30:00", "the secret of tokens", "",
        "train:loss=1.000000; epoch=3;", "d498e0e86e5cd25e2ef2fd2ad1ad8d1a7b8ad3f0", "Größe 3 × 4"})
    CHECK(masked(text) == text);
}

TEST_CASE("values of secret environment variables are masked wherever they appear") {
  shoal::hide_secrets({{"AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"},
                       {"MY_PASSWORD", "long enough"},
                       {"DB_TOKEN", "short"},
                       {"A_TOKEN", "beginning"},
                       {"B_TOKEN", "beginning and more"},
                       {"C_PASSWORD", "two\nlines"},
                       {"STRIPE_KEY", "no known form"},
                       {"KEYBOARD", "a usual value"},
                       {"S3_KEY", "data/imagenet"},
                       {"A_PWD", "of a database"},
                       {"PROJECT_PWD", "/home/user/project"},
                       {"ACCOUNT_KEY", "ab/cdefghijklmnopqrstuvwxyz0123456789+/ABCDE=="},
                       {"AES_KEY", "q8Zb/Y3kPw0vXs5TnRf7Lm=="},
                       {"IV_KEY", "/q8ZbY3kPw0vXs5TnRf7LmQA"},
                       {"SSH_KEY", "/home/Max2/.ssh/id_rsa"},
                       {"HOME", "/home/somebody"}});
  CHECK(masked("x wJalrXUtnFEMI/K7MDENG/bPxRfiCY y long enough") == "x *** y ***");
  CHECK(masked("beginning, beginning and more") == "***, ***");
  CHECK(masked("two\nlines, two lines") == "***, ***");
  CHECK(masked("no known form, a usual value") == "***, a usual value");
  CHECK(masked("q8Zb/Y3kPw0vXs5TnRf7Lm==, /q8ZbY3kPw0vXs5TnRf7LmQA") == "***, ***");
  for (const std::string path : {"data/imagenet", "/home/user/project/x", "/home/Max2/.ssh/id_rsa"})
    CHECK(masked(path) == path);
  CHECK(masked("of a database") == "***");
  CHECK(masked("ab/cdefghijklmnopqrstuvwxyz0123456789+/ABCDE==") == "***");
  CHECK(masked("short /home/somebody") == "short /home/somebody");
}

TEST_CASE("masking a long text takes time in proportion to its length", "[single]") {
  const std::string text(4 << 20, '?');  // a backtracking regex would hang or overflow the stack
  std::string urls;
  for (int i = 0; i < 300000; ++i) urls += "s3://b ";
  CHECK(masked(urls) == urls);
  CHECK(masked("://" + text) == "://?***");
  CHECK(masked(text) == text);
}
