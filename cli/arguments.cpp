#include "arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "failure.h"
#include "parse.h"

namespace mollify::cli {
namespace {

// CLI11 reports some mistakes over several lines; the tool promises one.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// "plan, list and lab"
std::string names_of_commands(const CLI::App& app) {
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::string names;
  for (const CLI::App* command : commands) {
    if (!names.empty()) names += command == commands.back() ? " and " : ", ";
    names += command->get_name();
  }
  return names;
}

// The command that was named last: "lab run" of "mollify lab run --fast".
const CLI::App& last_named(const CLI::App& app) {
  const std::vector<CLI::App*> named = app.get_subcommands();
  return named.empty() ? app : last_named(*named.back());
}

std::string path_of(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name() : path_of(*command.get_parent()) + " " + command.get_name();
}

std::string explained(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App& command = last_named(app);
  std::string what = first_line(error.what());
  const std::string commands = names_of_commands(command);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !commands.empty()) {
    what = fmt::format("{} needs one of {}", command.get_name(), commands);  // CLI11 names none of them
  }
  return fmt::format("{} (see '{} --help')", what, path_of(command));
}

}  // namespace

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::in_range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Command Command::add_command(const std::string& name, const std::string& summary) {
  return Command(app_->add_subcommand(name, summary));
}

void Command::require_command() {
  app_->require_subcommand(1);
}

template <class T>
Option Command::add_option(const std::string& names, T& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<int>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help));
}

void Command::set_footer(const std::string& text) {
  app_->footer(text);
}

void Command::on_run(std::function<void()> action) {
  app_->callback(std::move(action));
}

bool Command::is_given(const std::string& option) const {
  return app_->count(option) > 0;
}

std::vector<GivenOption> Command::given_options() const {
  std::vector<GivenOption> given;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    if (option->count() > 0) given.push_back({option->get_single_name(), option->results()});
  }
  return given;
}

CommandLine::CommandLine(const std::string& name, const std::string& summary, const std::string& version)
    : Command(nullptr), owned_(std::make_unique<CLI::App>(summary, name)) {
  constexpr std::size_t kColumnWidth = 34;
  app_ = owned_.get();
  app_->set_version_flag("--version", version);
  app_->get_formatter()->column_width(kColumnWidth);
  require_command();
}

CommandLine::~CommandLine() = default;

void CommandLine::run(int argc, char** argv) {
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app_->get_subcommands(is_named).empty()) {
    fail_usage(fmt::format("{} is not a command; there are {}", in_quotes(argv[1]), names_of_commands(*app_)));
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help and --version arrive as exceptions
    app_->exit(request);
  } catch (const CLI::ParseError& error) {
    fail_usage(explained(error, *app_));
  }
}

}  // namespace mollify::cli
