//! What `kokctl check` says to people.

use crate::engine::{CheckReport, CheckResult, CheckStatus};
use crate::failure::printable;
use crate::ui::of_any_host;

/// Hosts of which the same is to be said.
struct Block<'a> {
    hosts: Vec<&'a str>,
    /// As it is said of the first of them.
    own: Vec<String>,
    /// As it is said of each.
    shared: Vec<String>,
}

/// The lines of a report: for each host its checks, once for all of which they say the same, and those of all hosts together.
pub(super) fn lines(report: &CheckReport) -> Vec<String> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for checks in report.checks.chunk_by(|one, other| one.host == other.host) {
        let Some(host) = checks.first().and_then(|check| check.host.as_deref()) else { continue };
        let own: Vec<String> = checks.iter().flat_map(check_lines).collect();
        let shared: Vec<String> = own.iter().map(|text| of_any_host(text, host, address(checks))).collect();
        match blocks.iter_mut().find(|block| block.shared == shared) {
            Some(block) => block.hosts.push(host),
            None => blocks.push(Block { hosts: vec![host], own, shared }),
        }
    }
    let mut lines = Vec::new();
    for Block { hosts, own, shared } in blocks {
        lines.push(format!("{}:", hosts.join(", ")));
        lines.extend(if hosts.len() == 1 { own } else { shared });
        lines.push(String::new());
    }
    let together: Vec<&CheckResult> = report.checks.iter().filter(|check| check.host.is_none()).collect();
    let away = together.iter().map(|check| check.away.join(", ")).max().unwrap_or_default();
    let known: Vec<String> = together.iter().flat_map(|check| check_lines(check)).collect();
    lines.push(match (away.is_empty(), known.is_empty()) {
        (true, _) => "all hosts together:".to_owned(),
        (false, false) => format!("all hosts together, without {away}:"),
        (false, true) => "all hosts together: not checked, for none of them could be looked at".to_owned(),
    });
    lines.extend(known);
    // What hosts say may hold terminal escapes.
    lines.iter().map(|text| printable(text)).collect()
}

/// Where the host is reached, as its findings name it.
fn address(checks: &[CheckResult]) -> Option<&str> {
    let places = checks.iter().flat_map(|check| &check.findings).filter_map(|finding| finding.record.at.as_deref());
    places.filter_map(|at| at.split_once('(')?.1.split(')').next()).next()
}

fn check_lines(check: &CheckResult) -> Vec<String> {
    let mut lines = Vec::new();
    if check.findings.is_empty() && check.status == CheckStatus::Ok {
        lines.push(format!("  ok       {:<10} {}", check.check, check.about));
    }
    for finding in &check.findings {
        let word = match finding.status {
            CheckStatus::Ok | CheckStatus::NotChecked => "ok",
            CheckStatus::Warning => "warning",
            CheckStatus::Failed => "FAILED",
        };
        lines.push(format!("  {word:<8} {:<10} {}", check.check, finding.record.what));
        // Of a host's own findings the host stands above them.
        let at = finding.record.at.as_ref().filter(|_| check.host.is_none());
        for (label, text) in [("at", at), ("because", finding.record.because.as_ref()), ("fix", finding.record.hint.as_ref())] {
            let text = text.map(|text| format!("           {label:>10} {}", text.replace('\n', "\n                      ")));
            lines.extend(text);
        }
    }
    lines
}
