//! Values as the programs of Kubernetes read them.

use serde_json::Value as Json;

use crate::syntax::duration::duration;

/// What Go takes for a truth value (`strconv.ParseBool`).
const TRUTHS: [&str; 12] = ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"];

/// What a value of an option has to be, if it is not that. Types as Go's package pflag and Kubernetes call them; of others nothing is known.
pub(super) fn of_option(kind: &str, text: &str) -> Option<&'static str> {
    let (is_right, rule) = match kind {
        "bool" => (TRUTHS.contains(&text), "it is `true` or `false`"),
        "int" | "int64" | "Level" | "severity" => (text.parse::<i64>().is_ok(), "it is a whole number"),
        "int32" => (text.parse::<i32>().is_ok(), "it is a whole number"),
        "uint" | "uint64" => (text.parse::<u64>().is_ok(), "it is a whole number that is not negative"),
        "uint32" => (text.parse::<u32>().is_ok(), "it is a whole number that is not negative"),
        "uint16" => (text.parse::<u16>().is_ok(), "it is a whole number up to 65535"),
        "float32" | "float64" => (text.parse::<f64>().is_ok(), "it is a number"),
        "duration" => (is_duration(text), "it is a time like `30s`, `1m30s` or `1h`"),
        "ip" => (text.parse::<std::net::IpAddr>().is_ok(), "it is an address"),
        "mapStringBool" => (pairs(text).all(|value| TRUTHS.contains(&value)), "it is `name=true` and `name=false` with commas between"),
        "mapStringString" | "mapStringInt64" => (pairs(text).all(|value| !value.is_empty()), "it is `name=value` with commas between"),
        _ => return None,
    };
    (!is_right).then_some(rule)
}

/// The values of `name=value`, empty for what is no such pair.
fn pairs(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.split_once('=').map_or("", |(_, value)| value))
}

/// What Go's `time.ParseDuration` takes, also what is negative.
fn is_duration(text: &str) -> bool {
    duration(text.strip_prefix(['-', '+']).unwrap_or(text)).is_some()
}

/// What a field of a configuration has to be, if a value is not that; `kind` as the tables have it. What is in it is asked for itself.
pub(super) fn of_field(kind: &str, value: &Json) -> Option<&'static str> {
    let whole = |least: i64, most: i64| value.as_i64().is_some_and(|number| (least..=most).contains(&number));
    let (is_right, rule) = match kind {
        "string" => (value.is_string(), "it is text"),
        "bool" => (value.is_boolean(), "it is `true` or `false`"),
        "int" | "int64" => (whole(i64::MIN, i64::MAX), "it is a whole number"),
        "int32" => (whole(i32::MIN.into(), i32::MAX.into()), "it is a whole number"),
        "uint" | "uint64" => (whole(0, i64::MAX), "it is a whole number that is not negative"),
        "uint32" => (whole(0, u32::MAX.into()), "it is a whole number that is not negative"),
        "float32" | "float64" => (value.is_number(), "it is a number"),
        "duration" => (value.as_str().is_some_and(is_duration), "it is a time like `30s`, `1m30s` or `1h`"),
        "quantity" => {
            (value.is_number() || value.as_str().is_some_and(|text| amount(text).is_some()), "it is an amount like `500m` or `1Gi`")
        }
        "list" => (value.is_array(), "it is a list"),
        "map" | "struct" => (value.is_object(), "it is a map"),
        _ => return None,
    };
    // Nothing is what is not said.
    (!is_right && !value.is_null()).then_some(rule)
}

/// Suffixes of Kubernetes' quantities, each with what one is (`resource.Quantity`).
const SUFFIXES: [(&str, f64); 15] = [
    ("", 1.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("E", 1e18),
];

/// An amount of Kubernetes as a number.
pub(super) fn amount(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let of_suffix = SUFFIXES.iter().find(|(known, _)| *known == suffix).map(|(_, one)| *one);
    // `1e3` is one as well.
    let of_exponent = || suffix.strip_prefix(['e', 'E']).and_then(|power| power.parse::<i32>().ok()).map(|power| 10_f64.powi(power));
    Some(number.parse::<f64>().ok()? * of_suffix.or_else(of_exponent)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{amount, of_field, of_option};

    #[test]
    fn values_of_options() {
        let right =
            [("bool", "T"), ("int", "-1"), ("duration", "1m30s"), ("duration", "-1s"), ("float64", "0.5"), ("string", ""), ("x", "y")];
        let right = right.into_iter().chain([("mapStringBool", "a=true,b=0"), ("ip", "::"), ("mapStringString", "a=b")]);
        for (kind, text) in right {
            assert_eq!(of_option(kind, text), None, "{kind} {text}");
        }
        let wrong = [
            ("bool", "yes"),
            ("int", "1.0"),
            ("int", "lots"),
            ("duration", "10"),
            ("uint16", "70000"),
            ("ip", "a"),
            ("mapStringBool", "a"),
        ];
        for (kind, text) in wrong {
            assert!(of_option(kind, text).is_some(), "{kind} {text}");
        }
    }

    #[test]
    fn values_of_fields() {
        let right = [("int32", json!(110)), ("bool", json!(true)), ("duration", json!("1m")), ("string", json!("a")), ("list", json!([]))];
        for (kind, value) in
            right.into_iter().chain([("quantity", json!("1Gi")), ("quantity", json!(1)), ("int32", json!(null)), ("any", json!(1))])
        {
            assert_eq!(of_field(kind, &value), None, "{kind} {value}");
        }
        for (kind, value) in [
            ("int32", json!("110")),
            ("int32", json!(3_000_000_000_u64)),
            ("bool", json!("true")),
            ("duration", json!(60)),
            ("map", json!([])),
        ] {
            assert!(of_field(kind, &value).is_some(), "{kind} {value}");
        }
    }

    #[test]
    fn amounts_are_numbers() {
        for (text, expected) in [("1", 1.0), ("500m", 0.5), ("1Gi", 1_073_741_824.0), ("1e3", 1000.0), ("2k", 2000.0)] {
            assert!((amount(text).unwrap_or_default() - expected).abs() < 1e-9, "{text}");
        }
        assert_eq!(["", "Gi", "1X", "a"].map(amount), [None; 4]);
    }
}
