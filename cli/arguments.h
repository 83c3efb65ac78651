// Commands and their options. arguments.cpp is the only file that knows the library that reads the command line, because its header alone
// takes seconds to compile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mollify::cli {

/// An option or a flag of a command. It refers to the command's own; copies refer to the same.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// What the help calls the value: "WxH".
  Option& type_name(const std::string& name);
  /// The heading that the help lists it under; empty hides it.
  Option& group(const std::string& heading);
  /// The help tells the value that the variable has now.
  Option& show_default();
  Option& required();
  /// Takes one value each time that it is given, so that positional arguments may follow.
  Option& one_value_each();
  /// Other values are wrong usage.
  Option& in_range(int least, int most);
  Option& one_of(const std::vector<std::string>& values);
  /// Both together are wrong usage.
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

/// An option as the user gave it.
struct GivenOption {
  std::string name;  ///< without dashes
  std::vector<std::string> values;
};

/// The tool or one of its commands. It refers to the command line's own; copies refer to the same.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command add_command(const std::string& name, const std::string& summary);
  /// One of its commands must be named.
  void require_command();
  /// A name without dashes is a positional argument. The variable must outlive the command line; it may be a std::string, int or double,
  /// a std::optional of these, or a std::vector of strings.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& help = {});
  Option add_flag(const std::string& names, bool& value, const std::string& help);
  /// The last lines of its help. Commands that are added later begin with the same.
  void set_footer(const std::string& text);
  /// What the command does once all options are read.
  void on_run(std::function<void()> action);

  [[nodiscard]] bool is_given(const std::string& option) const;
  [[nodiscard]] std::vector<GivenOption> given_options() const;

 protected:
  CLI::App* app_;
};

/// The tool as a whole. It owns all commands.
class CommandLine : public Command {
 public:
  CommandLine(const std::string& name, const std::string& summary, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Runs the command that the arguments name, or prints the help or the version that they ask for. Throws Failure for wrong usage, and
  /// whatever the command throws.
  void run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> owned_;
};

}  // namespace mollify::cli
