//! Variables of the way to the API server.

use crate::decode::{Decoder, Field};
use crate::model::Settings;

/// Words of `spec.apiEndpoint.loadBalancer`, which says the same.
pub(crate) const LOAD_BALANCERS: [&str; 2] = ["none", "localhost"];

pub(crate) fn localhost(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let words = LOAD_BALANCERS.map(|word| (word, word == "localhost"));
    let is_word = LOAD_BALANCERS.into_iter().any(|word| field.is_text(word));
    let wanted = if is_word { decoder.choice(field, &words) } else { decoder.boolean(field) };
    settings.loadbalancer_apiserver_localhost = wanted.unwrap_or(settings.loadbalancer_apiserver_localhost);
}
