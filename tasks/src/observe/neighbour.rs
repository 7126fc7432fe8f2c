//! Whether somebody in a host's network has an address.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use super::parse::{ParseError, Section, body_of};
use crate::operations::VIRTUAL_ROUTER_CONFIGURATION;

/// Who has an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Neighbour {
    /// The host itself.
    Own,
    /// It moves, and the host is one of those that it moves to: nobody was asked.
    Ours,
    /// Whoever has this hardware address.
    Answers(String),
    /// Nobody answers.
    Silent,
}

/// A packet to the address makes the kernel ask who has it (ARP, RFC 826), which no firewall keeps from being answered; to which port is of no interest
/// (9 is `discard`). bash sends one without any other program. What the kernel remembers of the address is forgotten first: it may be of last week.
/// The kernel asks three times, a second apart; a neighbour answers the first within milliseconds.
const ASK: &str = r#"ask_neighbour() {
  mark neighbour "$1"
  if grep -qsF " $1/32 " @CONFIGURATION@; then echo ours; return; fi
  if ip -o addr show to "$1" 2>/dev/null | grep -q .; then echo own; return; fi
  ip neigh flush to "$1" >/dev/null 2>&1
  bash -c 'echo >"/dev/udp/$1/9"' bash "$1" 2>/dev/null
  tries=15
  while [ "$tries" -gt 0 ]; do
    said=$(ip neigh show to "$1" 2>/dev/null)
    case $said in
      *lladdr*) said=${said#*lladdr }; echo "answers ${said%% *}"; return;;
      *FAILED*) break;;
    esac
    tries=$((tries - 1))
    sleep 0.1
  done
  echo silent
}
"#;

pub(super) fn push(script: &mut String, addresses: impl Iterator<Item = Ipv4Addr>) {
    let mut asked = String::new();
    for address in addresses {
        let _ = writeln!(asked, "ask_neighbour {address}");
    }
    if !asked.is_empty() {
        script.push_str(&ASK.replace("@CONFIGURATION@", VIRTUAL_ROUTER_CONFIGURATION));
        script.push_str(&asked);
    }
}

pub(super) fn read(
    sections: &[Section<'_>],
    addresses: impl Iterator<Item = Ipv4Addr>,
) -> Result<BTreeMap<Ipv4Addr, Neighbour>, ParseError> {
    addresses.map(|address| Ok((address, read_one(sections, address)?))).collect()
}

fn read_one(sections: &[Section<'_>], address: Ipv4Addr) -> Result<Neighbour, ParseError> {
    let answer = String::from_utf8_lossy(body_of(sections, "neighbour", &address.to_string())?).into_owned();
    match answer.trim().split_once(' ').unwrap_or((answer.trim(), "")) {
        ("own", "") => Ok(Neighbour::Own),
        ("ours", "") => Ok(Neighbour::Ours),
        ("silent", "") => Ok(Neighbour::Silent),
        // It goes into messages.
        ("answers", mac) if !mac.is_empty() && mac.len() < 64 && mac.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':') => {
            Ok(Neighbour::Answers(mac.to_owned()))
        }
        _ => Err(ParseError::new("neighbour", &answer)),
    }
}
