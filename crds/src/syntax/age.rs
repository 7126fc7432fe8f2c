//! Recipients of age, to whom something is encrypted: a public key in Bech32 (BIP 173), as `age-keygen` writes it.

const LETTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const PREFIX: &str = "age";
/// 32 bytes in groups of five bits, and a checksum of six of them.
const GROUPS: usize = 52 + 6;
const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];

/// What is wrong with a recipient, if anything is.
pub(crate) fn recipient_fault(text: &str) -> Option<&'static str> {
    if text.starts_with("AGE-SECRET-KEY-") {
        return Some("it is a private key, which belongs in no file of a cluster; its public one begins with `age1`");
    }
    if text.starts_with("ssh-") {
        return Some("it is a key of ssh, and those are not taken");
    }
    let Some(data) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('1')) else {
        return Some("a recipient begins with `age1`, as `age-keygen` writes it");
    };
    let groups: Option<Vec<u8>> = data.bytes().map(group).collect();
    match groups {
        None => Some("it has letters that no recipient has"),
        Some(groups) if groups.len() != GROUPS => {
            Some("it does not have the length of a public key; no other kinds of recipients are taken")
        }
        Some(groups) if checksum(&groups) != 1 => Some("its checksum is wrong, so that some letter of it is"),
        Some(_) => None,
    }
}

fn group(letter: u8) -> Option<u8> {
    LETTERS.iter().position(|known| *known == letter).and_then(|index| u8::try_from(index).ok())
}

fn checksum(groups: &[u8]) -> u32 {
    let high = PREFIX.bytes().map(|letter| letter >> 5);
    let low = PREFIX.bytes().map(|letter| letter & 31);
    high.chain([0]).chain(low).chain(groups.iter().copied()).fold(1, |sum, group| {
        let top = sum >> 25;
        let sum = ((sum & 0x01ff_ffff) << 5) ^ u32::from(group);
        GENERATOR.iter().enumerate().filter(|(bit, _)| (top >> bit) & 1 == 1).fold(sum, |sum, (_, generator)| sum ^ generator)
    })
}

#[cfg(test)]
mod tests {
    use super::recipient_fault;

    /// From age's own documentation (README of filippo.io/age).
    const GOOD: [&str; 2] = [
        "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
        "age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg",
    ];

    #[test]
    fn what_age_writes_is_a_recipient() {
        for good in GOOD {
            assert_eq!(recipient_fault(good), None, "{good}");
        }
    }

    #[test]
    fn a_wrong_letter_is_found_wherever_it_is() {
        let good = GOOD[0];
        for index in 4..good.len() {
            for letter in ['q', 'p', 'b', 'A', ' '] {
                let wrong: String = good.chars().enumerate().map(|(at, is)| if at == index { letter } else { is }).collect();
                assert!(wrong == good || recipient_fault(&wrong).is_some(), "{wrong}");
            }
        }
        let more = format!("{good}q");
        for wrong in ["", "age1", &good[..61], &more, "ssh-ed25519 AAAA", "AGE-SECRET-KEY-1QQ", "age1tag1qqqq"] {
            assert!(recipient_fault(wrong).is_some(), "{wrong}");
        }
    }
}
