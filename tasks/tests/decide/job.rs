//! Jobs, in the shells that hosts have, with a systemd that runs a unit where it is asked for.

mod founded;
mod holder;
mod log;

use std::fs::{self, File};
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use kok_tasks::script::PRELUDE;

use crate::support::shell::{Folder, SHELLS, run};

/// Runs the command of the unit, then what is to come after it, as systemd does.
const SYSTEMD_RUN: &str = r#"#!/bin/sh
echo started >>"ROOT/starts"
while :; do
  case $1 in
    --property=ExecStopPost=*) after=${1#--property=ExecStopPost=};;
    --*) ;;
    *) break;;
  esac
  shift
done
echo "$*" >>"ROOT/argv"
"$@"
code=$?
[ ! -e "ROOT/works" ] || touch "ROOT/works-after"
export SERVICE_RESULT=x EXIT_CODE=exited EXIT_STATUS=$code
$after
exit $code
"#;

/// No unit is at work when somebody asks, but while a file has one more line for it.
const SYSTEMCTL: &str = r#"#!/bin/sh
[ "$1" = is-active ] || { echo "$*" >>"ROOT/systemctl"; exit 0; }
shift
code=3
for unit; do
  if [ -s "ROOT/active-$unit" ]; then sed -i 1d "ROOT/active-$unit"; echo active; code=0; else echo inactive; fi
done
exit $code
"#;

/// The unit of the job that these tests begin.
const UNIT: &str = "kokctl-job-name.service";

/// A host's folders under one of the test.
struct Host {
    folder: Folder,
    shell: &'static [&'static str],
}

impl Host {
    fn new(shell: &'static [&'static str]) -> Self {
        let host = Self { folder: Folder::new(), shell };
        for folder in ["run/kokctl/jobs", "var/lib/kokctl", "bin"] {
            fs::create_dir_all(host.folder.path(folder)).unwrap();
        }
        host.program("systemd-run", SYSTEMD_RUN);
        host.program("systemctl", SYSTEMCTL);
        host
    }

    /// A program that comes before one of the machine's.
    fn program(&self, name: &str, text: &str) {
        self.folder.program(&format!("bin/{name}"), &text.replace("ROOT", self.folder.root().to_str().unwrap()));
    }

    /// Runs a script on this host.
    fn sh(&self, script: &str) -> Output {
        let root = self.folder.root().to_str().unwrap();
        let script = format!("{PRELUDE}{script}").replace("/run/kokctl", &format!("{root}/run/kokctl"));
        let script = script.replace("/var/lib/kokctl", &format!("{root}/var/lib/kokctl")).replace("PATH=/", &format!("PATH={root}/bin:/"));
        let script = script.replace("/bin/sh", &self.shell.join(" "));
        run(self.shell, &[], &format!("PATH={root}/bin:$PATH\n{script}"))
    }

    /// Runs a job of one attempt.
    fn job(&self, attempt: u32, input: &str) -> (i32, String) {
        let script = format!("kokctl_run=r1 kokctl_step=a/b/c kokctl_attempt={attempt}\n( set -eu\nprintf '%s\\n' '{input}' | job name\n)");
        let output = self.sh(&script);
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn starts(&self) -> usize {
        fs::read_to_string(self.folder.path("starts")).map_or(0, |text| text.lines().count())
    }

    /// What was asked of systemd to stop, an order a line.
    fn stopped(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.folder.path("systemctl")).unwrap_or_default();
        asked.lines().filter_map(|line| line.strip_prefix("stop ")).map(str::to_owned).collect()
    }

    /// A unit is at work when it is asked for the next times.
    fn is_at_work(&self, unit: &str, times: usize) {
        fs::write(self.folder.path(&format!("active-{unit}")), "1\n".repeat(times)).unwrap();
    }

    /// What a job of this attempt has in the folder of jobs while it is at work.
    fn has_job(&self, name: &str, run: &str) {
        fs::create_dir_all(self.folder.path("run/kokctl/jobs")).unwrap();
        let file = |ending: &str, text: &str| fs::write(self.folder.path(&format!("run/kokctl/jobs/{name}.{ending}")), text).unwrap();
        file("about", &format!("attempt {run} a/b/c 1\ninput 00\nboot x\nstarted 1\n"));
        file("sh", "sleep 60\n");
    }

    /// Somebody has this lock until it is dropped.
    fn lock(&self, name: &str) -> File {
        let file = File::create(self.folder.path("run/kokctl").join(name)).unwrap();
        file.lock().unwrap();
        file
    }

    /// Waits until another script has made this line the holder's.
    fn is_held_by(&self, line: &str) {
        self.comes_to(line, || self.holder() == line);
    }

    /// Waits until a script asks for this lock, which it has open under this number.
    fn is_waited_for(&self, lock: &str, descriptor: &str) {
        let lock = self.folder.path("run/kokctl").join(lock);
        let is_it = |process: &fs::DirEntry| {
            let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let is_last = command.starts_with(b"flock\0") && command.ends_with(format!("\0{descriptor}\0").as_bytes());
            is_last && fs::read_link(process.path().join("fd").join(descriptor)).is_ok_and(|open| open == lock)
        };
        self.comes_to(descriptor, || fs::read_dir("/proc").unwrap().any(|process| process.is_ok_and(|process| is_it(&process))));
    }

    fn comes_to(&self, what: &str, condition: impl Fn() -> bool) {
        let began = Instant::now();
        while !condition() {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}: {what}; holder {}", self.shell, self.holder());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn in_jobs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path("run/kokctl/jobs")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn holder(&self) -> String {
        fs::read_to_string(self.folder.path("var/lib/kokctl/holder")).unwrap_or_default().trim().to_owned()
    }
}

