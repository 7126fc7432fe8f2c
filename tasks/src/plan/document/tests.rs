#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::change::Verdict;
use crate::observe::Observations;
use crate::operations::{ApiServerReady, Operation};
use crate::plan::{Action, Reason, StepId};
use crate::resources::{File, Resource, Unit, UnitGoal};

fn step(name: &str, action: impl Into<Action>) -> Step {
    Step {
        id: StepId::parse(&format!("cp1/test/{name}")).unwrap(),
        host: "cp1".to_owned(),
        task: "test",
        action: action.into(),
        deadline: Duration::from_secs(1),
        triggers: Vec::new(),
        gate: None,
    }
}

/// A file, the unit that reads it, and a condition.
fn plan() -> Plan {
    let file = step("file", Resource::File(File::text("/etc/a", "a=1\n")));
    let unit = Unit { name: "a.service".to_owned(), goal: UnitGoal::Running, reads: Vec::new() };
    let unit = Step { triggers: vec![file.id.clone()], ..step("unit", Resource::Unit(unit)) };
    let ready = step("ready", Operation::ApiServerReady(ApiServerReady::default()));
    let ids = [&file, &unit, &ready].map(|step| step.id.clone());
    let mut plan = Plan::default();
    [ready, unit, file].into_iter().for_each(|step| plan.add(step).unwrap());
    plan.order(&ids[1], &ids[0], Reason::Reads).unwrap();
    plan.order(&ids[2], &ids[1], Reason::TalksTo).unwrap();
    plan.order(&ids[2], &ids[0], Reason::Because("it is as it is")).unwrap();
    let changes = [
        Change { diff: Some("-a=0\n+a=1\n".to_owned()), ..Change::new(ChangeKind::ReplaceContent, "its content is not what it should be") },
        Change::new(ChangeKind::Restart, "/etc/a changed after it was started"),
        Change::new(ChangeKind::Wait, "connection refused"),
    ];
    plan.set_changes(ids.into_iter().zip(changes).collect(), BTreeSet::new());
    plan
}

fn inputs() -> DocumentInputs {
    DocumentInputs {
        cluster: "demo".to_owned(),
        program: "1.0.0".to_owned(),
        token_id: "kokab2".to_owned(),
        new_cluster_id: "c1".to_owned(),
        tasks: None,
        hosts: None,
        prune: false,
    }
}

fn base() -> PlanDocument {
    PlanDocument::new(&plan(), inputs(), &Concealed::default())
}

type Edit = fn(&mut PlanDocument);

fn changed(step: &mut StepDocument) -> &mut ChangeDocument {
    step.change.as_mut().unwrap()
}

/// The place of a step in [`base`], in which earlier ones come first.
const FILE: usize = 0;
const UNIT: usize = 1;
const READY: usize = 2;

