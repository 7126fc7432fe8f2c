//! `~`, `${VARIABLE}` and `%` tokens in values.
use crate::remote::identity::Variables;
use std::path::{Path, PathBuf};

/// What the tokens stand for.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) home: Option<&'a Path>,
    /// The host as the user named it.
    pub(super) name: &'a str,
    /// The login, if it is known.
    pub(super) user: Option<&'a str>,
    pub(super) local_user: &'a str,
    pub(super) variables: &'a Variables,
}

/// A host name, in which `%h` is the name that was asked for.
pub(super) fn host_name(text: &str, name: &str) -> Result<String, String> {
    tokens(text, |token| (token == 'h').then(|| name.to_owned()))
}

/// A path of a file.
pub(super) fn path(text: &str, scope: Scope<'_>, host: &str, port: u16, user: &str) -> Result<PathBuf, String> {
    let home = || scope.home.map(|home| home.display().to_string());
    let token = |token| match token {
        'd' => home(),
        'h' => Some(host.to_owned()),
        'i' => Some(rustix::process::getuid().as_raw().to_string()),
        'k' | 'n' => Some(scope.name.to_owned()),
        'p' => Some(port.to_string()),
        'r' => Some(user.to_owned()),
        'u' => Some(scope.local_user.to_owned()),
        _ => None,
    };
    let text = variables(&tokens(text, token)?, scope.variables)?;
    match text.strip_prefix("~/") {
        Some(rest) => scope.home.map(|home| home.join(rest)).ok_or_else(|| "the home directory is not known".to_owned()),
        None if text.starts_with('~') => Err("the home of another user is not looked up".to_owned()),
        None if Path::new(&text).is_absolute() => Ok(PathBuf::from(text)),
        // ssh(1) takes it from where it was started; that differs from run to run.
        None => Err("it is not an absolute path".to_owned()),
    }
}

fn tokens(text: &str, stands_for: impl Fn(char) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, character == '%') {
            (_, false) => expanded.push(character),
            (_, true) => match characters.next() {
                Some('%') => expanded.push('%'),
                Some(token) => expanded.push_str(&stands_for(token).ok_or_else(|| format!("%{token} is not supported here"))?),
                None => return Err("a % stands at its end".to_owned()),
            },
        }
    }
    Ok(expanded)
}

fn variables(text: &str, known: &Variables) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}').ok_or("${ is not closed")?;
        expanded.push_str(before);
        expanded.push_str(
            &known.get(name).and_then(|value| value.into_string().ok()).ok_or_else(|| format!("the variable {name} is not set"))?,
        );
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
