//! What users see of expressions that become nothing.

use crate::resolved;
use crate::support::rendered;

const VARS: &str = r#"
undefined: "https://{{ registry_host }}/{{ files_repo | default('x') }}"
undefined_in_map: {url: "{{ missing }}"}
needs_undefined: "{{ undefined }}"
part: "{{ known.missing }}"
known: {a: 1}
circle: "{{ circle2 }}"
circle2: "{{ circle3.x }}"
circle3: {x: "{{ circle }}"}
itself: "{{ itself }}"
fact: "{{ ansible_default_ipv4.address }}"
arch: "{{ image_arch }}"
needs_arch: "https://dl.k8s.io/{{ arch }}"
omitted: "{{ x | default(omit) }}"
environment: "{{ lookup('env', 'HOME') }}"
password: "{{ lookup('password', 'file length=15') }}"
lookup: "{{ lookup('community.general.passwordstore', 'x') }}"
filter: "{{ 1 | frobnicate }}"
test: "{{ 1 is frobnicated }}"
function: "{{ now() }}"
method: "{{ 'a'.frobnicate() }}"
syntax: "{{ 1 + }}"
open: "{{ 1"
end: "{% if true %}"
statement: "{% set x = 1 %}{{ x }}"
product: "{{ 2 * 3 }}"
types: "{{ 'a' + 1 }}"
regex: "{{ 'a' | regex_replace('(?=a)', '') }}"
version: "{{ 'a' is version('1', '>') }}"
ipaddr: "{{ '10.0.0.0/8' | ipaddr('frobnicate') }}"
whole: "{{ hostvars['cp1'] }}"
steps: "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}"
ansible_password: "se{{cret"
my_token: "secret {{ missing }}"
"#;

#[test]
fn every_failure_is_explained() {
    let resolved = resolved(VARS);
    let names: Vec<_> = resolved.names("cp1").into_iter().filter(|name| !["known", "ip", "ip6", "ansible_host"].contains(name)).collect();
    let problems: Vec<_> = names.iter().map(|name| resolved.get("cp1", name).map(|_| ()).expect_err(name)).collect();
    assert!(problems.iter().all(|problem| problem.position.is_some() && problem.hint.is_some()), "{}", rendered(&problems));
    let text = rendered(&problems);
    assert!(!text.contains("cret"), "a secret is shown");
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("expressions", text);
    });
}