/// Everything that can differ, with what is said of it.
const EDITS: &[(Edit, &str)] = &[
    (|it| it.inputs.cluster.push('2'), "it is of another cluster"),
    (|it| it.inputs.program.push('2'), "another version of kokctl made it"),
    (|it| it.inputs.token_id.push('2'), "it has another token or another id for a new cluster"),
    (|it| it.inputs.new_cluster_id.push('2'), "it has another token or another id for a new cluster"),
    (|it| it.inputs.tasks = Some(BTreeSet::new()), "it is of another part of the cluster"),
    (|it| it.inputs.hosts = Some(["cp1".to_owned()].into()), "it is of another part of the cluster"),
    (|it| it.inputs.prune = true, "it is made with --prune, or without"),
    (|it| drop(it.steps.remove(READY)), "cp1/test/ready: it is no step any more; it was: wait"),
    (|it| it.steps[FILE].change = None, "cp1/test/file: nothing is to do any more; it was: replace the content"),
    (|it| changed(&mut it.steps[UNIT]).summary = "reload".to_owned(), "cp1/test/unit: it was: restart, and now: reload"),
    (|it| changed(&mut it.steps[UNIT]).kind = ChangeKind::Reload, "cp1/test/unit: it was: restart, and now: restart"),
    (|it| changed(&mut it.steps[FILE]).act.script = None, "cp1/test/file: what is sent to the host is another content"),
    (|it| changed(&mut it.steps[FILE]).act.secrets.push("a key".to_owned()), "cp1/test/file: what is sent to the host is another content"),
    (|it| changed(&mut it.steps[FILE]).diff = None, "cp1/test/file: what stands on the host is another content"),
    (
        |it| changed(&mut it.steps[FILE]).because = "it rains".to_owned(),
        "cp1/test/file: the cause was: its content is not what it should be, and now: it rains",
    ),
    (|it| changed(&mut it.steps[FILE]).assumed = true, "whether the cluster can be asked of it has changed"),
    (|it| drop(it.steps[READY].needs.pop()), "cp1/test/ready: it comes after other steps"),
    (|it| it.steps[UNIT].needs[0].reason = "runs".to_owned(), "cp1/test/unit: it comes after other steps"),
    (|it| it.steps[UNIT].needs[0].because = "it must".to_owned(), "cp1/test/unit: it comes after other steps"),
    (|it| it.steps[UNIT].triggers.clear(), "cp1/test/unit: it comes after other steps"),
    (|it| it.steps[UNIT].host.push('2'), "cp1/test/unit: it is called otherwise, or has another place or time"),
    (|it| it.steps[UNIT].task.push('2'), "cp1/test/unit: it is called otherwise, or has another place or time"),
    (|it| it.steps[UNIT].title.push('2'), "cp1/test/unit: it is called otherwise, or has another place or time"),
    (|it| it.steps[UNIT].deadline_seconds = 2, "cp1/test/unit: it is called otherwise, or has another place or time"),
];

/// Nothing that counts.
const SAME: &[Edit] = &[
    |it| it.steps.reverse(),
    |it| it.steps[READY].needs.reverse(),
    |it| changed(&mut it.steps[READY]).because = "HTTP/1.1 500".to_owned(),
];

fn edited(edits: &[Edit]) -> PlanDocument {
    let mut document = base();
    edits.iter().for_each(|edit| edit(&mut document));
    document.digest = document.computed();
    document
}

