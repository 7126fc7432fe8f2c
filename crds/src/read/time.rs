//! Where the hosts take their time from.

use std::net::IpAddr;

use crate::Problem;
use crate::decode::{Decoder, Field, Form};
use crate::model::TimeSync;
use crate::syntax::name::dns_name;
use crate::words::quote;

pub(crate) const TIME: Form = Form {
    what: "the time of a cluster",
    fields: &["servers", "sources", "maxSkewSeconds"],
    refused: &[("ntpServers", "write them as `servers`")],
};

/// An hour: within it at least the certificates of a fresh cluster are valid everywhere.
pub(crate) const MOST_SKEW_SECONDS: i64 = 3600;

pub(crate) fn read(decoder: &mut Decoder, field: Option<Field<'_>>) -> TimeSync {
    let mut time = TimeSync::default();
    let Some(fields) = field.as_ref().and_then(|field| decoder.fields(field, &TIME)) else {
        return time;
    };
    if let Some(field) = fields.get("servers") {
        for (text, item) in decoder.texts(&field, "it is a list of NTP servers") {
            let is_server = text.parse::<IpAddr>().is_ok() || dns_name(&text.to_ascii_lowercase()).is_none();
            if !is_server {
                let problem = Problem::new(format!("{} is no NTP server", quote(text)));
                decoder.report(
                    problem
                        .at(item.position())
                        .because("it is a DNS name or an IP address")
                        .hint("write one, for example `ntp1.example.org`"),
                );
            }
            remember(decoder, &mut time.servers, text, &item);
        }
    }
    if let Some(field) = fields.get("sources") {
        for (text, item) in decoder.texts(&field, "it is a list of host names") {
            remember(decoder, &mut time.sources, text, &item);
        }
        if !time.servers.is_empty() && !time.sources.is_empty() {
            decoder.report(
                Problem::new("the time has both `servers` and `sources`")
                    .at(field.position())
                    .because("hosts ask NTP servers, or else some of them serve their own time to the others")
                    .hint("leave one of the two out"),
            );
        }
    }
    let limit = fields.get("maxSkewSeconds").and_then(|field| decoder.integer(&field, 1..=MOST_SKEW_SECONDS));
    time.max_skew_seconds = limit.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(time.max_skew_seconds);
    time
}

fn remember(decoder: &mut Decoder, list: &mut Vec<String>, text: &str, item: &Field<'_>) {
    if list.iter().any(|other| other == text) {
        let problem = Problem::new(format!("{} stands twice", quote(text))).at(item.position());
        decoder.report(problem.because("a list of sources of time has each of them once").hint("keep one of the two"));
    }
    list.push(text.to_owned());
}
