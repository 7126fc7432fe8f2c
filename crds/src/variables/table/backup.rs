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
    text("backup_s3_bucket", "none", "The bucket that `kokctl backup create` writes to, besides a folder or instead of it.")
        .reads(backup::bucket),
    text("backup_s3_endpoint", "Amazon's of the region", "Address of the server that speaks S3.").reads(backup::endpoint),
    text("backup_s3_region", "us-east-1", "The region of the bucket.").reads(backup::region),
    text("backup_s3_prefix", "none", "What stands before the names of backups in the bucket.").reads(backup::prefix),
    text(
        "backup_s3_credentials_file",
        "none",
        "A file with `aws_access_key_id` and `aws_secret_access_key`, as seen from the folder of the file.",
    )
    .reads(backup::credentials),
    text("backup_s3_ca_file", "none", "CA certificates in PEM for the server that speaks S3, as seen from the folder of the file.")
        .reads(backup::ca),
    value(
        "backup_recipients",
        "list of recipients of age",
        "none",
        "Whom backups are encrypted to: public keys (`age1…`) as `age-keygen` makes them.",
    )
    .reads(backup::recipients),
    flag("backup_encrypt", "true", "Whether backups have to be encrypted; `false` instead of recipients.").reads(backup::encrypt),
    value("backup_schedule", "five fields of cron", "none", "When backups are to be made, in UTC, such as `0 */6 * * *`.")
        .reads(backup::schedule),
    number("backup_keep_daily", "none", "The last backup of each of so many days stays.").reads(backup::daily),
    number("backup_keep_weekly", "none", "The last backup of each of so many weeks stays.").reads(backup::weekly),
    number("backup_keep_monthly", "none", "The last backup of each of so many months stays.").reads(backup::monthly),
];
