//! Time, processor time and memory of one program.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::Bench;

/// What a program cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) milliseconds: f64,
    /// User and system together.
    pub(super) processor_milliseconds: f64,
    /// The most memory that it had at once.
    pub(super) peak_kilobytes: u64,
}

/// The shell's own `time` counts what its children used, to the millisecond, and says it on the third stream.
const TIMED: &str = r#"TIMEFORMAT='%3R %3U %3S'; out=$1 err=$2; shift 2
time { "$@" >"$out" 2>"$err" </dev/null & echo $!; wait $! || echo "failed $?"; }"#;
/// Seldom enough not to be felt. The peak is a mark that stays, so only what comes after the last look is missed.
const LOOK: Duration = Duration::from_millis(5);

/// Runs a program in the lab's network to its end; it has to succeed.
pub(super) fn measure(bench: &Bench<'_>, program: &str, arguments: &[&str]) -> Result<Cost, Box<dyn Error>> {
    measure_by(bench.lab.command("bash")?, bench.folder.path(), program, arguments)
}

/// The same by a bash that is somewhere; `out` and `err` of the folder have what the program says.
pub(super) fn measure_by(mut command: Command, folder: &Path, program: &str, arguments: &[&str]) -> Result<Cost, Box<dyn Error>> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    command.args(["-c", TIMED, "bash"]).arg(&out).arg(&err).arg(program).args(arguments);
    command.env("XDG_STATE_HOME", folder.join("state")).env_remove("SSH_AUTH_SOCK").env("LC_ALL", "C");
    let mut shell = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut output = BufReader::new(shell.stdout.take().ok_or("no output")?);
    let mut pid = String::new();
    output.read_line(&mut pid)?;
    let peak_kilobytes = watch(pid.trim());
    let mut rest = String::new();
    output.read_to_string(&mut rest)?;
    let mut times = String::new();
    shell.stderr.take().ok_or("no times")?.read_to_string(&mut times)?;
    shell.wait()?;
    if rest.contains("failed") {
        let (out, said) = (fs::read_to_string(out)?, fs::read_to_string(err)?);
        return Err(format!("{program} {}: {}{out}{said}", arguments.join(" "), rest.trim()).into());
    }
    let seconds: Vec<f64> = times.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [real, user, system] = seconds[..] else { return Err(format!("bash said {times:?}").into()) };
    Ok(Cost { milliseconds: real * 1e3, processor_milliseconds: (user + system) * 1e3, peak_kilobytes })
}

/// The program's mark of most memory, until it has ended.
fn watch(pid: &str) -> u64 {
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        // One that has ended has no memory any more.
        let Some(mark) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) else { return peak };
        peak = mark.trim().trim_end_matches(" kB").parse().unwrap_or(peak).max(peak);
        thread::sleep(LOOK);
    }
}
