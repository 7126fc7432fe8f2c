//! Jobs and the holder's record, in the shells that hosts have, with a systemd that runs a unit where it is asked for.

mod log;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use kok_tasks::holder::{BUSY, HELD, begin_script, compare_script, release_script, take_script};
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
        let path = self.folder.path("bin").join(name);
        fs::write(&path, text.replace("ROOT", self.folder.root().to_str().unwrap())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
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
        let began = Instant::now();
        while self.holder() != line {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}: {}", self.shell, self.holder());
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

#[test]
fn only_the_holder_changes_a_host() {
    for host in hosts() {
        let (ours, theirs) = ("epoch=1 run=r1 by=a@b", "epoch=2 run=r2 by=c@d");
        let act = |line: &str| host.sh(&format!("{}echo acted", begin_script(line, "scripts")));
        assert_eq!(act(ours).status.code(), Some(HELD.try_into().unwrap()), "{:?}: nobody holds it yet", host.shell);
        assert!(host.sh(&take_script("", ours, false)).status.success());
        assert_eq!(String::from_utf8_lossy(&act(ours).stdout), "acted\n");
        // Who expects something else than what stands there gets nothing.
        let refused = host.sh(&take_script("", theirs, false));
        assert_eq!((refused.status.code(), host.holder().as_str()), (Some(HELD.try_into().unwrap()), ours));
        assert_eq!(String::from_utf8_lossy(&refused.stderr), format!("{ours}\n"));
        assert!(host.sh(&take_script(ours, theirs, true)).status.success());
        let fenced = act(ours);
        assert_eq!(
            (fenced.status.code(), String::from_utf8_lossy(&fenced.stderr).as_ref()),
            (Some(HELD.try_into().unwrap()), &*format!("{theirs}\n"))
        );
        // The first run lets go of what it does not hold any more: nothing happens.
        assert!(host.sh(&release_script(ours, 1)).status.success());
        assert_eq!(host.holder(), theirs);
    }
}

/// A disk that was full or a hand that slipped leaves what is no line of kokctl: it is compared as it was read.
#[test]
fn a_damaged_record_is_taken_over() {
    for host in hosts() {
        let ours = "epoch=8 run=r8 controller=c since=s by=a@b";
        for damaged in [&b"epoch=7 run=r7 contr\x01\xff\xc3oller=c since=s\n"[..], b"\xfe\xff", &[b'x'; 2000], b"epoch=7 run=r7"] {
            host.sh("mkdir -p /var/lib/kokctl; rm -f /run/kokctl/taken /run/kokctl/let-go");
            fs::write(host.folder.path("var/lib/kokctl/holder"), damaged).unwrap();
            let read = host.sh("held=; { read -r held </var/lib/kokctl/holder; } 2>/dev/null\nprintf '%s\\n' \"$held\"");
            let standing = kok_tasks::holder::Standing::parse(&String::from_utf8_lossy(&read.stdout));
            let taken = host.sh(&take_script(&standing.line, ours, true));
            assert!(taken.status.success(), "{standing:?}: {}", String::from_utf8_lossy(&taken.stderr));
            assert_eq!(host.holder(), ours);
        }
    }
}

#[test]
fn a_host_is_let_go_with_its_epoch_and_a_bare_one_without_a_trace() {
    for host in hosts() {
        let line = "epoch=7 run=r1 by=a@b";
        host.sh(&take_script("", line, false));
        host.job(1, "true");
        fs::write(host.folder.path("var/lib/kokctl/cluster"), "demo\n").unwrap();
        host.sh(&release_script(line, 7));
        assert_eq!(host.holder(), "epoch=7");
        assert!(!host.folder.path("run/kokctl/jobs").exists());
        fs::remove_file(host.folder.path("var/lib/kokctl/cluster")).unwrap();
        let line = "epoch=8 run=r2 by=a@b";
        assert!(host.sh(&take_script("epoch=7", line, false)).status.success());
        host.sh(&release_script(line, 8));
        assert!(!host.folder.path("var/lib/kokctl").exists(), "{:?}", host.shell);
    }
}

#[test]
fn a_run_that_loses_the_host_in_the_middle_of_a_script_stops_there() {
    for host in hosts() {
        let line = "epoch=1 run=r1 by=a@b";
        host.sh(&take_script("", line, false));
        let script = format!(
            "{}echo first\necho 'epoch=2 run=r2' >/var/lib/kokctl/holder\n{}echo second\n",
            begin_script(line, "scripts"),
            compare_script()
        );
        let output = host.sh(&script);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(HELD.try_into().unwrap()), &b"first\n"[..]));
    }
}

