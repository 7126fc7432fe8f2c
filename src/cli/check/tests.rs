use super::*;
use crate::engine::{CheckReport, CheckResult};

fn check_result(host: Option<&str>, check: &'static str, failure_of: Option<&str>) -> CheckResult {
    let name = host.unwrap_or("all");
    let failure = |what| Failure::new(Kind::Host, what).at(format!("host {name} (root@{name}.x:22)")).hint(format!("mend {name}.x:22"));
    let failures = failure_of.map(failure).into_iter().collect();
    CheckResult { host: host.map(str::to_owned), ..CheckResult::new(check, "all is well", failures) }
}

fn report_text(checks: Vec<CheckResult>) -> String {
    text::lines(&CheckReport { cluster: "demo".to_owned(), ok: false, checks }).join("\n")
}

#[test]
fn what_is_so_on_many_hosts_is_said_once() {
    let refused = |host: &str| Some(format!("cannot connect to {host}: login refused"));
    let mut checks = Vec::new();
    for host in ["cp1", "w1", "w2", "w3"] {
        let failure = refused(host).filter(|_| host.starts_with('w') && host != "w3");
        checks.push(check_result(Some(host), "login", failure.as_deref()));
    }
    checks.push(check_result(None, "clocks", None));
    let expected = "cp1, w3:\n  ok       login      all is well\n\n\
                    w1, w2:\n  FAILED   login      cannot connect to the host: login refused\n                  fix mend the host\n\n\
                    all hosts together:\n  ok       clocks     all is well";
    assert_eq!(report_text(checks), expected);
    let one = report_text(vec![check_result(Some("w1"), "login", refused("w1").as_deref())]);
    assert!(one.starts_with("w1:\n  FAILED   login      cannot connect to w1: login refused\n"), "{one}");
}

#[test]
fn what_nobody_could_see_is_not_called_well() {
    let together = |are_others: bool, failure: Option<&str>| {
        let mut check = check_result(None, "clocks", failure);
        check.without(&["w1", "w2"], are_others);
        check
    };
    let none = report_text(vec![check_result(Some("w1"), "login", Some("no")), together(false, None)]);
    assert!(none.ends_with("\n\nall hosts together: not checked, for none of them could be looked at"), "{none}");
    let some = report_text(vec![together(true, None)]);
    assert_eq!(some, "all hosts together, without w1, w2:\n  ok       clocks     all is well");
    let failed = report_text(vec![together(false, None), together(false, Some("it is held"))]);
    assert!(failed.starts_with("all hosts together, without w1, w2:\n  FAILED   clocks     it is held"), "{failed}");
}
