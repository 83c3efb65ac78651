// Prints the tables of docs/files.md from the contract and the list of carriers, or compares them with the page.
//   mollify_contract_page            prints
//   mollify_contract_page --json     prints both for tests
//   mollify_contract_page PAGE       ends with 1 where the page has other tables
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "files/carriers.h"
#include "files/codec.h"
#include "files/contract.h"

using namespace mollify::files;

namespace {

std::string words(char letter) {
  switch (letter) {
    case 'K':
      return "kept";
    case 'C':
      return "converted";
    case 'D':
      return "dropped";
    case 'R':
      return "refused";
    default:
      return "absent";
  }
}

/// "kept" where all formats that have it agree, else each outcome with its formats.
std::string cell(std::string_view letters) {
  std::string text;
  for (const char letter : {'K', 'C', 'D', 'R'}) {
    std::string formats;
    std::size_t count = 0;
    for (int i = 0; i < kWrittenFormats; ++i) {
      if (letters[static_cast<std::size_t>(i)] != letter) continue;
      formats += (formats.empty() ? "" : ", ") + std::string(name_of(static_cast<FileFormat>(i)));
      ++count;
    }
    if (count == 0) continue;
    const bool is_all = std::ranges::all_of(letters, [&](char c) { return c == letter || c == '-'; });
    text += (text.empty() ? "" : "; ") + words(letter) + (is_all && count == kWrittenFormats ? "" : ": " + formats);
  }
  return text.empty() ? "absent" : text;
}

std::string table() {
  std::string text = "| what a file can hold | within a format | in a result of another format | how |\n| --- | --- | --- | --- |\n";
  int refused = 0;
  for (const ContractRow& row : contract()) {
    text += "| " + std::string(row.name) + " | " + cell(row.same) + " | " + cell(row.other) + " | " + std::string(row.how) + " |\n";
    refused += static_cast<int>(std::ranges::count(row.same, 'R') + std::ranges::count(row.other, 'R'));
  }
  return text + "\nRefused: " + std::to_string(refused) + " of " + std::to_string(2 * kWrittenFormats * kItemKinds) +
         " pairs of a thing and a result.\n";
}

/// "PNG, JPEG"
std::string formats_of(const Carrier& carrier) {
  std::string text;
  for (int i = 0; i < kWrittenFormats; ++i) {
    if (carrier.formats[static_cast<std::size_t>(i)] == 'X')
      text += (text.empty() ? "" : ", ") + std::string(name_of(static_cast<FileFormat>(i)));
  }
  return text;
}

std::string carrier_table() {
  std::string text = "| place | formats | what happens |\n| --- | --- | --- |\n";
  for (const Carrier& each : carriers())
    text += "| " + std::string(each.place) + " | " + formats_of(each) + " | " + std::string(each.outcome) + " |\n";
  return text;
}

std::string marked(const std::string& name, const std::string& text) {
  return "<!-- " + name + " -->\n" + text + "<!-- /" + name + " -->\n";
}

/// {"PNG": "kept", ...}
std::string json_of(std::string_view letters) {
  std::string text;
  for (int i = 0; i < kWrittenFormats; ++i) {
    const std::string outcome = words(letters[static_cast<std::size_t>(i)]);
    text += (i == 0 ? "{\"" : ", \"") + std::string(name_of(static_cast<FileFormat>(i))) + "\": \"" + outcome + "\"";
  }
  return text + "}";
}

std::string json() {
  std::string text;
  for (const ContractRow& row : contract()) {
    text += (text.empty() ? "{\"rows\": [" : ",\n ") + std::string("{\"name\": \"") + std::string(row.name) +
            "\", \"same\": " + json_of(row.same) + ", \"other\": " + json_of(row.other) + "}";
  }
  text += "],\n\"carriers\": [";
  for (const Carrier& each : carriers()) {
    text += (&each == carriers().data() ? "" : ",\n ") + std::string("{\"place\": \"") + std::string(each.place) + "\", \"formats\": \"" +
            formats_of(each) + "\"}";
  }
  return text + "]}\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--json") {
    std::fputs(json().c_str(), stdout);
    return 0;
  }
  const std::array tables = {marked("contract", table()), marked("carriers", carrier_table())};
  if (argc < 2) {
    for (const std::string& each : tables) std::fputs(each.c_str(), stdout);
    return 0;
  }
  std::ifstream file(argv[1]);
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (std::ranges::all_of(tables, [&](const std::string& each) { return page.find(each) != std::string::npos; })) return 0;
  std::fprintf(stderr, "%s has other tables than the code: put in what mollify_contract_page prints\n", argv[1]);
  return 1;
}
