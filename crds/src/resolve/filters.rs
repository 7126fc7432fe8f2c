//! The template engine with the filters, tests and functions of Ansible that variables use.

use std::sync::LazyLock;

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value, escape_formatter, filters, functions, tests};
use regex::RegexBuilder;

use super::{address, chain, maps, version};

/// Steps of one template: a loop over ten thousand hosts, and not a day.
const FUEL: u64 = 100_000;
/// Nothing here calls itself; the rest is for what the engine counts besides.
const RECURSION: usize = 16;
/// Text that a filter makes at most.
const MAX_TEXT: usize = 1 << 20;
/// Size of a compiled regular expression: more than any about names and versions takes.
const MAX_REGEX: usize = 1 << 20;

/// Built once; a thousand hosts render some variables a thousand times.
pub(super) static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_debug(false);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(RECURSION);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    let syntax = environment.syntax().to_builder().trim_blocks(true).keep_trailing_newline(true).build();
    // Only delimiters can be wrong, and they are the usual ones.
    if let Ok(syntax) = syntax {
        environment.set_syntax(syntax);
    }
    // As in Ansible, nothing comes of a null within a text.
    environment.set_formatter(|output, state, value| if value.is_none() { Ok(()) } else { escape_formatter(output, state, value) });
    add_own(&mut environment);
    add_builtin(&mut environment);
    environment
});

fn add_own(environment: &mut Environment<'static>) {
    environment.add_filter(chain::PART, chain::part);
    environment.add_filter("int", int);
    environment.add_filter("bool", bool);
    environment.add_filter("join", join);
    environment.add_filter("replace", replace);
    for prefix in ["", "ansible.builtin."] {
        environment.add_filter(format!("{prefix}ternary"), ternary);
        environment.add_filter(format!("{prefix}regex_replace"), regex_replace);
        environment.add_filter(format!("{prefix}combine"), maps::combine);
        environment.add_filter(format!("{prefix}extract"), maps::extract);
        environment.add_test(format!("{prefix}version"), version::compare);
        environment.add_test(format!("{prefix}version_compare"), version::compare);
    }
    for prefix in ["", "ansible.utils.", "ansible.netcommon."] {
        environment.add_filter(format!("{prefix}ipaddr"), address::ipaddr);
        environment.add_filter(format!("{prefix}ipwrap"), address::ipwrap);
        environment.add_filter(format!("{prefix}ipv4"), address::ipv4);
        environment.add_filter(format!("{prefix}ipv6"), address::ipv6);
    }
    for name in ["lookup", "query"] {
        environment.add_function(name, lookup);
    }
    environment.add_function("range", functions::range);
}

/// What the engine has itself and does as Jinja does.
fn add_builtin(environment: &mut Environment<'static>) {
    environment.add_filter("default", filters::default);
    environment.add_filter("d", filters::default);
    environment.add_filter("lower", filters::lower);
    environment.add_filter("upper", filters::upper);
    environment.add_filter("trim", filters::trim);
    environment.add_filter("string", filters::string);
    environment.add_filter("float", filters::float);
    environment.add_filter("abs", filters::abs);
    environment.add_filter("round", filters::round);
    environment.add_filter("split", filters::split);
    environment.add_filter("list", filters::list);
    environment.add_filter("unique", filters::unique);
    environment.add_filter("sort", filters::sort);
    environment.add_filter("reverse", filters::reverse);
    environment.add_filter("first", filters::first);
    environment.add_filter("last", filters::last);
    environment.add_filter("min", filters::min);
    environment.add_filter("max", filters::max);
    environment.add_filter("length", filters::length);
    environment.add_filter("count", filters::length);
    environment.add_filter("map", filters::map);
    environment.add_filter("select", filters::select);
    environment.add_filter("reject", filters::reject);
    environment.add_filter("selectattr", filters::selectattr);
    environment.add_filter("rejectattr", filters::rejectattr);
    environment.add_filter("to_json", filters::tojson);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("undefined", tests::is_undefined);
    environment.add_test("none", tests::is_none);
    environment.add_test("string", tests::is_string);
    environment.add_test("number", tests::is_number);
    environment.add_test("integer", tests::is_integer);
    environment.add_test("boolean", tests::is_boolean);
    environment.add_test("mapping", tests::is_mapping);
    environment.add_test("sequence", tests::is_sequence);
    environment.add_test("iterable", tests::is_iterable);
    environment.add_test("in", tests::is_in);
    environment.add_test("eq", tests::is_eq);
    environment.add_test("equalto", tests::is_eq);
    environment.add_test("ne", tests::is_ne);
    environment.add_test("true", tests::is_true);
    environment.add_test("false", tests::is_false);
}

pub(super) fn refused(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason.into())
}

/// A text that a filter wants, and not something that only prints as one.
pub(super) fn text<'a>(value: &'a Value, filter: &str) -> Result<&'a str, Error> {
    if value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    value.as_str().ok_or_else(|| refused(format!("`{filter}` works on text, not on {}", value.kind())))
}

