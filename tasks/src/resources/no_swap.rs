//! No swap.

use super::Act;
use crate::change::{ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations};
use crate::script::Fragment;

/// No swap, now and after the next start. Lines of /etc/fstab are kept as comments that begin with `#kokctl# `, and what else was switched off
/// stands in /var/lib/kokctl/swap, so that `reset` can put it back: `masked UNIT`, `aside FILE`, `enabled UNIT`, `zram`, one a line and each there
/// before the thing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSwap;

/// A container may not even ask to switch off what is not on. A unit file that stands in /etc/systemd/system itself can't be masked by systemctl: it
/// gives way at once to the link that masks it, after a copy was put aside.
const SCRIPT: &str = r#"note() { mkdir -p -m 700 /var/lib/kokctl && printf '%s\n' "$1" >>/var/lib/kokctl/swap; }
off() { [ "$(grep -c ^/ /proc/swaps)" = 0 ] || swapoff -a; }
off
if [ -e /etc/fstab ]; then
  temporary=/etc/.kokctl-fstab
  trap 'rm -f "$temporary"' EXIT
  cp -p /etc/fstab "$temporary"
  sed -E 's/^([[:space:]]*[^#[:space:]]+[[:space:]]+[^[:space:]]+[[:space:]]+swap([[:space:]].*)?)$/#kokctl# \1/' /etc/fstab >"$temporary"
  cmp -s "$temporary" /etc/fstab || { sync "$temporary"; mv -fT "$temporary" /etc/fstab; sync /etc; }
fi
for unit in /etc/systemd/system/*.swap /usr/lib/systemd/system/*.swap /lib/systemd/system/*.swap /run/systemd/generator.late/*.swap; do
  [ -f "$unit" ] || continue
  name=${unit##*/} own=/etc/systemd/system/${unit##*/}
  is=$(systemctl is-enabled -- "$name" 2>/dev/null) || :
  [ "$is" != masked ] || continue
  if [ "$is" = enabled ]; then note "enabled $name"; systemctl disable --quiet -- "$name" 2>/dev/null || :; fi
  if [ -f "$own" ] && [ ! -L "$own" ]; then note "aside $own"; cp -p -- "$own" "$own.kokctl"; sync "$own.kokctl"; fi
  note "masked $name"
  ln -sfn /dev/null /etc/systemd/system/.kokctl-mask
  mv -fT /etc/systemd/system/.kokctl-mask "$own"
done
for file in /etc/systemd/zram-generator.conf /usr/local/lib/systemd/zram-generator.conf /usr/lib/systemd/zram-generator.conf; do
  [ -s "$file" ] || continue
  note zram
  [ "$file" != /etc/systemd/zram-generator.conf ] || { cp -p "$file" "$file.kokctl"; sync "$file.kokctl"; }
  : >/etc/systemd/zram-generator.conf
done
if [ -e /etc/systemd/system/multi-user.target.wants/zramswap.service ]; then
  note 'enabled zramswap.service'
  systemctl disable --quiet --now zramswap.service
fi
systemctl daemon-reload
off
"#;

impl NoSwap {
    pub(super) fn looks() -> Vec<Look> {
        vec![Look::Swap]
    }

    pub(super) fn diff(seen: &Observations) -> Verdict {
        let state = seen!(&seen.swap);
        if state.is_off() {
            return Verdict::Same;
        }
        let because = if let Some(device) = state.active.first() {
            format!("{device} is in use as swap")
        } else if let Some(line) = state.fstab.first() {
            format!("/etc/fstab would switch it on at the next start: {line}")
        } else {
            format!("{} would switch it on at the next start", state.units.iter().cloned().collect::<Vec<_>>().join(", "))
        };
        Verdict::differs(ChangeKind::SwitchOff, because)
    }

    pub(super) fn act() -> Act {
        Act::Script(Fragment::text(SCRIPT))
    }
}
