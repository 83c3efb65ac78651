// Algorithms and their options as text, by the names of today and by former ones.
#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "planner/former_names.h"
#include "support.h"

namespace mollify::test {
namespace {

TEST(AlgorithmName, RoundTrips) {
  for (const std::string_view text : {"box.any", "box.any:accumulator=f64", "a.b:x=1,y=2"}) {
    const Result<AlgorithmChoice> choice = parse_algorithm(text);
    ASSERT_TRUE(choice.ok());
    EXPECT_EQ(to_string(*choice), text);
  }
  for (const std::string_view text : {"", ":a=b", "box.any:", "box.any:a", "box.any:=b", "box.any:a=", "x:a=1,a=2"}) {
    EXPECT_FALSE(parse_algorithm(text).ok()) << text;
  }
}

/// What options were called before version 0.2.0.
TEST(FormerNames, AreUnderstoodAsThoseOfToday) {
  for (const auto& [former, current] :
       {std::pair{"box.any:form=columns,batch=4,vertical_groups=3,walks=2",
                  "box.any:form=column_sums,rows_in_flight=4,chunks=3,lanes_per_row=2"},
        {"sep.fused:math=matrix_lanes,neighbours=lanes,halves=2", "sep.fused:math=coopmat_direct,exchange=shuffle,split=2"},
        {"gauss.decimate:cells=4,blur=expand,write_span=2", "gauss.decimate:support=4,blur=upsample,write_pixels=2"},
        {"box.running:segment=64", "box.running:segment=64"}}) {
    const AlgorithmChoice choice = parse_algorithm(former).value();
    EXPECT_EQ(with_current_names(choice.id, choice.options), parse_algorithm(current).value().options) << former;
  }
}

#ifdef MOLLIFY_VULKAN  // else algorithms of GPUs have no home
TEST(FormerNames, GiveTheSamePlan) {
  const ImageDesc desc{256, 256, PixelFormat::rgba8};
  const auto plan = [&](const char* algorithm) {
    return make_plan(spec_of(Box::of_radius(9, 9)), desc, desc, fake_gpu(false), {parse_algorithm(algorithm).value()});
  };
  const Result<Plan> former = plan("box.any:form=columns,batch=4,vertical_groups=3");
  ASSERT_TRUE(former.ok()) << former.error().message;
  EXPECT_EQ(*former, *plan("box.any:form=column_sums,rows_in_flight=4,chunks=3"));
  const Result<Plan> both = plan("box.any:chunks=3,vertical_groups=3");
  ASSERT_FALSE(both.ok());
  EXPECT_NE(both.error().message.find("has no option \"vertical_groups\""), std::string::npos) << both.error().message;
}
#endif

}  // namespace
}  // namespace mollify::test