#[test]
fn what_is_seen_of_a_plan_stands_in_it() {
    let document = base();
    let names: Vec<&str> = document.steps.iter().map(|step| step.step.as_str()).collect();
    assert_eq!(names, ["cp1/test/file", "cp1/test/unit", "cp1/test/ready"], "earlier ones first");
    let text = serde_json::to_string(&document).unwrap();
    assert!(text.contains(r#""change":{"kind":"restart","summary":"restart","because":"/etc/a changed after it was started""#), "{text}");
    assert!(text.contains(r#"{"step":"cp1/test/file","reason":"reads","because":"it reads that file"}"#), "{text}");
    assert!(text.contains(r#""act":{"kind":"wait"}"#), "{text}");
    assert!(document.digest().strip_prefix("sha256:").is_some_and(|digits| digits.len() == 64), "{}", document.digest());
}

#[test]
fn the_same_plan_has_the_same_digest_and_no_difference() {
    for edit in SAME {
        let other = edited(&[*edit]);
        assert_eq!(other.digest(), base().digest());
        assert_eq!(base().compare(&other), []);
    }
}

#[test]
fn each_difference_is_seen_and_named() {
    for (edit, expected) in EDITS {
        let other = edited(&[*edit]);
        assert_ne!(other.digest(), base().digest(), "{expected}");
        let said: Vec<String> = base().compare(&other).iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains(expected), "{said:?} is not: {expected}");
    }
    let without = edited(&[|it| drop(it.steps.remove(READY))]);
    let idle = edited(&[|it| it.steps[FILE].change = None]);
    assert_eq!(without.compare(&base())[0].to_string(), "cp1/test/ready: it is a new step: wait");
    assert_eq!(idle.compare(&base())[0].to_string(), "cp1/test/file: nothing was to do, and now: replace the content");
}

#[test]
fn a_document_is_read_as_it_was_written_and_not_when_it_was_changed() {
    for pretty in [true, false] {
        let write = if pretty { serde_json::to_string_pretty } else { serde_json::to_string };
        let text = write(&base()).unwrap();
        assert_eq!(PlanDocument::parse(&text).unwrap(), base());
        for (of, to) in
            [("demo", "prod"), ("cp1/test/unit", "cp1/test/unlt"), ("+a=1", "+a=2"), ("\"restart\"", "\"reload\""), ("kokab2", "kokab3")]
        {
            assert!(matches!(PlanDocument::parse(&text.replace(of, to)), Err(DocumentError::Changed { .. })), "{of}");
        }
        let cut_off = text.get(..text.len() - 2).unwrap();
        for other in ["", "{}", "[]", "hosts: []", cut_off, &text.replace("\"host\"", "\"hast\""), &text.replace("kokctl-plan", "x")] {
            assert!(matches!(PlanDocument::parse(other), Err(DocumentError::NoPlan(_))), "{other}");
        }
    }
    let later = r#"{"format": "kokctl-plan", "version": 2, "stages": []}"#;
    assert_eq!(PlanDocument::parse(later), Err(DocumentError::Version(2)));
}

/// What fuzzing begins with, for nobody finds the names of all fields by trying.
#[test]
fn the_seed_of_the_fuzz_target_is_a_document() {
    let text = include_str!("../../../fuzz/seeds/document/plan.json");
    let Err(DocumentError::Changed { says, has }) = PlanDocument::parse(text) else { panic!("it has a digest") };
    assert_eq!(PlanDocument::parse(&text.replace(&says, &has)).unwrap().steps.len(), 3);
}

#[test]
fn two_steps_of_one_name_are_refused() {
    let twice = edited(&[|it| {
        let again = it.steps[FILE].clone();
        it.steps.push(again);
    }]);
    assert!(matches!(PlanDocument::parse(&serde_json::to_string(&twice).unwrap()), Err(DocumentError::NoPlan(_))));
}

#[test]
fn acts_are_known_by_what_they_send() {
    let act = |text: &str| {
        let file = File::text("/etc/a", text);
        let Verdict::Differs(change) = Resource::File(file.clone()).diff(&missing()) else { panic!("it is missing") };
        ActDocument::new(&Resource::File(file).act(&change), &Concealed::default())
    };
    assert_eq!(act("a"), act("a"));
    assert_ne!(act("a"), act("b"));
    assert_eq!((act("a").kind, act("a").secrets.len()), (ActKind::Script, 0));
}

fn missing() -> Observations {
    let mut seen = Observations::default();
    seen.paths.insert("/etc/a".to_owned(), crate::observe::PathState::Missing);
    seen
}

proptest! {
    #[test]
    fn there_is_a_difference_exactly_where_digests_differ(
        one in proptest::collection::vec(0..EDITS.len() + SAME.len(), 0..3),
        two in proptest::collection::vec(0..EDITS.len() + SAME.len(), 0..3),
    ) {
        // A step that is gone can't be edited, so it goes last.
        let edit = |place: &usize| EDITS.get(*place).map_or_else(|| SAME[place - EDITS.len()], |(edit, _)| *edit);
        let apply = |places: &[usize]| {
            let mut document = base();
            for place in places.iter().filter(|place| !matches!(place, 7 | 8) && **place != EDITS.len()) {
                edit(place)(&mut document);
            }
            document.digest = document.computed();
            document
        };
        let (one, two) = (apply(&one), apply(&two));
        prop_assert_eq!(one.digest() == two.digest(), one.compare(&two).is_empty());
        prop_assert_eq!(one.compare(&two).len(), two.compare(&one).len());
    }
}

/// What is redacted is read as any other, and a plan that does something else is another one.
#[test]
fn what_looks_like_a_secret_goes_with_its_digest() {
    let mut document = base();
    changed(&mut document.steps[FILE]).diff = Some("-password = \"c4n4ry\"\n+a=1\n".to_owned());
    changed(&mut document.steps[UNIT]).because = "it has --token=c4n4ry".to_owned();
    let redacted = document.clone().redacted();
    let text = serde_json::to_string(&redacted).unwrap();
    assert!(!text.contains("c4n4ry") && text.contains("+a=1"), "{text}");
    assert_eq!(PlanDocument::parse(&text).unwrap(), redacted);
    changed(&mut document.steps[FILE]).act.script = Some("0".repeat(64));
    assert_ne!(document.redacted().digest(), redacted.digest());
}
