// The pixels of one page: which channels are blurred together, in which types, and what is done to colours around that.
#pragma once

#include <cstdint>
#include <string>

#include "blur_file.h"
#include "files/numbers.h"
#include "files/result.h"
#include "image_blur.h"

namespace mollify::cli {

class PageBlur {
 public:
  PageBlur(std::string path, ImageBlurrer& blurrer, const BlurRequest& request, const files::PageWork& work, BlurReport& report)
      : path_(std::move(path)), blurrer_(blurrer), request_(request), work_(work), report_(report) {}

  /// `src` has the shape of work.from, or that grown as the result is; `dst` that of work.blurred.
  void run(const files::PagePixels& src, const files::PagePixels& dst) const;
  /// Asks only whether and how pages of these shapes would be blurred.
  void plan(const files::Page& src, const files::Page& dst) const;

  /// Bytes beside source and result, at most.
  [[nodiscard]] static std::int64_t scratch_bytes(const files::PageWork& work);

 private:
  struct Group;
  struct Request;
  void run_group(const Group& group, const files::PagePixels& src, const files::PagePixels& dst) const;
  void run_by_floats(const files::PagePixels& src, const files::PagePixels& dst) const;
  void copy_kept(const files::PagePixels& src, const files::PagePixels& dst) const;
  void run_views(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) const;
  void take(const Result<BlurOutcome>& outcome) const;
  [[nodiscard]] std::vector<Group> groups_of(const files::Page& src) const;
  [[nodiscard]] Request request_for(const Group& group, const files::Page& src, const files::Page& dst) const;
  [[nodiscard]] ImageSpec spec_for(const Group& group, double unit) const;
  [[nodiscard]] int result_channel(int source_channel) const;

  std::string path_;
  ImageBlurrer& blurrer_;
  const BlurRequest& request_;
  const files::PageWork& work_;
  BlurReport& report_;
};

}  // namespace mollify::cli
