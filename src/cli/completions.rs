//! `kokctl completions`

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::ui::line;

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
    let script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Bash { script + BASH } else { script }
}

/// Where no letter is typed yet, clap's function offers options, and bash types what all of them begin with, `-`. An option begins with one
/// that the user types; without it words and files are meant.
const BASH: &str = r#"
_kokctl_words() {
    _kokctl "$@"
    if [[ -z "${COMP_WORDS[COMP_CWORD]}" ]]; then
        local word words=()
        for word in "${COMPREPLY[@]}"; do
            [[ "${word}" == -* || "${word}" == \[* ]] || words+=("${word}")
        done
        COMPREPLY=("${words[@]}")
    fi
}
complete -F _kokctl_words -o bashdefault -o default kokctl
"#;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::process::Command;

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

    #[test]
    fn bash_offers_options_to_those_who_begin_one() {
        let mut command = Cli::command();
        let script = script(Shell::Bash, &mut command);
        let offered = |words: &str, number: u32| {
            let ask = format!(
                "{script}\nCOMP_WORDS=({words}); COMP_CWORD={number}; name=$(complete -p kokctl); name=${{name#*-F }}; name=${{name%% *}}; \
                 \"$name\" kokctl \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            );
            // An argument may not be as long as the script is.
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), ask).unwrap();
            let output = Command::new("bash").arg("--norc").arg(file.path()).output().unwrap();
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(offered("kokctl apply ''", 2), "\n", "files are left to bash");
        assert!(offered("kokctl apply --", 2).contains("--dry-run") || offered("kokctl apply --", 2).contains("--file"));
        let verbs = offered("kokctl ''", 1);
        assert!(verbs.contains("apply\n") && verbs.lines().all(|verb| !verb.starts_with('-')), "{verbs}");
        assert!(offered("kokctl known-hosts ''", 2).contains("scan\n"));
    }
}
