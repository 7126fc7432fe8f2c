//! Requests to the API server of the meta-cluster.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::http::{Method, Request, Response, Uri};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tower::{Layer, Service};

/// What stands for the code where no answer came.
const NO_ANSWER: &str = "none";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Labels {
    verb: &'static str,
    code: String,
}

/// Counts requests by what was asked for, and the code of the answer.
#[derive(Debug, Clone, Default)]
pub(in crate::operator) struct Requests(pub(super) Family<Labels, Counter>);

/// A client's service whose requests are counted.
#[derive(Debug, Clone)]
pub(in crate::operator) struct CountedService<S> {
    inner: S,
    requests: Requests,
}

impl Requests {
    fn count(&self, verb: &'static str, code: String) {
        self.0.get_or_create(&Labels { verb, code }).inc();
    }
}

impl<S> Layer<S> for Requests {
    type Service = CountedService<S>;

    fn layer(&self, inner: S) -> CountedService<S> {
        CountedService { inner, requests: self.clone() }
    }
}

impl<S, B, A> Service<Request<B>> for CountedService<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    A: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (verb, requests) = (verb(request.method(), request.uri()), self.requests.clone());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().map_or_else(|_| NO_ANSWER.to_owned(), |answer| answer.status().as_u16().to_string());
            requests.count(verb, code);
            answer
        })
    }
}

/// What is asked for, in one of a few words, as each is a time series. A list and a single object are both `get`: the path alone does not tell them apart.
fn verb(method: &Method, uri: &Uri) -> &'static str {
    let is_watch = || uri.query().is_some_and(|query| query.split('&').any(|part| part == "watch=true" || part == "watch=1"));
    match method.as_str() {
        "GET" if is_watch() => "watch",
        "GET" => "get",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::PostParams;
    use kube::client::ClientBuilder;
    use kube::{Api, Config};

    use super::super::super::fake::Fake;
    use super::super::Metrics;
    use super::*;

    #[tokio::test]
    async fn requests_of_a_client_are_counted_by_their_answers() {
        let (_fake, address) = Fake::serve(&[]).await;
        let metrics = Metrics::default();
        let maps = |address: &str| -> Api<ConfigMap> {
            let config = Config::new(format!("http://{address}").parse().unwrap());
            Api::namespaced(ClientBuilder::try_from(config).unwrap().with_layer(&metrics.requests).build(), "own")
        };
        let silent = maps("127.0.0.1:1");
        let maps = maps(&address.to_string());
        assert!(maps.get_opt("a").await.unwrap().is_none());
        let map =
            ConfigMap { metadata: kube::api::ObjectMeta { name: Some("a".to_owned()), ..Default::default() }, ..ConfigMap::default() };
        maps.create(&PostParams::default(), &map).await.unwrap();
        maps.get("a").await.unwrap();
        assert!(silent.get_opt("a").await.is_err());
        let text = metrics.text();
        for (verb, code) in [("get", "404"), ("create", "201"), ("get", "200"), ("get", "none")] {
            let line = format!("kokctl_api_requests_total{{verb=\"{verb}\",code=\"{code}\"}} 1");
            assert!(text.contains(&line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_watch_is_no_look_and_words_are_few() {
        let of = |method: &str, uri: &str| verb(&Method::from_bytes(method.as_bytes()).unwrap(), &uri.parse().unwrap());
        assert_eq!(of("GET", "/api/v1/secrets?watch=true&resourceVersion=7"), "watch");
        assert_eq!(of("GET", "/api/v1/secrets?resourceVersion=7"), "get");
        assert_eq!(of("GRUB", "/api/v1/secrets"), "other");
    }
}
