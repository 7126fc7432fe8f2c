#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use super::*;

fn bucket(prefix: &str) -> Bucket {
    let s3 = S3 { bucket: Some("backups".to_owned()), prefix: prefix.to_owned(), ..S3::default() };
    let key = BucketKey { id: "id".to_owned(), secret: Zeroizing::new("secret".to_owned()) };
    Bucket::new(&s3, &key, None, None).unwrap_or_else(|failure| panic!("{failure:?}"))
}

#[test]
fn a_key_is_read_as_amazons_own_tools_have_it() {
    let text =
        "# of the team\n[other]\naws_access_key_id = a\n[default]\naws_access_key_id=AK\naws_secret_access_key = s/e=c\nregion = x\n";
    let key = BucketKey::parse(text).unwrap_or_else(|because| panic!("{because}"));
    assert_eq!((key.id.as_str(), key.secret.as_str()), ("AK", "s/e=c"));
    let because = |text: &str| BucketKey::parse(text).err().unwrap();
    assert!(because("").contains("aws_access_key_id"));
    assert!(because("aws_access_key_id = AK\naws_secret_access_key =").contains("aws_secret_access_key"));
    assert!(because("[other]\naws_access_key_id = AK\naws_secret_access_key = s").contains("[default]"));
    assert!(because(&format!("{text}aws_session_token = t\n")).contains("session token"));
}

#[test]
fn an_address_means_what_lies_in_this_bucket() {
    let name = BackupName::parse("demo-20261126T232149Z.kokctl-backup.age").unwrap();
    for prefix in ["", "clusters/demo"] {
        let bucket = bucket(prefix);
        assert_eq!(bucket.named(&bucket.address_of(&name)).unwrap_or_else(|failure| panic!("{failure:?}")), name);
        assert!(!bucket.key(&name.file_name()).to_string().starts_with('/'));
    }
    let bucket = bucket("clusters/demo");
    for other in [
        "s3://others/clusters/demo/demo-20261126T232149Z.kokctl-backup.age",
        "s3://backups/clusters/demo2/demo-20261126T232149Z.kokctl-backup.age",
        "s3://backups/clusters/demo/../demo-20261126T232149Z.kokctl-backup.age",
        "s3://backups/clusters/demo/notes.txt",
    ] {
        assert!(bucket.named(other).is_err(), "{other}");
    }
}