fn hosts() -> impl Iterator<Item = Host> {
    SHELLS.into_iter().map(Host::new)
}

#[test]
fn a_job_leaves_one_record_and_nothing_of_its_input() {
    for host in hosts() {
        let sees = "stat -c %a \"$0\"; echo secret-input >&2";
        assert_eq!(host.job(1, &format!("{sees}; exit 7")), (7, "600\nsecret-input\n".to_owned()), "{:?}", host.shell);
        assert_eq!(host.in_jobs(), ["begin", "end", "name.record"]);
        let record = fs::read_to_string(host.folder.path("run/kokctl/jobs/name.record")).unwrap();
        assert!(record.starts_with("attempt r1 a/b/c 1\ninput "), "{record}");
        assert!(record.contains("\nexit exited 7\noutput\n600\nsecret-input\n"), "{record}");
        let argv = fs::read_to_string(host.folder.path("argv")).unwrap();
        assert!(!argv.contains("secret") && argv.lines().count() == 1, "{argv}");
    }
}

#[test]
fn a_job_that_this_attempt_has_done_is_read_and_not_done_again() {
    for host in hosts() {
        assert_eq!(host.job(1, "echo once"), (0, "once\n".to_owned()));
        assert_eq!(host.job(1, "echo once"), (0, "once\n".to_owned()));
        assert_eq!(host.starts(), 1, "{:?}", host.shell);
        assert_eq!(host.job(2, "echo again"), (0, "again\n".to_owned()));
        assert_eq!(host.starts(), 2, "{:?}", host.shell);
    }
}

#[test]
fn a_job_that_is_at_work_is_attached_to_if_it_is_the_same() {
    for host in hosts() {
        host.job(1, "echo result");
        host.is_at_work(UNIT, 2);
        assert_eq!(host.job(2, "echo result"), (0, "result\n".to_owned()));
        assert_eq!(host.starts(), 1, "{:?}: it was started beside itself", host.shell);
        host.is_at_work(UNIT, 2);
        assert_eq!(host.job(3, "echo another"), (0, "another\n".to_owned()));
        assert_eq!(host.starts(), 2, "{:?}", host.shell);
    }
}

/// One that an older kokctl began is found by its file, and waited for like any other.
#[test]
fn a_job_of_an_older_kokctl_is_at_work_too() {
    for host in hosts() {
        host.has_job("name", "r0");
        host.is_at_work("kokctl-name.service", 2);
        let waits = host.sh("jobs_end 0");
        assert!(!waits.status.success(), "{:?}: {waits:?}", host.shell);
        host.is_at_work("kokctl-name.service", 2);
        assert_eq!(host.job(1, "echo result"), (0, "result\n".to_owned()));
        assert_eq!(
            fs::read_to_string(host.folder.path("active-kokctl-name.service")).unwrap(),
            "",
            "{:?}: it was not waited for",
            host.shell
        );
        // What carries the network runs for ever.
        host.has_job("node-dns", "r0");
        host.is_at_work("kokctl-node-dns.service", 2);
        assert!(host.sh("jobs_end 0").status.success(), "{:?}", host.shell);
    }
}
