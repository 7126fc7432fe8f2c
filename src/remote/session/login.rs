//! Logging in: keys first, then the password, each once.
use super::SshSession;
use crate::remote::error::ConnectFault;
use crate::remote::identity::{SshIdentities, SshIdentity};
use crate::remote::text::printable;
use kok_crds::Secret;
use russh::client::{AuthResult, KeyboardInteractiveAuthResponse as Interactive};
use russh::keys::{HashAlg, PrivateKeyWithHashAlg};
use russh::{MethodKind, MethodSet};
use tracing::debug;

/// Rounds of questions that a server may ask: one for the password, one without a question that OpenSSH's PAM adds, some for others.
const ROUNDS: usize = 5;

/// One login under way.
pub(super) struct Login<'a> {
    session: &'a mut SshSession,
    user: &'a str,
    identities: SshIdentities,
    tried: Vec<String>,
    tried_password: bool,
    reason: Option<String>,
}

/// What came of a step.
enum Step {
    In,
    /// Not yet; these may still be tried.
    Out(MethodSet),
    /// It is of no use to go on.
    Over,
}

impl<'a> Login<'a> {
    pub(super) fn new(session: &'a mut SshSession, user: &'a str, identities: SshIdentities) -> Self {
        Self { session, user, identities, tried: Vec::new(), tried_password: false, reason: None }
    }

    pub(super) async fn run(mut self, password: Option<&Secret>) -> Result<(), ConnectFault> {
        let mut step = self.offer_keys(password.is_some()).await;
        if let (Step::Out(methods), Some(password)) = (&step, password) {
            let methods = methods.clone();
            step = self.offer_password(&methods, password).await;
        }
        match step {
            Step::In => {
                debug!(user = self.user, by = self.tried.last(), "logged in");
                Ok(())
            }
            Step::Out(_) | Step::Over => Err(ConnectFault::LoginRefused {
                user: self.user.to_owned(),
                tried: self.tried,
                skipped: self.identities.skipped,
                tried_password: self.tried_password,
                reason: self.reason,
            }),
        }
    }

    /// Offers the keys one after the other until one is accepted.
    async fn offer_keys(&mut self, has_password: bool) -> Step {
        let mut methods = None;
        for identity in std::mem::take(&mut self.identities.offered) {
            let hash = match self.hash_for(&identity).await {
                Ok(hash) => hash,
                Err(refusal) => {
                    self.identities.skipped.push(format!("{}: {refusal}", identity.describe()));
                    continue;
                }
            };
            self.tried.push(identity.describe());
            let result = match self.offer(identity, hash).await {
                Ok(result) => result,
                Err(refusal) => {
                    self.reason = Some(refusal);
                    continue;
                }
            };
            let remaining = match self.judge(result, has_password) {
                Step::Out(remaining) => remaining,
                step => return step,
            };
            if !remaining.contains(&MethodKind::PublicKey) {
                if !has_password {
                    self.reason = Some("it does not accept public keys".to_owned());
                }
                return Step::Out(remaining);
            }
            methods = Some(remaining);
        }
        match methods {
            Some(methods) => Step::Out(methods),
            None if has_password => self.ask_methods().await,
            None => Step::Over,
        }
    }

    /// What the server accepts. It tells that to those who offer nothing, and does not count it as a failure.
    async fn ask_methods(&mut self) -> Step {
        match self.session.handle.authenticate_none(self.user).await {
            Ok(result) => self.judge(result, true),
            Err(error) => self.over(error.to_string()),
        }
    }

    /// The password, by one of the two methods and once: a second try might lock the account.
    async fn offer_password(&mut self, methods: &MethodSet, password: &Secret) -> Step {
        let Ok(password) = std::str::from_utf8(password.expose()) else {
            return self.over("the password is not UTF-8".to_owned());
        };
        if methods.contains(&MethodKind::Password) {
            self.tried_password = true;
            self.tried.push("the password".to_owned());
            let result = self.session.handle.authenticate_password(self.user, password).await;
            return match result.map(|result| self.judge(result, false)) {
                Ok(step) => step,
                Err(error) => self.over(error.to_string()),
            };
        }
        if methods.contains(&MethodKind::KeyboardInteractive) {
            return self.answer(password).await;
        }
        let names: Vec<&str> = methods.iter().map(Into::into).collect();
        self.over(format!("it does not accept passwords, only: {}", names.join(", ")))
    }

    /// Answers questions as long as they can only be about the password: one that hides the answer.
    async fn answer(&mut self, password: &str) -> Step {
        let mut asked = self.session.handle.authenticate_keyboard_interactive_start(self.user, None).await;
        for _ in 0..ROUNDS {
            let prompts = match asked {
                Ok(Interactive::Success) => return Step::In,
                Ok(Interactive::Failure { remaining_methods, partial_success }) => {
                    return self.judge(AuthResult::Failure { remaining_methods, partial_success }, false);
                }
                Ok(Interactive::InfoRequest { prompts, .. }) => prompts,
                Err(error) => return self.over(error.to_string()),
            };
            let answers = match prompts.as_slice() {
                [] => Vec::new(),
                [question] if !question.echo && !self.tried_password => {
                    self.tried_password = true;
                    self.tried.push("the password".to_owned());
                    vec![password.to_owned()]
                }
                [question, ..] => {
                    let question = printable(question.prompt.as_bytes());
                    return self.over(format!("it asks for more than a password: {question}"));
                }
            };
            asked = self.session.handle.authenticate_keyboard_interactive_respond(answers).await;
        }
        self.over("it asks one question after the other".to_owned())
    }

    fn judge(&mut self, result: AuthResult, more: bool) -> Step {
        match result {
            AuthResult::Success => Step::In,
            AuthResult::Failure { .. } if self.session.is_lost() => {
                let reason = self.session.lost_reason();
                self.over(reason)
            }
            AuthResult::Failure { partial_success: true, .. } if !more => {
                self.over("it asks for a second factor, which kokctl does not support".to_owned())
            }
            AuthResult::Failure { remaining_methods, .. } => Step::Out(remaining_methods),
        }
    }

    fn over(&mut self, reason: String) -> Step {
        self.reason = Some(reason);
        Step::Over
    }

    /// For RSA the best hash that the server knows; never SHA-1.
    async fn hash_for(&self, identity: &SshIdentity) -> Result<Option<HashAlg>, &'static str> {
        if !identity.is_rsa() {
            return Ok(None);
        }
        match self.session.handle.best_supported_rsa_hash().await {
            Ok(Some(Some(hash))) => Ok(Some(hash)),
            Ok(Some(None)) => Err("the host accepts RSA with SHA-1 only"),
            // A server that says nothing may still know SHA-512.
            Ok(None) => Ok(Some(HashAlg::Sha512)),
            Err(_) => Err("the connection was closed"),
        }
    }

    async fn offer(&mut self, identity: SshIdentity, hash: Option<HashAlg>) -> Result<AuthResult, String> {
        let handle = &mut self.session.handle;
        match (identity, &mut self.identities.agent) {
            (SshIdentity::File { key, .. }, _) => {
                let key = PrivateKeyWithHashAlg::new(key, hash);
                handle.authenticate_publickey(self.user, key).await.map_err(|error| error.to_string())
            }
            (SshIdentity::Agent { key, .. }, Some(agent)) => {
                let result = handle.authenticate_publickey_with(self.user, key, hash, agent).await;
                result.map_err(|error| format!("the SSH agent did not sign: {error}"))
            }
            (SshIdentity::Agent { .. }, None) => Err("the SSH agent is gone".to_owned()),
        }
    }
}
