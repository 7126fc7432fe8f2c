//! The images that containerd holds for Kubernetes.

use std::collections::BTreeMap;
use std::str;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::parse::ParseError;
use super::state::{ImageState, ImageStore};

/// Asks containerd's API for its list by curl, where curl can: one message of gRPC (a byte for no compression, four for the length, protobuf), of which the
/// question is empty. `ctr` takes several times as long to start, and asks for the content of each image besides, which nobody needs here. It is asked where
/// curl got no answer: of its words only the first one, the one that begins with `sha256:` and the label of pinned images matter.
pub(super) const SCRIPT: &str = r#"mark images
if [ -S /run/containerd/containerd.sock ]; then
  listed=$(printf '\000\000\000\000\000' | curl -q -sf -A kokctl --max-time 5 --http2-prior-knowledge --unix-socket /run/containerd/containerd.sock \
    -H 'Content-Type: application/grpc' -H 'TE: trailers' -H 'containerd-namespace: k8s.io' --data-binary @- \
    http://localhost/containerd.services.images.v1.Images/List 2>/dev/null | base64 -w 0)
  if [ -n "$listed" ]; then printf 'listed %s\n' "$listed"; else /usr/local/bin/ctr -n k8s.io images ls 2>/dev/null || echo unavailable; fi
else
  echo unavailable
fi
"#;

/// The label of an image that a kubelet does not remove, and its value.
const PINNED: (&str, &str) = ("io.cri-containerd.pinned", "pinned");

/// A kubelet removes images long before there are as many.
const MOST_IMAGES: usize = 10_000;

pub(super) fn read(text: &str) -> Result<ImageStore, ParseError> {
    if text.trim() == "unavailable" {
        return Ok(ImageStore::Unavailable);
    }
    let mut images = BTreeMap::new();
    if let Some(listed) = text.trim().strip_prefix("listed ") {
        let wrong = || ParseError::new("images", listed);
        let message = STANDARD.decode(listed).map_err(|_| wrong())?;
        read_list(&message, &mut images).ok_or_else(wrong)?;
    } else {
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("REF ")) {
            add(&mut images, read_line(line)).ok_or_else(|| ParseError::new("images", line))?;
        }
    }
    Ok(ImageStore::Images(images))
}

/// Adds an image that could be read, as long as there are not too many.
fn add(images: &mut BTreeMap<String, ImageState>, image: Option<(String, ImageState)>) -> Option<()> {
    let (reference, state) = image.filter(|_| images.len() < MOST_IMAGES)?;
    images.insert(reference, state);
    Some(())
}

/// `ctr` prints reference, type, digest, size, platforms and labels, separated by blanks.
fn read_line(line: &str) -> Option<(String, ImageState)> {
    let mut words = line.split_ascii_whitespace();
    let reference = words.next().unwrap_or_default().to_owned();
    let digest = words.find(|word| word.starts_with("sha256:"))?.to_owned();
    let pinned = line.contains(&format!("{}={}", PINNED.0, PINNED.1));
    Some((reference, ImageState { digest, pinned }))
}

/// A message of gRPC with a `ListImagesResponse` (containerd's `api/services/images/v1/images.proto`): images, as field 1.
fn read_list(message: &[u8], images: &mut BTreeMap<String, ImageState>) -> Option<()> {
    let (begin, mut rest) = message.split_at_checked(5)?;
    let (compressed, length) = begin.split_first()?;
    let length = u32::from_be_bytes(length.try_into().ok()?);
    if *compressed != 0 || usize::try_from(length).ok()? != rest.len() {
        return None;
    }
    while !rest.is_empty() {
        if let (1, image) = next_field(&mut rest)? {
            add(images, read_image(image))?;
        }
    }
    Some(())
}

