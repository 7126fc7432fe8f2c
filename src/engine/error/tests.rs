use std::sync::Arc;

use kok_tasks::plan::{Refusal, StepId};

use super::*;
use crate::failure::HeldBy;
use crate::remote::{ConnectError, ConnectFault, HostKeyFault, RunError};
use crate::run::{InDoubt, StepFailure};

fn connect(fault: ConnectFault) -> Failure {
    let (address, user) = ("10.0.0.11:22".to_owned(), "root".to_owned());
    ConnectError { host: "cp1".to_owned(), bastion: None, address, user, origin: None, fault: Arc::new(fault) }.into()
}

fn held() -> Failure {
    let held = HeldBy { by: "ann@here".to_owned(), since: Some("2026-01-02T03:04:05Z".to_owned()) };
    Failure::new(Kind::Host, "another kokctl is at work").due(Cause::Held(held))
}

fn refused(refusal: Refusal) -> Failure {
    Failure::refusal(Kind::Host, refusal)
}

/// The variant, its class, and whether it may pass.
fn judged(error: &Error) -> (&'static str, Kind, bool) {
    let name = match error {
        Error::Input(_) => "input",
        Error::Unreachable(_) => "unreachable",
        Error::Held { .. } => "held",
        Error::Refused(_) => "refused",
        Error::HalfWay(_) => "half way",
        Error::Internal(_) => "internal",
        Error::NotApproved => "not approved",
        Error::PlanChanged(_) => "changed",
        Error::StepFailed(_) => "failed",
        Error::InDoubt(_) => "in doubt",
        Error::Stopped(_) => "stopped",
        Error::TakenOver(_) => "taken over",
    };
    (name, error.class(), error.may_pass())
}

#[test]
fn what_may_pass_by_itself_is_told_from_what_somebody_has_to_mend() {
    let of = |failures: Vec<Failure>| judged(&Error::from(failures));
    let login = ConnectFault::LoginRefused { user: "root".into(), tried: vec![], skipped: vec![], tried_password: false, reason: None };
    let stranger = ConnectFault::HostKey(HostKeyFault::BadPin { pinned: "x".to_owned() });
    let silent = RunError::Unknown { host: "cp1".into(), reason: "the link broke".into() };
    let unreachable = ("unreachable", Kind::Host, true);
    let no = ("refused", Kind::Host, false);
    assert_eq!(of(vec![connect(ConnectFault::Refused), silent.into()]), unreachable);
    assert_eq!(of(vec![connect(ConnectFault::Refused), connect(login)]), no);
    assert_eq!(of(vec![connect(stranger)]), no);
    assert_eq!(of(vec![refused(Refusal::new("its architecture is z80"))]), no);
    assert_eq!(of(vec![refused(Refusal::new("no API server answers").passing())]), unreachable);
    assert_eq!(of(vec![connect(ConnectFault::Refused), held()]), ("held", Kind::Host, true));
    assert_eq!(of(vec![held(), refused(Refusal::new("it belongs to the cluster paris"))]), no);
    assert_eq!(of(vec![Failure::new(Kind::Input, "x")]), ("input", Kind::Input, false));
    assert_eq!(of(vec![Failure::new(Kind::Internal, "x"), held()]), ("internal", Kind::Internal, false));
    // Of a stage that comes after one that was carried out.
    assert_eq!(of(vec![Failure::new(Kind::Incomplete, "x")]), ("half way", Kind::Incomplete, false));
}

#[test]
fn who_holds_the_hosts_is_a_field() {
    let Error::Held { by, since, failures } = Error::from(held()) else { unreachable!("it is held") };
    assert_eq!((by.as_str(), since.as_deref(), failures.len()), ("ann@here", Some("2026-01-02T03:04:05Z"), 1));
}

#[test]
fn a_run_that_was_begun_ends_by_what_is_known_of_its_steps() {
    let step = StepId::parse("cp1/task/step").unwrap_or_else(|| unreachable!("it is one"));
    let failed = |unknown| StepFailure { step: step.clone(), host: "cp1".into(), title: "x".into(), error: "y".into(), unknown };
    let of = |outcome: Outcome| judged(&Error::from(outcome));
    let stopped = Some("SIGINT".to_owned());
    let in_doubt = vec![InDoubt { step: step.clone(), host: "cp1".into(), title: "x".into() }];
    assert_eq!(of(Outcome { failed: vec![failed(false)], ..Outcome::default() }), ("failed", Kind::Incomplete, true));
    assert_eq!(of(Outcome { failed: vec![failed(true)], ..Outcome::default() }), ("in doubt", Kind::Incomplete, true));
    assert_eq!(of(Outcome { in_doubt, stopped: stopped.clone(), ..Outcome::default() }), ("in doubt", Kind::Incomplete, true));
    assert_eq!(of(Outcome { stopped: stopped.clone(), ..Outcome::default() }), ("stopped", Kind::Incomplete, true));
    assert_eq!(of(Outcome { stopped, taken_over: true, ..Outcome::default() }), ("taken over", Kind::Incomplete, false));
    assert_eq!(of(Outcome { blocked: 1, ..Outcome::default() }), ("failed", Kind::Incomplete, false));
}
