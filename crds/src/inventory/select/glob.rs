//! Wildcards of shells: `*`, `?`, `[abc]`, `[a-c]`, `[!abc]`.

/// Whether a pattern has wildcards at all.
pub(crate) fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

/// Whether a whole text matches a pattern.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<Piece> = pieces(pattern);
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut place) = (0, 0);
    // Where to go on if what follows the last `*` does not match here: it takes one character more.
    let mut retry: Option<(usize, usize)> = None;
    while let Some(c) = text.get(place) {
        match pattern.get(at) {
            Some(Piece::Any) => {
                retry = Some((at + 1, place));
                at += 1;
                continue;
            }
            Some(piece) if piece.takes(*c) => {
                (at, place) = (at + 1, place + 1);
                continue;
            }
            _ => {}
        }
        let Some((after, taken)) = retry else { return false };
        retry = Some((after, taken + 1));
        (at, place) = (after, taken + 1);
    }
    pattern.iter().skip(at).all(|piece| matches!(piece, Piece::Any))
}

enum Piece {
    Any,
    One,
    Letter(char),
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Piece {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Letter(letter) => *letter == c,
            Self::Class { negated, ranges } => ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *negated,
        }
    }
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let behind = rest.get(c.len_utf8()..).unwrap_or_default();
        let class = if c == '[' { class(behind) } else { None };
        let (piece, behind) = match (c, class) {
            ('*', _) => (Piece::Any, behind),
            ('?', _) => (Piece::One, behind),
            (_, Some(class)) => class,
            (letter, None) => (Piece::Letter(letter), behind),
        };
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// What stands in brackets, and what stands behind them; a bracket without its other one is only a character.
fn class(text: &str) -> Option<(Piece, &str)> {
    let (negated, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    // A closing bracket that comes first is a member.
    let start = text.chars().next()?.len_utf8();
    let end = start + text.get(start..)?.find(']')?;
    let mut members = text.get(..end)?.chars().peekable();
    let mut ranges = Vec::new();
    while let Some(first) = members.next() {
        let mut ahead = members.clone();
        let last = ahead.next().filter(|c| *c == '-').and_then(|_| ahead.next());
        if last.is_some() {
            members = ahead;
        }
        ranges.push((first, last.unwrap_or(first)));
    }
    Some((Piece::Class { negated, ranges }, text.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn wildcards() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("node*", "node12", true),
            ("*.lan", "a.b.lan", true),
            ("*a*b", "xaxbxb", true),
            ("*a*b", "xaxbx", false),
            ("n?", "n1", true),
            ("n?", "n", false),
            ("n[12]", "n2", true),
            ("n[!12]", "n2", false),
            ("n[a-c]x", "nbx", true),
            ("n[]]", "n]", true),
            ("n[", "n[", true),
            ("n[-1]", "n-", true),
            ("ä*ö", "äxö", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
    }
}
