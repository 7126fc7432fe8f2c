//! What goes wrong on the way, where, and how often.

use std::str::FromStr;

/// What goes wrong with the answer to a request for content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends once behind so many bytes, where the answer has more.
    Cut(u64),
    /// Other bytes come, each time.
    Wrong,
    /// Another status comes once; 429 asks for a second of rest.
    Status(u16),
    /// More bytes are promised once than come.
    Longer(u64),
    /// So many bytes come in a second, each time.
    Slow(u64),
    /// The content is at another host, each time.
    Redirect(String),
}

impl Fault {
    pub(super) fn is_once(&self) -> bool {
        matches!(self, Self::Cut(_) | Self::Status(_) | Self::Longer(_))
    }

    /// A cut behind the end is none.
    fn applies(&self, length: u64) -> bool {
        !matches!(self, Self::Cut(at) if *at >= length)
    }
}

/// A fault, with where it is: at addresses (`HOST/PATH`) that end so, or that contain it, if it ends with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlace {
    /// The part of the address.
    pub part: String,
    /// What goes wrong there.
    pub fault: Fault,
}

impl FaultPlace {
    pub(super) fn matches(&self, address: &str, length: u64) -> bool {
        let is_here = address.ends_with(&self.part) || self.part.ends_with('/') && address.contains(&self.part);
        is_here && self.fault.applies(length)
    }
}

/// `PART=KIND` or `PART=KIND:VALUE`.
impl FromStr for FaultPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || format!("{text} is not PART=FAULT with cut:BYTES, wrong, status:CODE, longer:BYTES, slow:BYTES or redirect:HOST");
        let (part, fault) = text.split_once('=').ok_or_else(usage)?;
        let (kind, value) = fault.split_once(':').unwrap_or((fault, ""));
        let number = || value.parse::<u64>().map_err(|_| usage());
        let fault = match kind {
            "cut" => Fault::Cut(number()?),
            "wrong" => Fault::Wrong,
            "status" => Fault::Status(value.parse().map_err(|_| usage())?),
            "longer" => Fault::Longer(number()?),
            "slow" => Fault::Slow(number()?.max(1)),
            "redirect" if !value.is_empty() => Fault::Redirect(value.to_owned()),
            _ => return Err(usage()),
        };
        Ok(Self { part: part.to_owned(), fault })
    }
}
