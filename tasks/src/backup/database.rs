//! The length of a snapshot of etcd, which stands in its first bytes: whatever has to say it first needs to hold no more.

/// So many bytes are enough to tell.
pub const BEGINNING: usize = HEAD + META;

/// What each page begins with (bbolt, `internal/common/page.go`).
const HEAD: usize = 16;
/// What the first two pages hold (bbolt, `internal/common/meta.go`).
const META: usize = 64;
/// The part of that which the checksum at its end is of.
const SUMMED: usize = META - 8;

const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;

/// etcd puts a SHA-256 behind the database.
const DIGEST: u64 = 32;

/// How many bytes a snapshot has that begins so; none if it is no database of etcd's. A member writes its pages up to the highest one that is in use, which the
/// first page says (bbolt, `Tx.WriteTo` and `Tx.Size`).
#[must_use]
pub fn snapshot_bytes(beginning: &[u8]) -> Option<u64> {
    let meta = beginning.get(HEAD..BEGINNING)?;
    let u32_at = |at: usize| Some(u32::from_le_bytes(meta.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_le_bytes(meta.get(at..at + 8)?.try_into().ok()?));
    let page = u32_at(8)?;
    let is_database = u32_at(0)? == MAGIC && u32_at(4)? == VERSION && u64_at(SUMMED)? == fnv(meta.get(..SUMMED)?);
    let pages = u64_at(40)?;
    if !is_database || !page.is_power_of_two() || pages < 2 {
        return None;
    }
    pages.checked_mul(u64::from(page))?.checked_add(DIGEST)
}

/// FNV-1a of 64 bits, as bbolt has it.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::*;

    fn beginning(page: u32, pages: u64) -> Vec<u8> {
        let mut meta = Vec::new();
        [MAGIC, VERSION, page, 0].iter().for_each(|number| meta.extend(number.to_le_bytes()));
        // Root bucket, its sequence, the list of free pages, the highest page, the transaction.
        [3_u64, 0, 7, pages, 42].iter().for_each(|number| meta.extend(number.to_le_bytes()));
        let sum = fnv(&meta);
        meta.extend(sum.to_le_bytes());
        [vec![0; HEAD], meta].concat()
    }

    #[test]
    fn the_first_page_says_how_long_all_of_it_is() {
        assert_eq!(beginning(4096, 5).len(), BEGINNING);
        assert_eq!(snapshot_bytes(&beginning(4096, 5)), Some(5 * 4096 + 32));
        assert_eq!(snapshot_bytes(&[beginning(16384, 1 << 19), vec![1; 100]].concat()), Some((1 << 33) + 32));
    }

    #[test]
    fn what_is_no_database_says_nothing() {
        let whole = beginning(4096, 5);
        for byte in HEAD..BEGINNING {
            let mut flipped = whole.clone();
            flipped[byte] ^= 1;
            assert_eq!(snapshot_bytes(&flipped), None, "{byte}");
        }
        assert_eq!(snapshot_bytes(&whole[..BEGINNING - 1]), None);
        assert_eq!(snapshot_bytes(b""), None);
        assert_eq!(snapshot_bytes(&beginning(4096, u64::MAX)), None);
        assert_eq!(snapshot_bytes(&beginning(1000, 5)), None);
    }
}
