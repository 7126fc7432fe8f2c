//! Digests of large files, by the fastest program that a host has.

/// The text of [`DIGESTS`], for a constant that begins with it.
macro_rules! digests {
    () => {
        r#"digest_of() {
  sum=
  [ "$2" -lt 4194304 ] || sum=$(openssl dgst -sha256 -r <"$1" 2>/dev/null) || sum=
  case $sum in ????????????????????????????????????????????????????????????????' '*) ;; *) sum=$(sha256sum <"$1") || return 1;; esac
  sum=${sum%% *}
}
digests_of() { openssl dgst -sha256 -r "$@" 2>/dev/null || sha256sum -b "$@"; }
"#
    };
}
pub(super) use digests;

/// Functions that compute digests.
///
/// * `digest_of PATH BYTES` says the sha256 of a file in `$sum`, and fails if it can't be read. Of a file of 4 MiB and more it asks openssl, if there is
///   one that answers: coreutils hash without the processor's own instructions, four times as long. Below that openssl takes longer to start than it saves.
/// * `digests_of PATH …` prints a line of each file, `DIGEST *PATH`. Paths begin with no `-`.
pub const DIGESTS: &str = digests!();
