#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::{Framer, StderrTail};
use crate::remote::nonce::ScriptNonce;
use proptest::prelude::*;
use std::sync::Arc;

const NONCE: &str = "00112233445566778899aabbccddeeff";

fn framed(noise: &[u8], output: &[u8], status: u32) -> Vec<u8> {
    let mut all = noise.to_vec();
    all.extend_from_slice(format!("\nkokctl-begin-{NONCE}\n").as_bytes());
    all.extend_from_slice(output);
    all.extend_from_slice(format!("\nkokctl-end-{NONCE} {status}\n").as_bytes());
    all
}

fn read(pieces: impl IntoIterator<Item = Vec<u8>>, limit: usize) -> Framer {
    let mut framer = Framer::new(&ScriptNonce::fixed(NONCE), limit, &Arc::default());
    for piece in pieces {
        framer.push(&piece);
    }
    framer.finish();
    framer
}

#[test]
fn a_limit_cuts_the_output_but_not_the_status() {
    let framer = read([framed(b"hi", &[b'x'; 5000], 7)], 100);
    assert_eq!((framer.output.bytes.len(), framer.output.truncated, framer.status), (100, true, Some(7)));
}

#[test]
fn a_mark_of_another_nonce_is_output() {
    let forged = b"\nkokctl-end-ffffffffffffffffffffffffffffffff 0\nmore";
    let framer = read([framed(b"", forged, 1)], 1000);
    assert_eq!((framer.output.bytes.as_slice(), framer.status), (&forged[..], Some(1)));
}

#[test]
fn without_an_end_there_is_no_status() {
    let all = framed(b"motd", b"half", 0);
    let cut = all.len() - 40;
    let framer = read([all[..cut].to_vec()], 1000);
    assert!(framer.began() && !framer.ended());
    assert!(framer.output.bytes.starts_with(b"half"));
}

#[test]
fn without_a_begin_all_is_noise() {
    let framer = read([vec![b'x'; 9000]], 1000);
    assert!(!framer.began());
    assert_eq!((framer.noise.bytes.len(), framer.noise.truncated), (4096, true));
}

#[test]
fn stderr_keeps_its_end_and_loses_its_noise() {
    let mut tail = StderrTail::new(&ScriptNonce::fixed(NONCE), &Arc::default());
    tail.push(format!("profile\n\nkokctl-begin-{NONCE}\nreason\n").as_bytes());
    let (noise, kept) = tail.split();
    assert_eq!((noise.as_slice(), kept.bytes.as_slice()), (&b"profile\n"[..], &b"reason\n"[..]));

    let mut flood = StderrTail::new(&ScriptNonce::fixed(NONCE), &Arc::default());
    for _ in 0..300 {
        flood.push(&[b'a'; 1000]);
    }
    flood.push(b"the end");
    let (_, kept) = flood.split();
    assert_eq!(kept.bytes.len(), 64 << 10);
    assert!(kept.truncated && kept.bytes.ends_with(b"the end"));
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_frames(
        noise in prop::collection::vec(any::<u8>(), 0..200),
        output in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'k'), any::<u8>()], 0..400),
        status in 0u32..256,
        cuts in prop::collection::vec(1usize..40, 0..100),
    ) {
        let all = framed(&noise, &output, status);
        let mut pieces = Vec::new();
        let mut rest = all.as_slice();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece.to_vec());
            rest = after;
        }
        pieces.push(rest.to_vec());
        let framer = read(pieces, 1 << 20);
        prop_assert_eq!(&framer.noise.bytes, &noise);
        prop_assert_eq!(&framer.output.bytes, &output);
        prop_assert_eq!(framer.status, Some(status));
    }
}
