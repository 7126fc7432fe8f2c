//! Until when an operation may take.

use serde_json::Value;

use super::object;

/// In seconds since 1970, from what an operation and its status say. What it says itself (`activeDeadlineSeconds`) counts from its first start, whatever happens
/// meanwhile; the operator's own `seconds` not while somebody is to approve a plan, and anew once that is done: nobody works then, and an approval may
/// take a night.
pub(super) fn until(data: Option<&Value>, seconds: i64, now: i64) -> i64 {
    let time = |text: &str| text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second);
    let began = data.and_then(|data| time(object::text(data, "/status/startTime")?)).unwrap_or(now);
    let seconds_asked =
        data.and_then(|data| data.pointer("/spec/activeDeadlineSeconds")).and_then(Value::as_i64).filter(|seconds| *seconds > 0);
    if let Some(seconds) = seconds_asked {
        return began.saturating_add(seconds);
    }
    let approved = data.and_then(|data| object::condition(data, "conditions", "Approved"));
    let since = match approved.and_then(|condition| object::text(condition, "/status")) {
        Some("True") => approved.and_then(|condition| time(object::text(condition, "/lastTransitionTime")?)).unwrap_or(began),
        Some(_) => now,
        None => began,
    };
    since.max(began).saturating_add(seconds)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::until;

    /// 2026-11-27T00:00:00Z.
    const BEGAN: i64 = 1_795_737_600;

    fn seconds_until_deadline(spec: Value, conditions: Value, now: i64) -> i64 {
        let data = json!({"spec": spec, "status": {"startTime": "2026-11-27T00:00:00Z", "conditions": conditions}});
        until(Some(&data), 7200, now) - BEGAN
    }

    #[test]
    fn it_counts_from_the_first_start() {
        assert_eq!(until(None, 7200, BEGAN), BEGAN + 7200, "nothing is written yet");
        assert_eq!(seconds_until_deadline(json!({}), json!([]), BEGAN + 7000), 7200);
        assert_eq!(seconds_until_deadline(json!({"activeDeadlineSeconds": 60}), json!([]), BEGAN + 7000), 60);
        assert_eq!(seconds_until_deadline(json!({"activeDeadlineSeconds": 0}), json!([]), BEGAN + 7000), 7200, "as where nothing is said");
    }

    /// A plan that is approved in the morning is carried out, by a replica too that begins only then.
    #[test]
    fn it_does_not_count_while_a_plan_is_to_be_approved() {
        let night = 9 * 3600;
        let approved = |status: &str, at: &str| json!([{"type": "Approved", "status": status, "lastTransitionTime": at}]);
        assert_eq!(seconds_until_deadline(json!({}), approved("False", "2026-11-27T00:01:00Z"), BEGAN + night), night + 7200);
        assert_eq!(seconds_until_deadline(json!({}), approved("True", "2026-11-27T09:00:00Z"), BEGAN + night + 600), night + 7200);
        let said = json!({"activeDeadlineSeconds": 60});
        assert_eq!(
            seconds_until_deadline(said, approved("False", "2026-11-27T00:01:00Z"), BEGAN + night),
            60,
            "what the operation says counts all of it"
        );
        assert_eq!(seconds_until_deadline(json!({}), approved("True", "soon"), BEGAN + night), 7200);
    }
}
