//! The test `version`: comparing versions as Ansible does by default.

use std::cmp::Ordering;

use minijinja::value::Kwargs;
use minijinja::{Error, Value};

use super::filters::{refused, text};

/// A piece of a version between dots, or between digits and letters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Number(u64),
    Word(String),
}

/// Whether the value compares like that with another version. Kinds of versions beyond numbers with dots are compared piece by piece, too.
pub(super) fn compare(value: &Value, other: Value, operator: Option<String>, options: Kwargs) -> Result<bool, Error> {
    let _strict: Option<bool> = options.get("strict")?;
    let _kind: Option<String> = options.get("version_type")?;
    options.assert_all_used()?;
    let number = value.to_string();
    let (a, b) = if value.is_number() {
        (pieces(&number), pieces(&other.to_string()))
    } else {
        (pieces(text(value, "version")?), pieces(&other.to_string()))
    };
    let order = order(&a, &b)?;
    match operator.as_deref().unwrap_or("==") {
        "==" | "=" | "eq" => Ok(order == Ordering::Equal),
        "!=" | "<>" | "ne" => Ok(order != Ordering::Equal),
        "<" | "lt" => Ok(order == Ordering::Less),
        "<=" | "le" => Ok(order != Ordering::Greater),
        ">" | "gt" => Ok(order == Ordering::Greater),
        ">=" | "ge" => Ok(order != Ordering::Less),
        _ => Err(refused("`version` knows the operators ==, !=, <, <=, > and >=")),
    }
}

/// A leading `v` is no part of a version: Kubespray's own differ in it.
fn pieces(text: &str) -> Vec<Piece> {
    let mut rest = text.trim().trim_start_matches(['v', 'V']);
    let mut pieces = Vec::new();
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit || matches!(c, '.' | '-' | '+')).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at_checked(end.max(first.len_utf8())).unwrap_or((rest, ""));
        match piece.parse() {
            Ok(number) => pieces.push(Piece::Number(number)),
            Err(_) if matches!(piece, "." | "-" | "+") => {}
            Err(_) => pieces.push(Piece::Word(piece.to_owned())),
        }
        rest = behind;
    }
    pieces
}

fn order(a: &[Piece], b: &[Piece]) -> Result<Ordering, Error> {
    for (a, b) in a.iter().zip(b) {
        match (a, b) {
            (Piece::Number(a), Piece::Number(b)) if a != b => return Ok(a.cmp(b)),
            (Piece::Word(a), Piece::Word(b)) if a != b => return Ok(a.cmp(b)),
            (Piece::Number(_), Piece::Word(_)) | (Piece::Word(_), Piece::Number(_)) => {
                return Err(refused("these versions cannot be compared: one has a word where the other has a number"));
            }
            _ => {}
        }
    }
    Ok(a.len().cmp(&b.len()))
}
