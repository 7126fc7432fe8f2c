#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use super::*;

fn holder(run: &str, controller: &str) -> Holder {
    Holder { run: run.into(), controller: controller.into(), since: "2026-01-02T03:04:05Z".into(), by: "alice@jump1".into() }
}

fn standing(entries: &[(&str, String)]) -> BTreeMap<String, Standing> {
    entries.iter().map(|(host, line)| ((*host).to_owned(), Standing::parse(line))).collect()
}

#[test]
fn a_line_is_read_as_it_was_written() {
    let line = holder("r1", "c1").line(7);
    let read = Standing::parse(&format!("{line}\n"));
    assert_eq!(read, Standing { epoch: 7, holder: Some(holder("r1", "c1")), manager: None, line });
}

#[test]
fn nothing_in_a_name_ends_a_field_or_a_line() {
    let odd = Holder { by: "a b=c\nrun=x@h'\u{1b}".into(), ..holder("r1", "c1") };
    let line = odd.line(1);
    assert_eq!(line.lines().count(), 1);
    let read = Standing::parse(&line).holder.unwrap();
    assert_eq!((read.run.as_str(), read.by.as_str()), ("r1", "a_b=c_run=x@h'_"));
}

#[test]
fn who_let_go_holds_nothing_and_leaves_the_epoch() {
    assert_eq!(Standing::parse("epoch=7\n"), Standing { epoch: 7, line: "epoch=7".into(), ..Standing::default() });
    assert_eq!(Standing::parse(""), Standing::default());
}

#[test]
fn what_is_no_record_is_held_by_nobody_knows_whom() {
    for text in ["garbage", "epoch=x run=r", "\u{0}\u{1}run=", "epoch=99999999999999999999"] {
        let found = standing(&[("a", text.to_owned())]);
        assert!(found["a"].holder.is_some(), "{text:?}");
        assert!(next_epoch(&found, "c1", false).is_err(), "{text:?}");
        assert!(next_epoch(&found, "c1", true).is_ok(), "{text:?}");
    }
    assert!(Standing::parse(&"x".repeat(10_000)).line.len() <= LINE_LIMIT);
}

#[test]
fn the_epoch_never_goes_back() {
    let found = standing(&[("a", "epoch=3".into()), ("b", String::new()), ("c", holder("r0", "c1").line(9))]);
    assert_eq!(next_epoch(&found, "c1", false), Ok(10));
}

#[test]
fn another_run_is_refused_by_name_and_time_and_taken_over_only_if_asked_for() {
    let found = standing(&[("a", holder("r2", "c2").line(4)), ("b", holder("r2", "c2").line(4)), ("c", "epoch=1".into())]);
    let others = next_epoch(&found, "c1", false).unwrap_err();
    let refusals: Vec<_> = others.iter().map(Other::refusal).collect();
    assert_eq!(refusals.len(), 1);
    assert_eq!(refusals[0].at.as_deref(), Some("host a, b"));
    assert_eq!(refusals[0].because.as_deref(), Some("the run r2 of alice@jump1 holds them since 2026-01-02T03:04:05Z"));
    assert_eq!(next_epoch(&found, "c1", true), Ok(5));
}

#[test]
fn a_manager_is_refused_to_all_others_and_marks_nothing_but_what_it_keeps() {
    let manager = Manager { controller: "c2".into(), by: "berlin@kok system".into() };
    let line = left_line(7, Some(&manager));
    let read = Standing::parse(&format!("{line}\n"));
    assert_eq!((read.epoch, read.holder.clone()), (7, None));
    assert_eq!(read.manager, Some(Manager { by: "berlin@kok_system".into(), ..manager }));
    let found = standing(&[("a", line.clone()), ("b", left_line(9, None)), ("c", line)]);
    let others = next_epoch(&found, "c1", false).unwrap_err();
    assert_eq!(others.len(), 1);
    assert_eq!(others[0].refusal().at.as_deref(), Some("host a, c"));
    assert_eq!(others[0].clone().who(), ("berlin@kok_system".to_owned(), None));
    assert_eq!((next_epoch(&found, "c2", false), next_epoch(&found, "c1", true)), (Ok(10), Ok(10)));
    assert_eq!(["c1", "c2"].map(|own| OtherManager::all(&found, own).len()), [1, 0]);
    assert!(taken_over(&found, "c1").is_empty(), "no run of it is at work");
    // Who holds it says nothing of who keeps it, and a mark without a name is none.
    assert_eq!(Standing::parse("epoch=3 run=r1 controller=c1 manager=c2 by=x").manager, None);
    assert_eq!(Standing::parse("epoch=3 manager=").manager, None);
}
