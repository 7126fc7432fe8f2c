//! What a plan is made from that is not in the world.

use crate::failure::Failure;
use crate::randomness::random_bytes;
use crate::run::Token;

/// What a plan is made from that is not in the world: random, or said by the user.
pub struct Given {
    /// The run's token.
    pub token: Token,
    /// The id of a cluster that has none yet.
    pub new_cluster_id: String,
    /// Whether objects go even if others lose theirs with them.
    pub prune: bool,
}

impl Given {
    /// What is random, made now.
    ///
    /// # Errors
    /// [`Failure`] if the system has no randomness.
    pub fn new(prune: bool) -> Result<Self, Vec<Failure>> {
        let new_cluster_id = random_bytes::<16>().map(hex::encode).map_err(|failure| vec![failure])?;
        Ok(Self { token: Token::generate().map_err(|failure| vec![failure])?, new_cluster_id, prune })
    }
}
