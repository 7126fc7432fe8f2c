//! What `kokctl kubeconfig` is told of a user.

use std::time::Duration;

use clap::Args;
use kok_tasks::user_certificate::{LEAST_VALIDITY, refused};

use crate::failure::{Failure, Kind};

/// Whose kubeconfig it is.
#[derive(Debug, Args)]
pub(super) struct UserArguments {
    /// Not the administrator's, but one for a user of this name: the key is made here, and the cluster signs the certificate. What they may do is what rules
    /// of access (RBAC) give the user or the group
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The group that the user is in
    #[arg(long, value_name = "GROUP", requires = "user")]
    group: Option<String>,
    /// For how long the user may log in with it, such as 90m, 8h or 30d; the cluster may give less
    #[arg(long, value_name = "TIME", default_value = "8h", value_parser = validity, requires = "user")]
    ttl: Duration,
}

/// A user who gets a certificate.
pub(super) struct WantedUser<'a> {
    pub(super) user: &'a str,
    pub(super) group: Option<&'a str>,
    pub(super) validity: Duration,
}

impl UserArguments {
    /// Who it is for; nobody, if it is the administrator's.
    ///
    /// # Errors
    /// That nobody gets a certificate with this name or group.
    pub(super) fn wanted(&self) -> Result<Option<WantedUser<'_>>, Failure> {
        let Some(user) = self.user.as_deref() else { return Ok(None) };
        let group = self.group.as_deref();
        if let Some(because) = refused(user, group) {
            let failure = Failure::new(Kind::Input, "no certificate is asked for").because(because);
            return Err(failure
                .hint("name another user or group, and bind it to what it is to do; without --user it is the administrator's kubeconfig"));
        }
        Ok(Some(WantedUser { user, group, validity: self.ttl }))
    }
}

/// A number of minutes, hours or days.
fn validity(text: &str) -> Result<Duration, String> {
    let wrong = || "it is a number with m, h or d behind it, such as 8h".to_owned();
    let unit = match text.chars().last() {
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = text.get(..text.len() - 1).and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    let seconds = number.checked_mul(unit).filter(|seconds| i32::try_from(*seconds).is_ok()).ok_or("it is too long")?;
    let validity = Duration::from_secs(seconds);
    if validity < LEAST_VALIDITY { Err("Kubernetes signs for no less than 10m".to_owned()) } else { Ok(validity) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_is_not_too_short() {
        assert_eq!(["10m", "8h", "30d"].map(|text| validity(text).map(|time| time.as_secs())), [Ok(600), Ok(28_800), Ok(2_592_000)]);
        for wrong in ["", "8", "h", "9m", "-1h", "1w", "99999999d", "1.5h", "8é"] {
            assert!(validity(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn who_gets_none_is_told_why() {
        let of = |user: &str, group: Option<&str>| UserArguments {
            user: Some(user.to_owned()),
            group: group.map(str::to_owned),
            ttl: LEAST_VALIDITY,
        };
        assert!(of("jane", Some("dev")).wanted().is_ok_and(|wanted| wanted.is_some_and(|wanted| wanted.user == "jane")));
        assert!(of("jane", Some("system:masters")).wanted().is_err_and(|failure| failure.kind == Kind::Input));
        assert!(UserArguments { user: None, group: None, ttl: LEAST_VALIDITY }.wanted().is_ok_and(|wanted| wanted.is_none()));
    }
}