/// Python's `int`, where what is no number counts as the default.
fn int(value: &Value, default: Option<i64>, options: Kwargs) -> Result<i64, Error> {
    let default = default.or(options.get("default")?);
    options.assert_all_used()?;
    let number = match value.kind() {
        ValueKind::Undefined => return Err(ErrorKind::UndefinedError.into()),
        ValueKind::Bool => Some(i64::from(value.is_true())),
        ValueKind::Number if value.is_integer() => value.as_i64(),
        // Python cuts off what stands behind the point, and so does this.
        ValueKind::Number => value.to_string().split('.').next().and_then(|text| text.parse().ok()),
        ValueKind::String => value.as_str().and_then(|text| text.trim().replace('_', "").parse().ok()),
        _ => None,
    };
    Ok(number.or(default).unwrap_or_default())
}

/// Ansible's `bool`: words for yes are true, everything else is false.
fn bool(value: &Value) -> Result<Value, Error> {
    Ok(match value.kind() {
        ValueKind::Undefined => return Err(ErrorKind::UndefinedError.into()),
        ValueKind::None | ValueKind::Bool => value.clone(),
        ValueKind::Number => Value::from(value.to_string() == "1"),
        _ => {
            let word = value.as_str().unwrap_or_default().to_ascii_lowercase();
            Value::from(matches!(word.as_str(), "yes" | "on" | "1" | "true" | "t" | "y"))
        }
    })
}

fn ternary(value: &Value, yes: Value, no: Value, none: Option<Value>) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        ValueKind::None => Ok(none.unwrap_or(no)),
        _ => Ok(if value.is_true() { yes } else { no }),
    }
}

fn join(value: &Value, between: Option<String>) -> Result<String, Error> {
    let between = between.unwrap_or_default();
    let mut joined = String::new();
    for (index, item) in value.try_iter()?.enumerate() {
        if item.is_undefined() {
            return Err(ErrorKind::UndefinedError.into());
        }
        if index > 0 {
            joined.push_str(&between);
        }
        joined.push_str(&item.to_str().map_or_else(|| item.to_string(), |text| text.to_string()));
        limit(joined.len())?;
    }
    Ok(joined)
}

fn replace(value: &Value, from: String, to: String) -> Result<String, Error> {
    let text = text(value, "replace")?;
    let found = text.matches(from.as_str()).count();
    limit(found.saturating_mul(to.len()).saturating_add(text.len()))?;
    Ok(text.replace(from.as_str(), &to))
}

/// Python's `re.sub`. Look-around and references inside of the pattern are unknown here, and said to be.
fn regex_replace(value: &Value, pattern: String, replacement: Option<String>, options: Kwargs) -> Result<String, Error> {
    let text = text(value, "regex_replace")?;
    let flag = |name| Ok::<_, Error>(options.get::<Option<bool>>(name)?.unwrap_or_default());
    let (ignore_case, multi_line) = (flag("ignorecase")?, flag("multiline")?);
    options.assert_all_used()?;
    let regex = RegexBuilder::new(&pattern).case_insensitive(ignore_case).multi_line(multi_line).size_limit(MAX_REGEX).build();
    let regex = regex.map_err(|_| refused("the regular expression is none that kokctl knows"))?;
    let replacement = python_replacement(&replacement.unwrap_or_default());
    let mut output = String::new();
    let mut behind = 0;
    for found in regex.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        output.push_str(text.get(behind..whole.start()).unwrap_or_default());
        found.expand(&replacement, &mut output);
        limit(output.len())?;
        behind = whole.end();
    }
    output.push_str(text.get(behind..).unwrap_or_default());
    Ok(output)
}

/// `\1` and `\g<name>` of Python as `${1}` and `${name}`.
fn python_replacement(text: &str) -> String {
    let mut output = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek().copied()) {
            ('$', _) => output.push_str("$$"),
            ('\\', Some(digit)) if digit.is_ascii_digit() => {
                rest.next();
                output.push_str(&format!("${{{digit}}}"));
            }
            ('\\', Some('g')) => {
                rest.next();
                let name: String = rest.by_ref().skip_while(|c| *c == '<').take_while(|c| *c != '>').collect();
                output.push_str(&format!("${{{name}}}"));
            }
            ('\\', Some('\\')) => {
                rest.next();
                output.push('\\');
            }
            (other, _) => output.push(other),
        }
    }
    output
}

fn limit(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_TEXT { Err(refused(format!("it becomes longer than {MAX_TEXT} bytes"))) } else { Ok(()) }
}

/// Lookups read what only the machine has on which Ansible runs.
fn lookup(kind: String, _: Rest<Value>) -> Result<Value, Error> {
    let name = kind.rsplit('.').next().unwrap_or_default();
    Err(refused(match name {
        "env" => "it reads the environment, which differs from one machine to the next".to_owned(),
        "password" => "it makes a password and keeps it in a file of Ansible: write out the password that the cluster has".to_owned(),
        "file" | "template" | "fileglob" | "pipe" | "url" => "it reads what is not in this file".to_owned(),
        _ => format!("the lookup {} is not known here", crate::words::quote(&kind)),
    }))
}
