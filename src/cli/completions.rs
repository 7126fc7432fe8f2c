//! `kokctl completions`

use clap::{Args, Command};
use clap_complete::Shell;

use crate::ui::{Failure, line};

/// Print what lets a shell complete the words of this program
///
/// For bash: `kokctl completions bash > ~/.local/share/bash-completion/completions/kokctl`. For zsh: `kokctl completions zsh > FOLDER/_kokctl`
/// with a FOLDER of $fpath. For fish: `kokctl completions fish > ~/.config/fish/completions/kokctl.fish`.
#[derive(Debug, Args)]
#[command(visible_alias = "completion")]
pub(super) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, mut command: Command) -> Result<(), Vec<Failure>> {
    line(script(arguments.shell, &mut command).trim_end());
    Ok(())
}

fn script(shell: Shell, command: &mut Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "kokctl", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap_complete::Shell;

    use super::script;
    use crate::cli::Cli;

    #[test]
    fn every_verb_and_option_can_be_completed() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut command = Cli::command();
            let script = script(shell, &mut command);
            for verb in command.get_subcommands() {
                assert!(script.contains(verb.get_name()), "{shell}: {}", verb.get_name());
                let options = verb.get_arguments().filter_map(clap::Arg::get_long);
                options.for_each(|option| assert!(script.contains(option), "{shell}: {option}"));
            }
        }
    }
}
