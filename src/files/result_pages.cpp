#include "files/result_pages.h"

#include <algorithm>

namespace mollify::files {
namespace {

struct ManyRow {
  PageKind page;
  ItemKind item;
  const char* name;
};
constexpr std::array kMany = {
    ManyRow{PageKind::page, ItemKind::pages, "pages"},
    ManyRow{PageKind::frame, ItemKind::frames, "frames"},
    ManyRow{PageKind::plane, ItemKind::planes, "planes"},
    ManyRow{PageKind::part, ItemKind::parts, "parts"},
};

/// Of smaller copies and masks there is one for a picture, which they follow.
bool is_picture(const Page& page) {
  return page.kind != PageKind::level && page.kind != PageKind::mask;
}
bool has_colours(const Page& page) {
  return std::ranges::any_of(page.channels, [](const Channel& each) { return each.role == ChannelRole::colour; });
}

class PageChooser {
 public:
  PageChooser(const Document& source, const ResultRequest& request, const Accounts& accounts, Messages& messages)
      : source_(source), request_(request), accounts_(accounts), messages_(messages) {
    for (std::size_t i = 0; i < source.pages.size(); ++i) {
      if (is_picture(source.pages[i])) pictures_.push_back(i);
    }
    if (pictures_.empty()) throw FileError("holds no picture");
  }

  PageChoice choose() {
    choice_.stays.assign(source_.pages.size(), true);
    if (request_.page) {
      choose_asked(*request_.page);
    } else {
      choose_by_contract();
    }
    drop_levels();
    for (std::size_t i = 0; i < source_.pages.size(); ++i) {  // what belongs to a picture goes with it
      const int parent = source_.pages[i].parent;
      if (!is_picture(source_.pages[i]) && parent >= 0 && !choice_.stays[static_cast<std::size_t>(parent)]) choice_.stays[i] = false;
    }
    return std::move(choice_);
  }

 private:
  [[nodiscard]] std::size_t count(PageKind kind) const {
    return static_cast<std::size_t>(std::ranges::count(source_.pages, kind, &Page::kind));
  }

  void choose_one(std::size_t picture) {
    choice_.is_one_of_many = pictures_.size() > 1;
    for (const std::size_t each : pictures_) choice_.stays[each] = each == picture;
    if (picture != pictures_.front()) account_for_first(source_.pages[picture]);
  }

  /// The first page often says what holds for the whole file: who made it, and when.
  void account_for_first(const Page& chosen) const {
    const auto is_alike = [](const Item& one, const Item& other) { return one.kind == other.kind && one.name == other.name; };
    std::vector<std::string> names;
    for (const Item& item : source_.pages[pictures_.front()].items) {
      const bool has_its_own = std::ranges::any_of(chosen.items, [&](const Item& each) { return is_alike(each, item); });
      if (!has_its_own) names.push_back(item.name.empty() ? name_of(item) : item.name);
    }
    if (!names.empty()) messages_.add("left out with page 1: " + listed(names));
  }

  void choose_asked(int page) {
    if (page < 1 || static_cast<std::size_t>(page) > pictures_.size()) {
      throw FileError("has " + std::to_string(pictures_.size()) + (pictures_.size() == 1 ? " page" : " pages") + ", and no page " +
                      std::to_string(page) + " as --page asks for");
    }
    choose_one(pictures_[static_cast<std::size_t>(page) - 1]);
  }

  void choose_by_contract() {
    const bool is_animation = count(PageKind::frame) > 0;
    for (const ManyRow& row : kMany) {
      if (count(row.page) > (is_animation ? 0 : 1) && pictures_.size() > 1 && accounts_.outcome_of(row.item) == Outcome::dropped) {
        return choose_first(row);
      }
    }
    for (const ManyRow& row : kMany) {
      if (count(row.page) > 1) accounts_.account(row.item, std::to_string(count(row.page)));
    }
    if (!is_animation || request_.format == FileFormat::png) return;
    for (const std::size_t each : pictures_) {
      if (source_.pages[each].kind != PageKind::page) continue;
      choice_.stays[each] = false;
      messages_.add("the picture that stands for the animation left out: only PNG has one");
    }
  }

  /// The first with colours: files with a depth map in a part of its own have a picture, too.
  void choose_first(const ManyRow& row) {
    const auto with_colours = std::ranges::find_if(pictures_, [this](std::size_t each) { return has_colours(source_.pages[each]); });
    const auto chosen = with_colours == pictures_.end() ? pictures_.begin() : with_colours;
    choose_one(*chosen);
    messages_.add("of " + std::to_string(pictures_.size()) + " " + row.name + " number " + std::to_string(chosen - pictures_.begin() + 1) +
                  " is the result, since " + std::string(name_of(request_.format)) + " files hold one picture; --page N takes another");
  }

  void drop_levels() {
    if (count(PageKind::level) == 0) return;
    const bool stays = accounts_.outcome_of(ItemKind::levels) == Outcome::kept && !request_.region;
    if (accounts_.outcome_of(ItemKind::levels) == Outcome::dropped) {
      accounts_.account(ItemKind::levels, std::to_string(count(PageKind::level)));
    } else if (request_.region) {
      messages_.add("smaller copies of the picture left out: --roi cannot be cut out of them");
    }
    for (std::size_t i = 0; i < source_.pages.size(); ++i) {
      if (source_.pages[i].kind == PageKind::level) choice_.stays[i] = stays;
    }
  }

  const Document& source_;
  const ResultRequest& request_;
  const Accounts& accounts_;
  Messages& messages_;
  std::vector<std::size_t> pictures_;  ///< indices of the source's pages
  PageChoice choice_;
};

}  // namespace

PageChoice choose_pages(const Document& source, const ResultRequest& request, const Accounts& accounts, Messages& messages) {
  return PageChooser(source, request, accounts, messages).choose();
}

std::string page_text(const Document& source, int index) {
  const auto end = source.pages.begin() + index + 1;
  if (std::count_if(source.pages.begin(), source.pages.end(), is_picture) < 2) return "";
  return " of page " + std::to_string(std::count_if(source.pages.begin(), end, is_picture)) + "; --page N takes another alone";
}

}  // namespace mollify::files