/// A run that is interrupted while it waits for what is left of an earlier one must not keep the host.
#[test]
fn a_host_is_let_go_while_its_take_waits() {
    let (line, other) = ("epoch=1 run=r1 by=a@b", "epoch=2 run=r2 by=c@d");
    for host in hosts() {
        let earlier = host.lock("lock");
        thread::scope(|scope| {
            let taking = scope.spawn(|| host.sh(&take_script("", line, false)));
            host.is_held_by(line);
            let began = Instant::now();
            assert!(host.sh(&release_script(line, 1)).status.success());
            assert!(began.elapsed() < Duration::from_secs(2) && host.holder().is_empty(), "{:?}: {:?}", host.shell, began.elapsed());
            // It does not come back, and does not keep the place from the next one.
            assert_eq!(taking.join().unwrap().status.code(), Some(HELD.try_into().unwrap()));
            assert!(host.holder().is_empty() && began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        });
        drop(earlier);
        assert!(host.sh(&take_script("", other, false)).status.success(), "{:?}", host.shell);
    }
}

/// Whoever lets go before its take has begun: what comes later does not take the host any more.
#[test]
fn a_take_that_comes_too_late_takes_nothing() {
    let line = "epoch=1 run=r1 by=a@b";
    for host in hosts() {
        for script in [release_script(line, 1), take_script("", line, false)] {
            host.sh(&script);
            assert!(host.holder().is_empty(), "{:?}: {}", host.shell, host.holder());
        }
        assert_eq!(host.sh(&take_script("", line, false)).status.code(), Some(HELD.try_into().unwrap()));
        let _other = host.lock("holder.lock");
        let busy = host.sh(&release_script(line, 1).replace("-w 20", "-w 0"));
        assert_eq!(busy.status.code(), Some(BUSY.try_into().unwrap()));
        assert_eq!(String::from_utf8_lossy(&busy.stderr), "its holder is being changed\n");
    }
}

/// A take whose link broke is sent again: of it and its copies one does it, and none touches what the run has begun since.
#[test]
fn a_copy_of_a_take_does_nothing() {
    let (theirs, ours) = ("epoch=1 run=r1 by=a@b", "epoch=2 run=r2 by=c@d");
    for host in hosts() {
        assert!(host.sh(&take_script("", theirs, false)).status.success());
        host.has_job("join", "r1");
        let earlier = host.lock("lock");
        let take = take_script(theirs, ours, true);
        thread::scope(|scope| {
            let takes = [0, 1].map(|_| scope.spawn(|| host.sh(&take)));
            host.is_held_by(ours);
            thread::sleep(Duration::from_millis(500));
            drop(earlier);
            let [first, second] = takes.map(|take| take.join().unwrap());
            assert!(first.status.success() && second.status.success(), "{first:?} {second:?}");
            assert_eq!(first.stdout, second.stdout, "both say the boot id");
        });
        assert_eq!(host.stopped().len(), 1, "{:?}: units of the run itself were stopped", host.shell);
        host.job(1, "true");
        let late = host.sh(&take);
        assert!(late.status.success() && !late.stdout.is_empty(), "{late:?}");
        assert_eq!((host.stopped().len(), host.in_jobs().contains(&"name.record".to_owned())), (1, true), "{:?}", host.shell);
    }
}

/// Units that carry a node's network have kokctl's name too; they go on, whoever takes the host over.
#[test]
fn only_jobs_of_the_run_that_is_taken_over_are_ended() {
    let (theirs, ours) = ("epoch=1 run=r1 by=a@b", "epoch=2 run=r2 by=c@d");
    for host in hosts() {
        assert!(host.sh(&take_script("", theirs, false)).status.success());
        for (name, run) in [("reset", "r1"), ("join", "r1"), ("dpkg", "r10"), ("addons", "r0")] {
            host.has_job(name, run);
        }
        assert!(host.sh(&take_script(theirs, ours, true)).status.success());
        // A kokctl from before jobs had names of their own calls them by the second name.
        let ended = "kokctl-job-join.service kokctl-join.service kokctl-job-reset.service kokctl-reset.service";
        assert_eq!(host.stopped(), [ended], "{:?}", host.shell);
        assert_eq!(host.holder(), ours);
    }
}

#[test]
fn where_nobody_else_held_the_host_no_job_is_ended() {
    let line = "epoch=2 run=r2 by=c@d";
    // Of a record that is none nobody knows whose jobs there are: they are waited for.
    for before in ["", "epoch=1", "garbage"] {
        for host in hosts() {
            fs::write(host.folder.path("var/lib/kokctl/holder"), before).unwrap();
            host.has_job("join", "r1");
            let taken = host.sh(&take_script(before, line, true));
            assert_eq!((taken.status.success(), host.stopped()), (true, Vec::new()), "{:?} {before:?}: {taken:?}", host.shell);
        }
    }
}

/// A name in the folder of jobs is never made a unit's that is none of a job.
#[test]
fn what_carries_the_network_is_never_taken_for_a_job() {
    let (theirs, ours) = ("epoch=1 run=r1 by=a@b", "epoch=2 run=r2 by=c@d");
    for host in hosts() {
        assert!(host.sh(&take_script("", theirs, false)).status.success());
        for name in ["node-dns", "pod-network", "*", "x y"] {
            host.has_job(name, "r1");
        }
        assert!(host.sh(&take_script(theirs, ours, true)).status.success());
        assert_eq!(host.stopped(), ["kokctl-job-node-dns.service kokctl-job-pod-network.service"], "{:?}", host.shell);
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

/// The lock of a lane keeps two scripts of it apart, whatever became of their connections.
#[test]
fn two_scripts_of_a_lane_are_never_beside_each_other() {
    for host in hosts() {
        let line = "epoch=1 run=r1 by=a@b";
        host.sh(&take_script("", line, false));
        let begin = begin_script(line, "scripts").replace("-w 120", "-w 0");
        let second = begin.replace("'", "'\\''");
        let shell = host.shell.join(" ");
        let prelude = PRELUDE.replace('\'', "'\\''");
        let output = host.sh(&format!("{begin}exec 8>&8\n{shell} -c '{prelude}{second}echo beside' 8>&-; echo \"status $?\""));
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("status {BUSY}\n"), "{}", String::from_utf8_lossy(&output.stderr));
        // Streams have a lane of their own.
        let other = begin_script(line, "streams").replace("-w 120", "-w 0").replace("'", "'\\''");
        let output = host.sh(&format!("{begin}{shell} -c '{prelude}{other}echo beside' 8>&-"));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "beside\n", "{}", String::from_utf8_lossy(&output.stderr));
    }
}