/// Its name is field 1, its labels are fields 2 (a key as field 1, a value as field 2), and what it leads to is field 3, with the digest as field 2.
fn read_image(mut rest: &[u8]) -> Option<(String, ImageState)> {
    let (mut reference, mut digest, mut pinned) = ("", "", false);
    while !rest.is_empty() {
        match next_field(&mut rest)? {
            (1, name) => reference = str::from_utf8(name).ok()?,
            (2, label) => pinned |= text_of(label, 1)? == PINNED.0 && text_of(label, 2)? == PINNED.1,
            (3, target) => digest = text_of(target, 2)?,
            _ => {}
        }
    }
    let is_whole = !reference.is_empty() && digest.starts_with("sha256:");
    is_whole.then(|| (reference.to_owned(), ImageState { digest: digest.to_owned(), pinned }))
}

/// The text that is this field of a message; the last one counts, and empty ones are left out.
fn text_of(mut rest: &[u8], wanted: u64) -> Option<&str> {
    let mut text = "";
    while !rest.is_empty() {
        let (number, bytes) = next_field(&mut rest)?;
        if number == wanted {
            text = str::from_utf8(bytes).ok()?;
        }
    }
    Some(text)
}

/// Takes a field of protobuf: its number, and its bytes if it has a length of its own.
fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let key = next_number(rest)?;
    let length = match key & 7 {
        0 => {
            next_number(rest)?;
            0
        }
        1 => 8,
        2 => usize::try_from(next_number(rest)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some((key >> 3, if key & 7 == 2 { bytes } else { &[] }))
}

/// Takes a number of protobuf: seven bits of each byte, the lowest first, up to one without the eighth.
fn next_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = [u8::try_from(bytes.len() & 0x7f).unwrap() | 0x80, u8::try_from(bytes.len() >> 7).unwrap()];
        [[(number << 3) | 2].as_slice(), &length, bytes].concat()
    }

    fn image(name: &str, label: (&str, &str), digest: &str) -> Vec<u8> {
        let label = [field(1, label.0.as_bytes()), field(2, label.1.as_bytes())].concat();
        // Its media type before, its size (a number), and times behind.
        let target =
            [field(1, b"application/vnd.oci.image.manifest.v1+json"), field(2, digest.as_bytes()), vec![3 << 3, 0x80, 0x01]].concat();
        let image = [field(1, name.as_bytes()), field(2, &label), field(3, &target), field(7, &[1 << 3, 5])].concat();
        field(1, &image)
    }

    fn listed(list: &[u8]) -> String {
        let length = u32::try_from(list.len()).unwrap().to_be_bytes();
        format!("listed {}\n", STANDARD.encode([[0].as_slice(), &length, list].concat()))
    }

    #[test]
    fn a_list_of_containerd_is_read_as_that_of_ctr() {
        let list = [image("r/a:1", PINNED, "sha256:01"), image("r/b:2", ("io.cri-containerd.pinned", "no"), "sha256:02")].concat();
        let said = "REF TYPE DIGEST SIZE PLATFORMS LABELS\nr/a:1 type sha256:01 1 MiB linux/amd64 x=y,io.cri-containerd.pinned=pinned\n\
                    r/b:2 type sha256:02 1 MiB linux/amd64 io.cri-containerd.pinned=no\n";
        let state = |digest: &str, pinned| ImageState { digest: digest.to_owned(), pinned };
        let images = [("r/a:1".to_owned(), state("sha256:01", true)), ("r/b:2".to_owned(), state("sha256:02", false))];
        assert_eq!(read(&listed(&list)), Ok(ImageStore::Images(images.clone().into())));
        assert_eq!(read(said), Ok(ImageStore::Images(images.into())));
        assert_eq!(read(&listed(&[])), Ok(ImageStore::Images(BTreeMap::new())));
    }

    #[test]
    fn what_is_no_list_is_no_answer() {
        let list = image("r/a:1", PINNED, "sha256:01");
        for length in 0..list.len() {
            let cut_off = &list[..length];
            assert_eq!(read(&listed(cut_off)).is_err(), length > 0, "{length}");
        }
        let longer = STANDARD.encode([[0, 0, 0, 0, 1].as_slice(), &list].concat());
        for text in ["listed", "listed !", "listed AAAA", "listed AQAAAAA=", &format!("listed {longer}")] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&listed(&image("", PINNED, "sha256:01"))).is_err(), "it has no name");
        assert!(read(&listed(&[0xff; 32])).is_err());
    }
}
