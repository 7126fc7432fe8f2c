//! What a job prints: bounded while it is at work, and whole at its end however it ends.

use std::fs;
use std::time::{Duration, Instant};

use super::{Host, hosts};

/// More than the two files of a log hold.
const MUCH: &str = "yes a line of forty characters and no more | head -c 5000000; echo; echo last";

/// Waits until what was printed can be read.
const READ: &str =
    "looks=100; until tail -n 1 \"${0%.sh}.log\" | grep -qx last || [ $looks = 0 ]; do looks=$((looks - 1)); sleep 0.1; done";

fn record(host: &Host) -> String {
    fs::read_to_string(host.folder.path("run/kokctl/jobs/name.record")).unwrap()
}

#[test]
fn the_log_of_a_job_is_bounded_and_can_be_read_while_it_works() {
    for host in hosts() {
        let sizes = "wc -c <\"${0%.sh}.log\" >\"${0%.sh}.sizes\"; wc -c <\"${0%.sh}.log.1\" >>\"${0%.sh}.sizes\"";
        let (code, said) = host.job(1, &format!("echo first; {MUCH}; {READ}; {sizes}; echo looks $looks; exit 7"));
        assert_eq!(code, 7, "{:?}: {said}", host.shell);
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines.len() == 60 && lines[58] == "last" && lines[59].starts_with("looks ") && lines[59] != "looks 0", "{said}");
        let sizes = fs::read_to_string(host.folder.path("run/kokctl/jobs/name.sizes")).unwrap();
        let sizes: Vec<u64> = sizes.lines().map(|size| size.trim().parse().unwrap()).collect();
        assert!(sizes.iter().all(|size| (1..=1 << 20).contains(size)) && sizes[1] >= 2048, "{:?}: {sizes:?}", host.shell);
        assert!(record(&host).len() < 9000 && !record(&host).contains("first"), "{}", record(&host));
        assert_eq!(host.in_jobs(), ["begin", "end", "name.record", "name.sizes"]);
    }
}

#[test]
fn nothing_of_a_short_log_is_lost_at_the_border_of_its_files() {
    for host in hosts() {
        // One piece more than a file has, so that the second one is almost empty when the job ends.
        let (code, said) = host.job(1, "i=0; while [ $i -lt 2049 ]; do printf \"%0511d\\n\" $i; i=$((i + 1)); done");
        let numbers: Vec<&str> = said.lines().map(|line| line.trim_start_matches('0')).collect();
        assert_eq!((code, numbers.last(), numbers.first()), (0, Some(&"2048"), Some(&"2033")), "{:?}: {numbers:?}", host.shell);
    }
}

#[test]
fn a_job_that_is_ended_leaves_what_it_had_printed() {
    for host in hosts() {
        for (attempt, (end, code)) in (1..).zip([("kill -9 $$", 137), ("kill $$", 143), ("kill $PPID; sleep 5", 143)]) {
            let began = Instant::now();
            let (returned, said) = host.job(attempt, &format!("echo before; printf no-newline; {end}; echo after"));
            assert_eq!(returned, code, "{:?}: {end}: {said}", host.shell);
            // The shell may add that it was killed.
            assert!(said.starts_with("before\nno-newline") && !said.contains("after"), "{:?}: {end}: {said}", host.shell);
            assert!(began.elapsed() < Duration::from_secs(4), "{:?}: {end}: {:?}", host.shell, began.elapsed());
        }
    }
}

/// A process lets go of its locks before it has ended.
#[test]
fn whoever_keeps_the_log_ends_before_the_unit_does() {
    for host in hosts() {
        let late = "#!/bin/sh\n[ $# = 0 ] && [ -e ROOT/works ] || exec /bin/cat \"$@\"\nexec 5>&-\n/bin/cat\nsleep 0.2\nrm ROOT/works\n";
        host.program("cat", late);
        let (code, said) = host.job(1, "touch ROOT/works; echo said".replace("ROOT", host.folder.root().to_str().unwrap()).as_str());
        assert_eq!((code, said.as_str()), (0, "said\n"), "{:?}", host.shell);
        assert!(!host.folder.path("works-after").exists(), "{:?}: the unit's first process ended before its child", host.shell);
        assert!(!host.folder.path("works").exists(), "{:?}: nothing was late", host.shell);
    }
}

#[test]
fn what_a_job_leaves_behind_does_not_keep_it_at_work() {
    for host in hosts() {
        let began = Instant::now();
        assert_eq!(host.job(1, "sleep 5 & echo done"), (0, "done\n".to_owned()), "{:?}", host.shell);
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}: {:?}", host.shell, began.elapsed());
    }
}

/// What kubeadm and package managers make is for others to read, as where a person runs them.
#[test]
fn a_job_makes_files_as_anybody_would() {
    for host in hosts() {
        let (code, said) = host.job(1, "umask");
        assert_eq!((code, said.trim()), (0, "0022"), "{:?}", host.shell);
    }
}
