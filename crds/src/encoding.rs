//! Files that are no text in UTF-8.

/// Marks of the byte order with which editors of Windows begin files in UTF-16.
const MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// What bytes are that are no UTF-8, or have zeros in them, and what to do.
#[must_use]
pub fn not_text(bytes: &[u8]) -> (String, &'static str) {
    if MARKS.iter().any(|mark| bytes.starts_with(mark)) || is_wide(bytes) {
        let because = "it is in UTF-16, as some editors and PowerShell on Windows write it; YAML and INI are read in UTF-8".to_owned();
        return (because, "save it as UTF-8, or convert it: `iconv -f UTF-16 -t UTF-8 FILE > NEW-FILE`");
    }
    let good = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let before = bytes.get(..good).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    if bytes.contains(&0) {
        return ("it is no text but a program, an archive or the like".to_owned(), "name another file");
    }
    let because = format!("line {line} has a byte that is none of UTF-8, perhaps an accent in another encoding");
    (because, "save it as UTF-8, or convert it: `iconv -f ISO-8859-1 -t UTF-8 FILE > NEW-FILE`")
}

/// Whether nearly every second byte is a zero, and no other is: Latin letters in UTF-16.
fn is_wide(bytes: &[u8]) -> bool {
    let zeros = |first: usize| bytes.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    even.max(odd) > bytes.len() / 4 && even.min(odd) == 0
}

#[cfg(test)]
mod tests {
    use super::not_text;

    #[test]
    fn each_encoding_has_its_way_out() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let marked = [b"\xff\xfe".to_vec(), utf16("all:")].concat();
        for bytes in [marked, utf16("all:"), [b"\0".to_vec(), utf16("all:\n")].concat()] {
            assert!(not_text(&bytes).0.contains("UTF-16") && not_text(&bytes).1.contains("iconv -f UTF-16"), "{bytes:?}");
        }
        let (because, hint) = not_text(b"all:\n  # caf\xe9\n");
        assert!(because.contains("line 2") && hint.contains("ISO-8859-1"), "{because}");
        assert!(not_text(b"\x7fELF\x02\x01\x01\0\xff\xff\xff\xff").0.contains("program"));
    }
}
