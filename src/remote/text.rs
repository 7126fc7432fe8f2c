//! Text from a host, made harmless for messages.
use crate::failure::is_harmful;

/// The longest piece of a host's output that a message repeats.
const MESSAGE_LIMIT: usize = 400;

/// `bytes` as one printable line: invalid UTF-8, control characters and terminal escapes are replaced, and it is cut at
/// [`MESSAGE_LIMIT`] characters. A host's output must never be able to drive the user's terminal.
pub(super) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut line = String::new();
    for (count, character) in text.trim().chars().enumerate() {
        if count == MESSAGE_LIMIT {
            line.push('…');
            break;
        }
        match character {
            '\n' | '\t' | '\r' => line.push(' '),
            harmful if is_harmful(harmful) => line.push('\u{fffd}'),
            other => line.push(other),
        }
    }
    line
}

/// The last line of `bytes` that says anything, printable; programs put the reason of a failure there.
pub(super) fn last_line(bytes: &[u8]) -> Option<String> {
    bytes.rsplit(|byte| *byte == b'\n').map(printable).find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{last_line, printable};

    #[test]
    fn escapes_and_broken_utf8_are_harmless() {
        assert_eq!(printable(b"\x1b[31mred\x07\xff\r\nnext\x00"), "\u{fffd}[31mred\u{fffd}\u{fffd}  next\u{fffd}");
        assert_eq!(printable("a\u{202e}b".as_bytes()), "a\u{fffd}b");
        assert_eq!(printable(&[b'x'; 1000]).chars().count(), 401);
    }

    #[test]
    fn the_last_line_skips_empty_ones() {
        assert_eq!(last_line(b"first\nsecond\n\n").as_deref(), Some("second"));
        assert_eq!(last_line(b"\n \n"), None);
    }
}
