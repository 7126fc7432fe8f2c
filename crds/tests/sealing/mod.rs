//! Vaults without cryptography: what stands in them is encrypted by nothing, and opened by whoever has the password.

use kok_crds::{Closed, Envelope, Secret, Vault, VaultPassword};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text of a vault in lines that stand behind so many blanks; the first of them has none.
pub(crate) fn sealed(label: &str, password: &str, text: &str, indent: usize) -> String {
    let head = if label.is_empty() { "1.1;AES256".to_owned() } else { format!("1.2;AES256;{label}") };
    let parts = [b"salt", password.as_bytes(), text.as_bytes()].map(hex).join("\n");
    let digits = hex(parts.as_bytes());
    let lines: Vec<&str> = digits.as_bytes().chunks(80).map(|line| std::str::from_utf8(line).unwrap()).collect();
    [format!("$ANSIBLE_VAULT;{head}").as_str()].iter().chain(&lines).copied().collect::<Vec<_>>().join(&format!("\n{:indent$}", ""))
}

/// The passwords of somebody, each with its label.
pub(crate) struct Keys(Vec<VaultPassword>);

pub(crate) fn keys(all: &[(&str, &str)]) -> Keys {
    let key = |(label, text): &(&str, &str)| VaultPassword {
        label: Some((*label).to_owned()).filter(|label| !label.is_empty()),
        password: Secret::new(*text),
    };
    Keys(all.iter().map(key).collect())
}

impl Vault for Keys {
    fn open(&self, envelopes: &[Envelope]) -> Vec<Result<Secret, Closed>> {
        let open = |envelope: &Envelope| {
            let fits = envelope.in_order(&self.0).any(|password| password.expose() == envelope.mac);
            if fits { Ok(Secret::new(envelope.ciphertext.clone())) } else { Err(Closed::WrongPassword(self.0.len())) }
        };
        envelopes.iter().map(open).collect()
    }
}
