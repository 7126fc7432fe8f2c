//! The holder's record: who may change a host.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use kok_tasks::holder::{BUSY, HELD, RECORD_SECONDS, Standing, WAIT_SECONDS, begin_script, compare_script, release_script, take_script};
use kok_tasks::script::PRELUDE;

use super::hosts;

#[test]
fn only_the_holder_changes_a_host() {
    for host in hosts() {
        let (ours, theirs) = ("epoch=1 run=r1 by=a@b", "epoch=2 run=r2 by=c@d");
        let act = |line: &str| host.sh(&format!("{}echo acted", begin_script(line, "scripts", WAIT_SECONDS)));
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
        assert!(host.sh(&release_script(ours, "epoch=1", RECORD_SECONDS)).status.success());
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
            let standing = Standing::parse(&String::from_utf8_lossy(&read.stdout));
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
        host.sh(&release_script(line, "epoch=7", RECORD_SECONDS));
        assert_eq!(host.holder(), "epoch=7");
        assert!(!host.folder.path("run/kokctl/jobs").exists());
        // Who has nothing to do takes nothing, and says all the same who keeps the host.
        host.sh(&release_script("epoch=7", "epoch=7 manager=c1 by=berlin@kok", RECORD_SECONDS));
        assert_eq!(host.holder(), "epoch=7 manager=c1 by=berlin@kok");
        host.sh(&release_script("epoch=6", "epoch=6", RECORD_SECONDS));
        assert_eq!(host.holder(), "epoch=7 manager=c1 by=berlin@kok", "of another line nothing is left");
        host.sh(&release_script("epoch=7 manager=c1 by=berlin@kok", "epoch=7", RECORD_SECONDS));
        fs::remove_file(host.folder.path("var/lib/kokctl/cluster")).unwrap();
        let line = "epoch=8 run=r2 by=a@b";
        assert!(host.sh(&take_script("epoch=7", line, false)).status.success());
        host.sh(&release_script(line, "epoch=8", RECORD_SECONDS));
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
            begin_script(line, "scripts", WAIT_SECONDS),
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
            assert!(host.sh(&release_script(line, "epoch=1", RECORD_SECONDS)).status.success());
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
        for script in [release_script(line, "epoch=1", RECORD_SECONDS), take_script("", line, false)] {
            host.sh(&script);
            assert!(host.holder().is_empty(), "{:?}: {}", host.shell, host.holder());
        }
        assert_eq!(host.sh(&take_script("", line, false)).status.code(), Some(HELD.try_into().unwrap()));
        let _other = host.lock("holder.lock");
        let busy = host.sh(&release_script(line, "epoch=1", 0));
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
            // Until the one waits for what is left of the earlier run, and the other for the one.
            host.is_waited_for("lock", "9");
            host.is_waited_for("take.lock", "6");
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

/// The lock of a lane keeps two scripts of it apart, whatever became of their connections.
#[test]
fn two_scripts_of_a_lane_are_never_beside_each_other() {
    for host in hosts() {
        let line = "epoch=1 run=r1 by=a@b";
        host.sh(&take_script("", line, false));
        let begin = begin_script(line, "scripts", 0);
        let second = begin.replace("'", "'\\''");
        let shell = host.shell.join(" ");
        let prelude = PRELUDE.replace('\'', "'\\''");
        let output = host.sh(&format!("{begin}exec 8>&8\n{shell} -c '{prelude}{second}echo beside' 8>&-; echo \"status $?\""));
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("status {BUSY}\n"), "{}", String::from_utf8_lossy(&output.stderr));
        // Streams have a lane of their own.
        let other = begin_script(line, "streams", 0).replace('\'', "'\\''");
        let output = host.sh(&format!("{begin}{shell} -c '{prelude}{other}echo beside' 8>&-"));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "beside\n", "{}", String::from_utf8_lossy(&output.stderr));
    }
}
