//! Swap, now and after the next start.

use std::collections::BTreeSet;

/// What is on; lines of /etc/fstab that would switch it on; units that would, but for those that systemd makes of these lines; and whether
/// swap in compressed memory is configured. All of it is read by the shell itself but for the lines of /etc/fstab.
pub(super) const SCRIPT: &str = r#"mark swap
while IFS= read -r line; do printf '%s\n' "$line"; done </proc/swaps
mark swap-fstab
grep -sE '^[[:space:]]*[^#[:space:]]+[[:space:]]+[^[:space:]]+[[:space:]]+swap[[:space:]]' /etc/fstab
mark swap-units
for unit in /etc/systemd/system/*.swap /usr/lib/systemd/system/*.swap /lib/systemd/system/*.swap /run/systemd/generator.late/*.swap; do
  [ -f "$unit" ] || continue
  [ -L "/etc/systemd/system/${unit##*/}" ] && [ ! -s "/etc/systemd/system/${unit##*/}" ] && continue
  echo "${unit##*/}"
done
if [ -e /etc/systemd/zram-generator.conf ]; then [ -s /etc/systemd/zram-generator.conf ] && echo zram-generator.conf; else
  for file in /usr/lib/systemd/zram-generator.conf /usr/local/lib/systemd/zram-generator.conf; do [ -s "$file" ] && echo zram-generator.conf; done
fi
for link in /etc/systemd/system/multi-user.target.wants/zramswap.service; do [ -e "$link" ] && echo zramswap.service; done
"#;

/// What of swap is on, and what would switch it on at the next start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SwapState {
    /// Devices and files that are in use as swap.
    pub active: BTreeSet<String>,
    /// Lines of /etc/fstab that ask for swap.
    pub fstab: Vec<String>,
    /// Units of swap that are not masked, `zram-generator.conf` for a configuration of that program, `zramswap.service`.
    pub units: BTreeSet<String>,
}

impl SwapState {
    /// Whether there is no swap, and will be none.
    #[must_use]
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }
}

pub(super) fn read(swaps: &str, fstab: &str, units: &str) -> SwapState {
    let lines = |text: &str| text.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let device = |line: &str| line.split_ascii_whitespace().next().map(str::to_owned);
    SwapState { active: swaps.lines().skip(1).filter_map(device).collect(), fstab: lines(fstab), units: lines(units).into_iter().collect() }
}
