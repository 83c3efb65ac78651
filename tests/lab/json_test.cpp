// The JSON value: what it holds, and what its text says.
#include "json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace mollify {
namespace {

enum class Colour : std::uint8_t { red, green };

TEST(Json, IsAnObjectWhereEachElementIsANameAndAValue) {
  const Json json{{"b", 1}, {"a", {1, 2}}, {"c", {{"d", nullptr}}}, {"e", {"x", "y"}}};
  EXPECT_EQ(json.dump(), R"({"b":1,"a":[1,2],"c":{"d":null},"e":["x","y"]})");
  EXPECT_EQ((Json{{"a", 1}, 2}).dump(), R"([["a",1],2])");
  EXPECT_EQ(Json::array({Json::array({"a", 1})}).dump(), R"([["a",1]])");
}

TEST(Json, WritesEachKindOfNumberAsItself) {
  EXPECT_EQ(Json(true).dump(), "true");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(3.0).dump(), "3.0");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(1e-300).dump(), "1e-300");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(Colour::green).dump(), "1");
}

TEST(Json, EqualNumbersAreEqualHoweverTheyAreStored) {
  EXPECT_EQ(Json(3), 3.0);
  EXPECT_EQ(Json(3u), 3);
  EXPECT_NE(Json(3), 4);
  EXPECT_NE(Json(1), Json(true));
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ((Json{{"a", 1}}), Json::parse(R"({"a": 1.0})"));
}

TEST(Json, GivesBackWhatItWasMadeOf) {
  const Json json{{"names", std::vector<std::string>{"a", "b"}}, {"colour", Colour::green}, {"values", std::array{0.5, 1.5}}};
  EXPECT_EQ(json["names"].get<std::vector<std::string>>(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(json["names"].get<std::set<std::string>>(), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ((json["values"].get<std::array<double, 2>>()), (std::array{0.5, 1.5}));
  EXPECT_EQ(json["colour"].get<Colour>(), Colour::green);
  const std::string name = json["names"][1];
  EXPECT_EQ(name, "b");
  EXPECT_EQ(json.value("absent", "none"), "none");
  EXPECT_EQ(json.value("colour", 7), 1);
}

TEST(Json, MembersAreAddedInOrderReplacedAndErased) {
  Json json;
  json["z"] = 1;
  json["a"] = 2;
  json["z"] = "new";
  EXPECT_EQ(json.dump(), R"({"z":"new","a":2})");
  json.erase("z");
  EXPECT_EQ(json.dump(2), "{\n  \"a\": 2\n}");
  EXPECT_TRUE(json.contains("a"));
  EXPECT_EQ(json.find("z"), nullptr);
  Json list;
  list.push_back({{"a", 1}});
  list.push_back(2);
  EXPECT_EQ(list.dump(), R"([{"a":1},2])");
}

TEST(Json, AnotherKindOfValueIsAnError) {
  const Json json{{"text", "a"}, {"number", 1}, {"half", 0.5}};
  EXPECT_THROW((void)json["text"].get<double>(), std::runtime_error);
  EXPECT_THROW((void)json["number"].get<std::string>(), std::runtime_error);
  EXPECT_THROW((void)json["number"].get<bool>(), std::runtime_error);
  EXPECT_THROW((void)json["half"].get<int>(), std::runtime_error);
  EXPECT_THROW((void)json["absent"], std::runtime_error);
  EXPECT_THROW((void)json.elements(), std::runtime_error);
  EXPECT_EQ(Json(1).find("a"), nullptr);
}

TEST(Json, TextIsReadAsItWasWritten) {
  const std::string text = R"({"b":[1,-2,18446744073709551615,0.25,true,null,"\u0001é"],"a":{}})";
  EXPECT_EQ(Json::parse(text).dump(), text);
  EXPECT_TRUE(Json::parse("{\"a\": ").is_null());
  EXPECT_TRUE(Json::parse("").is_null());
}

TEST(Json, StringsThatAreNoUtf8SurviveMessagesAndAreReplacedInText) {
  const Json json{{"name", "a\xff"}, {"values", {1, -1, 0.5, false, nullptr}}};
  const std::vector<std::uint8_t> bytes = json.to_cbor();
  EXPECT_EQ(Json::from_cbor(bytes.data(), bytes.size()), json);
  EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\"");
  EXPECT_ANY_THROW((void)Json::from_cbor(bytes.data(), bytes.size() - 1));
}

}  // namespace
}  // namespace mollify
