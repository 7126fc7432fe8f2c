//! No expression makes us fail otherwise than with a problem, or keeps us busy for long.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::resolved;

fn check(text: &str) -> Result<(), TestCaseError> {
    let vars = format!("a: 1\nb: [x, y]\nc: {{d: '{{{{ a }}}}'}}\nasked: {}\n", serde_json::Value::from(text));
    let resolved = resolved(&vars);
    for host in ["cp1", "node1"] {
        if let Err(problem) = resolved.get(host, "asked") {
            prop_assert!(problem.position.is_some(), "{problem}");
            prop_assert!(!problem.to_string().chars().any(|c| c.is_control() && c != '\n'), "{problem}");
            prop_assert!(problem.to_string().lines().count() <= 4, "{problem}");
        }
    }
    let _ = resolved.get("node1", "asked");
    Ok(())
}

#[test]
fn a_billion_laughs_end_soon() {
    let mut vars = String::from("l0: lol\n");
    (1..=19).for_each(|level| writeln!(vars, "l{level}: '{}'", format!("{{{{ l{} }}}}", level - 1).repeat(10)).unwrap());
    let begin = Instant::now();
    let problem = resolved(&vars).get("cp1", "l19").unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    assert!(problem.message.contains("becomes"), "{problem}");
}

#[test]
fn a_long_chain_of_variables_ends() {
    let mut vars = String::from("l0: 1\n");
    (1..1000).for_each(|level| writeln!(vars, "l{level}: '{{{{ l{} }}}}'", level - 1).unwrap());
    let resolved = resolved(&vars);
    assert!(resolved.get("cp1", "l19").unwrap().is_some());
    assert!(resolved.get("cp1", "l999").unwrap_err().message.contains("too many variables need each other"));
}

#[test]
fn what_grows_is_stopped() {
    for text in [
        "{{ 'x' * 100000000 }}".to_owned(),
        "{{ range(100000) | list }}".to_owned(),
        "{{ range(99999999999) | list }}".to_owned(),
        "{{ range(100000) | join('xxxxxxxxxxxxxxxxxxxxxxxx') }}".to_owned(),
        "{% for x in range(90000) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}".to_owned(),
        format!("{{{{ {}1{} }}}}", "[".repeat(100), "]".repeat(100)),
        format!("{{{{ {}1{} }}}}", "(".repeat(7000), ")".repeat(7000)),
        format!("{{{{ {}1 }}}}", "not ".repeat(3000)),
        format!("{{{{ {}1 }}}}", "-".repeat(8000)),
        format!("{{{{ 1{} }}}}", " | int".repeat(2000)),
        format!("{}{}", "{% if 1 %}".repeat(700), "{% endif %}".repeat(700)),
        "{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' | regex_replace('(a*)*b|(x{999}){999}', '') }}".to_owned(),
    ] {
        let begin = Instant::now();
        check(&text).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(10), "{text}: {:?}", begin.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text)?;
        check(&format!("{{{{ {text} }}}}"))?;
    }

    #[test]
    fn any_expression(pieces in prop::collection::vec(prop::sample::select(vec![
        "{{", "}}", "{%", "%}", " a ", " b ", " c.d ", "|", "(", ")", "[", "]", "'x'", "1", ",", "+", "~", "if ", "for x in ", "endfor", "endif",
        "join", "ipaddr", "version", " is ", "not ", "hostvars", "groups", "lookup", "range", "regex_replace", "default", "-1", "{", "}", ":", "asked", "map",
    ]), 0..20)) {
        let text = pieces.concat();
        check(&text)?;
        check(&format!("{{{{ {text} }}}}"))?;
    }
}
