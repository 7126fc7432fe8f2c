//! Fields of how backups are made.

use super::{Part, ValueKind, leaf};
use crate::decode::Form;

/// How backups are made.
pub(crate) const BACKUP: Part = Part {
    form: Form {
        what: "the field `backup`",
        fields: &["to", "recipients", "encrypt", "keep", "schedule"],
        refused: &[("folder", "write it as `to: {folder: …}`"), ("retention", "write it as `keep: {last: …}`")],
    },
    leaves: &[
        leaf(
            "recipients",
            "backup_recipients",
            ValueKind::ListOfTexts,
            "Whom backups are encrypted to: public keys (`age1…`) as `age-keygen` makes them.",
        ),
        leaf("encrypt", "backup_encrypt", ValueKind::Flag, "Whether backups have to be encrypted; `false` instead of recipients."),
        leaf(
            "schedule",
            "backup_schedule",
            ValueKind::Text,
            "When backups are to be made, in UTC: five fields as cron has them. The operator makes them; without it `kokctl backup timer` prints a timer, and `status` says what is overdue.",
        ),
    ],
    inner: &[("to", &BACKUP_TO), ("keep", &BACKUP_KEEP)],
};

pub(crate) const BACKUP_TO: Part = Part {
    form: Form {
        what: "the field `to`",
        fields: &["folder", "s3"],
        refused: &[("bucket", "write it as `s3: {bucket: …}`"), ("path", "write it as `folder: …`")],
    },
    leaves: &[leaf(
        "folder",
        "etcd_backup_prefix",
        ValueKind::Text,
        "A folder of the machine that kokctl runs on, as seen from the folder of this file.",
    )],
    inner: &[("s3", &BACKUP_S3)],
};

pub(crate) const BACKUP_S3: Part = Part {
    form: Form {
        what: "the field `s3`",
        fields: &["bucket", "endpoint", "region", "prefix", "credentialsFile", "caFile"],
        refused: &[
            ("accessKey", "put it into a file, and name that by `credentialsFile`"),
            ("secretKey", "put it into a file, and name that by `credentialsFile`"),
            ("sse", "leave it out: backups are encrypted for `recipients`; what the server does besides is a setting of the bucket"),
        ],
    },
    leaves: &[
        leaf("bucket", "backup_s3_bucket", ValueKind::Text, "The bucket, which has to be there."),
        leaf(
            "endpoint",
            "backup_s3_endpoint",
            ValueKind::Text,
            "Address of the server, such as `https://s3.example.com`; Amazon's of the region without it.",
        ),
        leaf("region", "backup_s3_region", ValueKind::Text, "The region; `us-east-1` without it."),
        leaf("prefix", "backup_s3_prefix", ValueKind::Text, "What stands before the names of backups, such as `clusters/demo`."),
        leaf(
            "credentialsFile",
            "backup_s3_credentials_file",
            ValueKind::Text,
            "A file of the machine that kokctl runs on, as seen from the folder of this file, with `aws_access_key_id` and `aws_secret_access_key` under `[default]`.",
        ),
        leaf(
            "caFile",
            "backup_s3_ca_file",
            ValueKind::Text,
            "CA certificates in PEM that the server's is signed by, besides the system's; a file as seen from there.",
        ),
    ],
    inner: &[],
};

/// More than anybody has a use for.
const MOST_BACKUPS: i64 = crate::variables::MOST_BACKUPS;

pub(crate) const BACKUP_KEEP: Part = Part {
    form: Form { what: "the field `keep`", fields: &["last", "daily", "weekly", "monthly"], refused: &[] },
    leaves: &[
        leaf("last", "etcd_backup_retention_count", ValueKind::Number(1, MOST_BACKUPS), "The last backups stay, so many."),
        leaf("daily", "backup_keep_daily", ValueKind::Number(1, MOST_BACKUPS), "The last backup of each of so many days stays."),
        leaf("weekly", "backup_keep_weekly", ValueKind::Number(1, MOST_BACKUPS), "The last backup of each of so many weeks stays."),
        leaf("monthly", "backup_keep_monthly", ValueKind::Number(1, MOST_BACKUPS), "The last backup of each of so many months stays."),
    ],
    inner: &[],
};
