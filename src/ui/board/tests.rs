use super::*;

fn event(milliseconds: u64, kind: EventKind) -> Event {
    Event { sequence: 0, milliseconds, kind }
}

fn planned(step: &str, lane: Lane, needs: &[&str]) -> EventKind {
    let host = step.split('/').next().unwrap_or_default().to_owned();
    let text = || "x".to_owned();
    let needs = needs.iter().map(|need| (*need).to_owned()).collect();
    EventKind::StepPlanned { step: step.to_owned(), host, task: text(), title: text(), summary: text(), lane, needs }
}

fn started(step: &str, title: &str) -> EventKind {
    let host = step.split('/').next().unwrap_or_default().to_owned();
    EventKind::StepStarted { step: step.to_owned(), host, title: title.to_owned(), summary: String::new() }
}

fn done(step: &str) -> EventKind {
    let host = step.split('/').next().unwrap_or_default().to_owned();
    EventKind::StepDone { step: step.to_owned(), host, took_milliseconds: 0 }
}

fn failed(step: &str) -> EventKind {
    let host = step.split('/').next().unwrap_or_default().to_owned();
    EventKind::StepFailed { step: step.to_owned(), host, error: "no".to_owned(), unknown: false }
}

fn board(kinds: impl IntoIterator<Item = EventKind>) -> Board {
    let mut board = Board::default();
    kinds.into_iter().for_each(|kind| board.take(&event(1000, kind)));
    board
}

#[test]
fn a_host_shows_what_it_does_and_for_how_long() {
    let stream = "a/images/etcd".to_owned();
    let told = board([
        planned("a/images/etcd", Lane::Stream, &[]),
        planned("a/ready", Lane::Wait, &[]),
        planned("a/claim", Lane::Script, &[]),
        started("a/claim", "claim"),
        done("a/claim"),
        started("a/ready", "API server"),
        EventKind::StepWaiting { step: "a/ready".to_owned(), host: "a".to_owned(), because: "refused\nmore".to_owned(), last_words: None },
        started("a/images/etcd", "image etcd"),
        EventKind::StepProgress { step: stream.clone(), bytes: 8_000_000, total: 24_000_000 },
    ]);
    assert_eq!(told.rows(3500, 9), ["a      1/3   2.5 s  image etcd: 8 of 24 MB (+1)"]);
    let mut told = told;
    told.take(&event(4000, done(&stream)));
    assert_eq!(told.rows(5000, 9), ["a      2/3   4.0 s  waits for API server: refused"]);
}

#[test]
fn a_host_on_which_nothing_runs_says_what_it_waits_for() {
    let told = board([
        planned("a/token", Lane::Script, &[]),
        planned("b/join", Lane::Script, &["a/token", "b/claim"]),
        planned("b/claim", Lane::Script, &[]),
        started("b/claim", "claim"),
        done("b/claim"),
        started("a/token", "token"),
    ]);
    assert_eq!(told.rows(1000, 9), ["a      0/1   0.0 s  token", "b      1/2  waits for a/token"]);
}

#[test]
fn of_many_hosts_those_that_matter_are_shown_and_the_others_counted() {
    let host = |number: usize| format!("h{number:03}/step");
    let mut kinds: Vec<EventKind> = (0..100).map(|number| planned(&host(number), Lane::Script, &[])).collect();
    kinds.extend((0..50).map(|number| started(&host(number), "step")));
    kinds.extend((0..47).map(|number| done(&host(number))));
    kinds.push(failed(&host(47)));
    let told = board(kinds);
    let rows = told.rows(1000, 6);
    let names: Vec<&str> = rows.iter().filter_map(|row| row.split(' ').next()).collect();
    // What is at work first, then what has yet to begin.
    assert_eq!(names, ["h048", "h049", "h050", "h051", "h052", "and"]);
    assert_eq!(rows.last().map(String::as_str), Some("and 95 more hosts"));
    assert!(
        told.summary(1000).ends_with("47 of 100 changes  hosts: 2 at work, 50 waiting, 48 done  1 with failures"),
        "{}",
        told.summary(1000)
    );
}

#[test]
fn escapes_of_hosts_are_shown_and_not_obeyed() {
    let told = board([planned("a/x", Lane::Script, &[]), started("a/x", "\u{1b}[2Jgone")]);
    assert_eq!(told.rows(1000, 9), ["a      0/1   0.0 s  \u{fffd}[2Jgone"]);
}

#[test]
fn hosts_that_say_nothing_are_named_when_few_are_left() {
    let hosts: Vec<String> = (1..=8).map(|number| format!("w{number}")).collect();
    let probed = |host: &String| EventKind::HostProbed { host: host.clone(), connect_milliseconds: 1, probe_milliseconds: 1 };
    let mut told = board([EventKind::HostsAwaited { hosts: hosts.clone() }]);
    assert!(told.summary(1000).ends_with("0 of 8 hosts probed"), "{}", told.summary(1000));
    hosts.iter().skip(2).for_each(|host| told.take(&event(1000, probed(host))));
    assert!(told.summary(1000).ends_with("6 of 8 hosts probed  waiting for w1, w2"), "{}", told.summary(1000));
}

#[test]
fn what_takes_long_is_said_when_the_time_has_doubled() {
    let mut told = Board::default();
    let kinds = [
        planned("a/claim", Lane::Script, &[]),
        planned("a/begin", Lane::Script, &[]),
        planned("a/ready", Lane::Wait, &[]),
        planned("b/packages", Lane::Script, &[]),
        planned("c/packages", Lane::Script, &[]),
        started("a/claim", "claim"),
        started("a/begin", "begin"),
        started("a/ready", "API server"),
        EventKind::StepWaiting {
            step: "a/ready".to_owned(),
            host: "a".to_owned(),
            because: "refused\nmore".to_owned(),
            last_words: Some("etcd said last: odd".to_owned()),
        },
        started("b/packages", "packages"),
        started("c/packages", "packages"),
    ];
    for (sequence, kind) in (0..).zip(kinds) {
        told.take(&Event { sequence, milliseconds: 1000, kind });
    }
    assert_eq!(told.overdue(30_999), Vec::<String>::new());
    let lines = [
        "a: 2 changes, from claim to begin: still at work after 30.0 s",
        "a: API server: still waits after 30.0 s: refused; etcd said last: odd",
        "b, c: packages: still at work after 30.0 s",
    ];
    assert_eq!(told.overdue(31_000), lines);
    assert_eq!(told.overdue(60_999), Vec::<String>::new(), "it was said half a minute ago");
    ["a/claim", "a/begin", "b/packages"].iter().for_each(|step| told.take(&event(60_000, done(step))));
    assert_eq!(
        told.overdue(61_000),
        ["a: API server: still waits after 1 min 00 s: refused; etcd said last: odd", "c: packages: still at work after 1 min 00 s"]
    );
    assert_eq!(told.overdue(700_000).len(), 2);
    assert_eq!(told.overdue(960_000), Vec::<String>::new(), "what was missed is not made up for");
    assert_eq!(told.overdue(961_000).len(), 2);
}
