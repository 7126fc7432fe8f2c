//! A command of the user on a host, which ends with whoever has asked for it.

use crate::shell::quote;

/// For so many seconds a command that was told to end may tidy up; then it is killed.
pub const SECONDS_TO_END: u64 = 5;

/// The script that runs a command with these arguments, the first of which is the program; it ends with the status of the command. Each argument
/// arrives as it is: no shell reads them.
///
/// The command has nothing to read, and a session of its own. At the end of the script's standard input, be it that who asked wants it to end or
/// that the connection is gone, that session's processes get SIGTERM, and SIGKILL where that does not end them.
#[must_use]
pub fn script(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| quote(word)).collect();
    // In front, and not in the background: a shell has what it puts there ignore SIGINT. What the shell itself says of how it ended is not the command's.
    format!(
        "umask 022\n\
         exec 3<&0 5>&1 6>&2 </dev/null\n\
         {{\n\
         \x20 /bin/sh -c 'exec 2>&6; echo \"$$\" >&4; exec setsid -- \"$@\" 3<&- 4>&- 5>&- 6>&-' kokctl {command} >&5\n\
         \x20 echo \"$?\" >&4\n\
         }} 4>&1 2>/dev/null | {{\n\
         \x20 read -r group || exit 97\n\
         \x20 {{\n\
         \x20   while read -r line <&3; do :; done\n\
         \x20   trap '' TERM\n\
         \x20   kill -s TERM -- \"-$group\" || kill -s TERM \"$group\"\n\
         \x20   turn=0\n\
         \x20   while [ \"$turn\" -lt {turns} ] && kill -s 0 -- \"-$group\"; do sleep 0.1; turn=$((turn + 1)); done\n\
         \x20   kill -s KILL -- \"-$group\"\n\
         \x20 }} >/dev/null 2>&1 5>&- 6>&- &\n\
         \x20 watcher=$!\n\
         \x20 read -r status || status=97\n\
         \x20 kill \"$watcher\" 2>/dev/null\n\
         \x20 wait \"$watcher\" 2>/dev/null\n\
         \x20 exit \"$status\"\n\
         }}",
        command = words.join(" "),
        turns = SECONDS_TO_END * 10,
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::process::{Child, Command, Output, Stdio};
    use std::time::{Duration, Instant};

    use super::script;

    /// As a host runs it: by a shell that has read the script, with the way to whoever asks as its standard input. What runs these tests in the background
    /// may ignore SIGINT, and sshd does not.
    fn begun(shell: &str, command: &[&str]) -> Child {
        let text = script(&command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let mut child = Command::new("env");
        child.args(["--default-signal=INT", shell, "-c", &text]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        child.spawn().unwrap()
    }

    fn ended(shell: &str, command: &[&str]) -> Output {
        let mut child = begun(shell, command);
        // Open until the command has ended.
        let _open = child.stdin.take();
        child.wait_with_output().unwrap()
    }

    #[test]
    fn arguments_arrive_as_they_are_and_the_status_comes_back() {
        for shell in ["/bin/sh", "/bin/bash"] {
            let nasty = ["", "'", "a b", "$(id)", "`id`", "*", "-n", "a\nb", "~", "\\", ";exit 9", "\u{202e}"];
            let output = ended(shell, &[&["printf", "%s|"], nasty.as_slice()].concat());
            assert_eq!(String::from_utf8(output.stdout).unwrap(), nasty.map(|word| format!("{word}|")).concat(), "{shell}");
            assert_eq!(output.status.code(), Some(0));
            let output = ended(shell, &["sh", "-c", "echo out; echo err >&2; read -r line; echo \"$line\"; exit 37"]);
            assert_eq!((output.stdout, output.stderr, output.status.code()), (b"out\n\n".to_vec(), b"err\n".to_vec(), Some(37)), "{shell}");
            assert_eq!(ended(shell, &["/nowhere/program"]).status.code(), Some(127), "{shell}");
            assert_eq!(ended(shell, &["-v"]).status.code(), Some(127), "{shell}");
            assert_eq!(ended(shell, &["sh", "-c", "kill -s INT $$"]).status.code(), Some(130), "{shell}: it need not ignore SIGINT");
        }
    }

    #[test]
    fn a_command_ends_with_whoever_has_asked_for_it() {
        for shell in ["/bin/sh", "/bin/bash"] {
            let began = Instant::now();
            let mut child = begun(shell, &["sh", "-c", "trap 'echo told to end; exit 3' TERM; sleep 300 & echo ready; wait; echo never"]);
            let mut said = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n");
            drop(child.stdin.take());
            let mut rest = String::new();
            // All of its processes have its standard output: the end of that is their end.
            said.read_to_string(&mut rest).unwrap();
            assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("told to end\n", Some(3)), "{shell}");
            assert!(began.elapsed() < Duration::from_secs(60), "{shell}");
        }
    }

    #[test]
    fn what_does_not_listen_is_killed() {
        let mut child = begun("/bin/sh", &["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"]);
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut String::new()).unwrap();
        // What is sent is no end.
        child.stdin.as_mut().unwrap().write_all(b"a line\n").unwrap();
        drop(child.stdin.take());
        assert_eq!(said.read_to_end(&mut Vec::new()).unwrap(), 0);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(137), Vec::new()), "what a shell says of it is not the command's");
    }
}
