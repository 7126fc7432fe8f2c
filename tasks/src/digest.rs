//! The one hash of the project.

use aws_lc_rs::digest::{SHA256, digest};

/// The sha256 of `bytes` as 64 lower-case hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(digest(&SHA256, bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn agrees_with_the_published_vector() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(super::sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
