//! Finding secrets where they must not be.

use kok_tests::lab::Host;

use super::ok;

/// Lines of the cluster's own private keys and the key material of its kubeconfigs, as they stand on a control plane.
pub fn key_material(control_plane: &Host) -> Vec<String> {
    let keys = ok(control_plane, "find /etc/kubernetes -name '*.key' -exec cat {} + | grep -v -e '-----'");
    let kubeconfigs = ok(control_plane, "cat /etc/kubernetes/*.conf | sed -n 's/^ *client-key-data: *//p'");
    // The last line of a key may be short enough to stand in any text.
    let material: Vec<String> = keys.lines().chain(kubeconfigs.lines()).filter(|line| line.len() >= 32).map(str::to_owned).collect();
    assert!(material.len() > 20, "a control plane has keys: {}", material.len());
    material
}

/// What of the cluster's secrets stands in a text, with where it was found.
pub fn secrets_in(text: &str, material: &[String]) -> Vec<String> {
    let mut found: Vec<String> = text.lines().filter(|line| line.contains("PRIVATE KEY")).map(str::to_owned).collect();
    found.extend(material.iter().filter(|secret| text.contains(secret.as_str())).cloned());
    found.extend(bootstrap_tokens(text).into_iter().map(str::to_owned));
    found
}

/// Everything that has the form of a bootstrap token: `[a-z0-9]{6}\.[a-z0-9]{16}` between other characters.
pub fn bootstrap_tokens(text: &str) -> Vec<&str> {
    let is_part = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    text.split(|character: char| !is_part(character) && character != '.')
        .filter(|word| matches!(word.split('.').collect::<Vec<_>>()[..], [id, secret] if id.len() == 6 && secret.len() == 16))
        .collect()
}

#[test]
fn tokens_are_found() {
    assert_eq!(bootstrap_tokens("token: \"kokab1.0123456789abcdef\", v1.37.1 worker.0123456789abcdef0"), ["kokab1.0123456789abcdef"]);
}
