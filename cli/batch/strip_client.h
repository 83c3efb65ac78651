// A blur in strips by the process that owns the GPU. It is asked for each strip.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "batch/device_client.h"
#include "batch/device_messages.h"

namespace mollify::cli {

class StripClient final : public StripBlur {
 public:
  [[nodiscard]] static Result<std::unique_ptr<StripBlur>> prepare(DeviceClient& owner, const ImageSpec& spec, const ImageDesc& src,
                                                                  const ImageDesc& dst);
  StripClient(const StripClient&) = delete;
  StripClient& operator=(const StripClient&) = delete;
  ~StripClient() override;

  [[nodiscard]] BlurOutcome outcome() const override { return outcome_; }
  [[nodiscard]] std::string reading() const override { return reading_; }
  [[nodiscard]] bool open_stream() override;
  void close_stream() override;
  [[nodiscard]] files::RowRange source_rows(files::RowRange rows) const override;
  [[nodiscard]] std::int64_t most_source_rows(std::int64_t rows) const override;
  [[nodiscard]] std::int64_t most_new_rows(std::int64_t rows) const override;
  [[nodiscard]] std::int64_t rows_at_once() const override;
  /// With the memory that a strip is shared in.
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const override;
  [[nodiscard]] Status reserve(std::int32_t rows) override;
  [[nodiscard]] Status run(const ConstWindow& src, const Window& dst) override;

 private:
  /// Memory that the owner sees as well. It grows with what it has to hold.
  struct Shared {
    PixelBytes pixels;
    std::int64_t bytes = 0;
  };

  StripClient(DeviceClient& owner, const Json& prepared, const ImageDesc& src, const ImageDesc& dst);
  [[nodiscard]] Json question(StripQuestion asked) const;
  [[nodiscard]] Json ask(const Json& question, std::span<const int> descriptors = {}) const;
  [[nodiscard]] std::int64_t number(StripQuestion asked, std::int64_t rows) const;
  [[nodiscard]] ImageView room_in(Shared& shared, const ImageDesc& desc);

  DeviceClient& owner_;
  int number_;
  BlurOutcome outcome_;
  std::string reading_;
  ImageDesc src_, dst_;
  Shared source_, result_;
};

}  // namespace mollify::cli
