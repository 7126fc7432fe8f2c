//! Where one password comes from: a file, what a program prints, or somebody at the terminal. Never an argument, which others see.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use kok_crds::{Secret, VaultPassword};
use zeroize::Zeroizing;

use crate::failure::{Failure, Kind};
use crate::plain_file;
use crate::ui::{ask_hidden, is_terminal};

/// Longer ones are no passwords.
const MOST_BYTES: u64 = 64 << 10;

/// Words by which `--vault-id` asks, as Ansible has them.
const PROMPTS: [&str; 2] = ["prompt", "prompt_ask_vault_pass"];

/// Where a password comes from, with its label.
pub(super) struct PasswordSource {
    label: Option<String>,
    /// The file; nothing, if somebody is asked.
    file: Option<PathBuf>,
}

/// Whether there is somebody to ask.
pub(super) struct Asked;

impl Asked {
    pub(super) fn is_possible() -> bool {
        is_terminal()
    }
}

impl PasswordSource {
    /// `LABEL@SOURCE`, or a source alone.
    pub(super) fn of_id(id: &str) -> Self {
        let (label, source) = id.split_once('@').map_or((None, id), |(label, source)| (Some(label), source));
        let label = label.filter(|label| !label.is_empty()).map(str::to_owned);
        Self { label, file: (!PROMPTS.contains(&source)).then(|| at_home(Path::new(source))) }
    }

    pub(super) fn of_file(path: &Path) -> Self {
        Self { label: None, file: Some(at_home(path)) }
    }

    /// Somebody at the terminal, for whatever label.
    pub(super) fn unnamed() -> Self {
        Self { label: None, file: None }
    }

    /// The password. It is never repeated in messages.
    pub(super) fn read(&self) -> Result<VaultPassword, Failure> {
        let password = match &self.file {
            Some(path) => of_file(path, self.label.as_deref()),
            None => self.ask(),
        }?;
        if password.is_empty() {
            let failure = Failure::new(Kind::Input, "a password of a vault is empty").at(self.place());
            return Err(failure
                .because("nobody encrypts with an empty one, so that something else was meant")
                .hint("look at what the file holds, or the program prints"));
        }
        Ok(VaultPassword { label: self.label.clone(), password: Secret::new(password.as_slice()) })
    }

    fn place(&self) -> String {
        self.file.as_ref().map_or_else(|| "the terminal".to_owned(), |path| path.display().to_string())
    }

    fn ask(&self) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let question = self.label.as_ref().map_or_else(|| "Vault password: ".to_owned(), |label| format!("Vault password ({label}): "));
        let failed = |because: String| {
            let failure = Failure::new(Kind::Input, "the password of a vault can't be asked for").at(self.place()).because(because);
            failure.hint("name a file with it: `--vault-password-file FILE`, or `--vault-id LABEL@FILE`")
        };
        if !Asked::is_possible() {
            return Err(failed("there is no terminal to ask at".to_owned()));
        }
        let answer = ask_hidden(&question).map_err(|error| failed(error.to_string()))?;
        Ok(Zeroizing::new(answer.trim().as_bytes().to_vec()))
    }
}

/// Behind the `@` of a label no shell knows what `~/` is.
fn at_home(path: &Path) -> PathBuf {
    let rest = path.strip_prefix("~").ok().filter(|rest| !rest.as_os_str().is_empty());
    rest.zip(env::home_dir()).map_or_else(|| path.to_owned(), |(rest, home)| home.join(rest))
}

/// What stands in a file, without blanks around it; or what it prints if it is a program, without line ends. That is what Ansible takes.
fn of_file(path: &Path, label: Option<&str>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |because: String| {
        let failure = Failure::new(Kind::Input, "the file with the password of a vault can't be read")
            .at(path.display().to_string())
            .because(because);
        failure.hint("name a file with the password, or a program that prints it")
    };
    let metadata = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
        return of_program(path, label);
    }
    if metadata.is_dir() {
        return Err(failed("it is a folder".to_owned()));
    }
    let bytes = Zeroizing::new(plain_file::read(path, MOST_BYTES).map_err(failed)?);
    if bytes.starts_with(b"$ANSIBLE_VAULT;") {
        return Err(failed("it is encrypted itself".to_owned()));
    }
    Ok(Zeroizing::new(bytes.trim_ascii().to_vec()))
}

/// A program whose name ends with `-client` is told the label.
fn of_program(path: &Path, label: Option<&str>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |because: String| {
        let failure =
            Failure::new(Kind::Input, "the program for the password of a vault failed").at(path.display().to_string()).because(because);
        failure.hint("run it yourself and see; if it is no program but a file with the password, `chmod -x` it")
    };
    // Without a folder before it, a name would be looked for in PATH.
    let program = fs::canonicalize(path).map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    if path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("-client")) {
        command.args(label.iter().flat_map(|label| ["--vault-id", label]));
    }
    let output = command.stdin(Stdio::inherit()).stderr(Stdio::inherit()).output().map_err(|error| failed(error.to_string()))?;
    let printed = Zeroizing::new(output.stdout);
    if !output.status.success() {
        return Err(failed(format!("it ended with {}", output.status)));
    }
    if u64::try_from(printed.len()).is_ok_and(|length| length > MOST_BYTES) {
        return Err(failed(format!("it printed more than {MOST_BYTES} bytes")));
    }
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let start = printed.iter().take_while(|byte| is_end(byte)).count();
    let end = printed.iter().rev().take_while(|byte| is_end(byte)).count();
    Ok(Zeroizing::new(printed.get(start..printed.len().saturating_sub(end)).unwrap_or_default().to_vec()))
}
