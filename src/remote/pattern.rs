//! Patterns of OpenSSH (PATTERNS in ssh_config(5)).

/// Whether letters of another case are other letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Matters,
    Ignored,
}

/// `*` is any text and `?` any one character. The text is walked once and a failed tail goes back to the last star only, so no pattern
/// can make this slow.
pub(super) fn matches(pattern: &str, text: &str, case: Case) -> bool {
    let characters = |text: &str| -> Vec<char> {
        match case {
            Case::Matters => text.chars().collect(),
            Case::Ignored => text.chars().flat_map(char::to_lowercase).collect(),
        }
    };
    let (pattern, text) = (characters(pattern), characters(text));
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(character) = text.get(seen) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || wanted == character => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((star_at, star_seen)) => {
                    star = Some((star_at, star_seen + 1));
                    at = star_at + 1;
                    seen = star_seen + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|rest| *rest == '*')
}
