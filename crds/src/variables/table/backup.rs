//! Variables of backups.

use crate::variables::read::backup;
use crate::variables::row::{Variable, flag, number, text, value};

pub(super) static ROWS: &[Variable] = &[
    text(
        "etcd_backup_prefix",
        "none",
        "The folder of the machine that kokctl runs on, as seen from the folder of the file, that `kokctl backup create` writes to.",
    )
    .reads(backup::folder),
    number("etcd_backup_retention_count", "-1", "How many backups stay; -1 for all.").reads(backup::last).or(&["-1"]),
    value(
        "backup_recipients",
        "list of recipients of age",
        "none",
        "Whom backups are encrypted to: public keys (`age1…`) as `age-keygen` makes them.",
    )
    .reads(backup::recipients),
    flag("backup_encrypt", "true", "Whether backups have to be encrypted; `false` instead of recipients.").reads(backup::encrypt),
    number("backup_keep_daily", "none", "The last backup of each of so many days stays.").reads(backup::daily),
    number("backup_keep_weekly", "none", "The last backup of each of so many weeks stays.").reads(backup::weekly),
    number("backup_keep_monthly", "none", "The last backup of each of so many months stays.").reads(backup::monthly),
];
