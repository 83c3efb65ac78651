#include "files/masks.h"

#include <algorithm>
#include <cstring>

#include "files/contract.h"
#include "files/memory_limit.h"
#include "files/numbers.h"

namespace mollify::files {
namespace {

/// A page of the document with its places in that of the reader inside.
struct Source {
  int page = 0;
  int mask = -1;  ///< none
};

class MaskedReader final : public Reader {
 public:
  MaskedReader(std::unique_ptr<Reader> inner, std::int64_t memory_bytes)
      : inner_(std::move(inner)), document_(inner_->document()), memory_bytes_(memory_bytes) {
    join_pages();
    for (const std::string& message : inner_->messages().all()) messages_.add(message);
  }

  [[nodiscard]] const Document& document() const override { return document_; }
  [[nodiscard]] const Messages& messages() const override {
    for (const std::string& message : inner_->messages().all()) messages_.add(message);
    return messages_;
  }

  void read_rows(int page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) override {
    const Source& source = sources_[static_cast<std::size_t>(page)];
    if (source.mask < 0) return inner_->read_rows(source.page, y, count, into, row_bytes);
    if (page != masked_page_) read_mask(page);
    const Page& inside = inner_->document().pages[static_cast<std::size_t>(source.page)];
    const Page& joined = document_.pages[static_cast<std::size_t>(page)];
    Bytes row(static_cast<std::size_t>(inside.row_bytes()));
    for (std::int32_t i = 0; i < count; ++i) {
      inner_->read_rows(source.page, y + i, 1, row.data(), inside.row_bytes());
      join_row(inside, joined, row.data(), y + i, into + i * row_bytes);
    }
  }

  [[nodiscard]] std::optional<CodecMemory> memory_of(int page) const override {
    const Source& source = sources_[static_cast<std::size_t>(page)];
    std::optional<CodecMemory> memory = inner_->memory_of(source.page);
    if (!memory || source.mask < 0) return memory;
    const Page& mask = inner_->document().pages[static_cast<std::size_t>(source.mask)];
    const std::int64_t bytes = mask.row_bytes() * mask.height;
    return CodecMemory{memory->bytes + bytes, bytes > memory->bytes ? "the transparency mask" : memory->what};
  }

  void finish(int page) override { inner_->finish(sources_[static_cast<std::size_t>(page)].page); }

 private:
  void join_pages() {
    const std::vector<Page>& pages = inner_->document().pages;
    std::vector<int> places(pages.size(), -1);
    document_.pages.clear();
    for (std::size_t i = 0; i < pages.size(); ++i) {
      if (pages[i].kind == PageKind::mask) {
        add_mask(pages, static_cast<int>(i), places);
        continue;
      }
      places[i] = static_cast<int>(document_.pages.size());
      document_.pages.push_back(pages[i]);
      Page& page = document_.pages.back();
      if (page.parent >= 0) page.parent = places[static_cast<std::size_t>(page.parent)];
      sources_.push_back({static_cast<int>(i), -1});
    }
  }

  void add_mask(const std::vector<Page>& pages, int mask, const std::vector<int>& places) {
    const int parent = pages[static_cast<std::size_t>(mask)].parent;
    const int place = parent < 0 ? -1 : places[static_cast<std::size_t>(parent)];
    Page* page = place < 0 ? nullptr : &document_.pages[static_cast<std::size_t>(place)];
    const bool is_plain = pages[static_cast<std::size_t>(mask)].channels.size() == 1 &&
                          pages[static_cast<std::size_t>(mask)].channels.front().type == NumberType::u8;
    if (page == nullptr || page->alpha != AlphaKind::none || !is_plain) {
      return messages_.add("a transparency mask left out: the picture has alpha already, or the mask is of no known kind");
    }
    page->channels.push_back({"A", page->channels.front().type, ChannelRole::alpha});
    page->alpha = AlphaKind::unassociated;
    sources_[static_cast<std::size_t>(place)].mask = mask;
    messages_.add("the transparency mask becomes alpha");
  }

  void read_mask(int page) {
    const int index = sources_[static_cast<std::size_t>(page)].mask;
    const Page& mask = inner_->document().pages[static_cast<std::size_t>(index)];
    MemoryLimit(memory_bytes_).take(mask.row_bytes() * mask.height, "the transparency mask");
    mask_.resize(static_cast<std::size_t>(mask.row_bytes() * mask.height));
    inner_->read_rows(index, 0, mask.height, mask_.data(), mask.row_bytes());
    masked_page_ = page;
  }

  /// A mask may have more or fewer pixels than its picture: the nearest counts.
  void join_row(const Page& inside, const Page& joined, const std::uint8_t* row, std::int32_t y, std::uint8_t* into) const {
    const Page& mask = inner_->document().pages[static_cast<std::size_t>(sources_[static_cast<std::size_t>(masked_page_)].mask)];
    const std::uint8_t* visible = mask_.data() + std::int64_t{y} * mask.height / inside.height * mask.row_bytes();
    const NumberType type = joined.channels.back().type;
    const double unit = full_scale(type) / 255;
    const std::int64_t bytes = inside.pixel_bytes();
    for (std::int64_t x = 0; x < inside.width; ++x, row += bytes, into += joined.pixel_bytes()) {
      std::memcpy(into, row, static_cast<std::size_t>(bytes));
      const std::int64_t nearest = x * mask.width / inside.width;
      store_number(type, visible[nearest] * unit, into + bytes);
    }
  }

  std::unique_ptr<Reader> inner_;
  Document document_;
  mutable Messages messages_;  ///< with those of the reader inside, which come while pixels are read
  std::vector<Source> sources_;
  std::int64_t memory_bytes_;
  Bytes mask_;
  int masked_page_ = -1;
};

}  // namespace

std::unique_ptr<Reader> with_masks_as_alpha(std::unique_ptr<Reader> reader, FileFormat result, std::int64_t memory_bytes) {
  const Document& document = reader->document();
  const bool has_masks = std::ranges::any_of(document.pages, [](const Page& page) { return page.kind == PageKind::mask; });
  if (!has_masks || outcome(ItemKind::masks, document.format, result) == Outcome::kept) return reader;
  return std::make_unique<MaskedReader>(std::move(reader), memory_bytes);
}

}  // namespace mollify::files
