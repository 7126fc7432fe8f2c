//! Traces: the spans of a run, its hosts and its steps, sent to an OpenTelemetry collector where the environment names one, by the variables that its
//! specification has (OpenTelemetry, *Environment Variable Specification* and *OTLP Exporter*).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry::{KeyValue, Value};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter};
use prost::Message as _;
use tokio::runtime::{Handle, Runtime};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::registry::LookupSpan;

use crate::failure::{Failure, Kind};

/// Where the collector is: of traces alone, or of everything.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const AUTHORITIES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"];
const TIMEOUTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
/// As the specification has it, in milliseconds.
const TIMEOUT: u64 = 10_000;
/// What is spoken here.
const PROTOCOL: &str = "http/protobuf";
/// A run of a thousand hosts ends some thousand steps in the five seconds between two batches.
const QUEUE: (&str, usize) = ("OTEL_BSP_MAX_QUEUE_SIZE", 16_384);
/// A collector that is not there keeps nobody from the end of a run for longer.
const LAST: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(3);
/// Bytes of an answer that are read: it says whether spans were refused.
const MOST_ANSWER: usize = 64 << 10;
/// Characters of its message that are told.
const MOST_MESSAGE: usize = 500;

/// Sends spans until it is finished.
pub(super) struct Traces {
    provider: SdkTracerProvider,
    /// Connections are made in it: what batches spans has a thread without one.
    runtime: Runtime,
    lost: Arc<Lost>,
}

/// How they are sent. What is nothing is for the environment to say.
struct Settings<'a> {
    endpoint: Option<&'a str>,
    /// The variable that names it.
    named_by: &'static str,
    /// For an answer of the collector.
    patience: Duration,
    service: Option<&'static str>,
    queue: Option<usize>,
}

/// Why spans could not be sent.
#[derive(Debug, Default)]
struct Lost {
    /// The last try.
    failing: Mutex<Option<String>>,
    /// Those that nobody tries to send any more, the first time.
    gone: Mutex<Option<String>>,
}

impl Lost {
    fn gone(&self, error: &str) {
        let why = self.failing.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_else(|| error.to_owned());
        self.first(why);
    }

    fn first(&self, why: String) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.is_none() {
            // Of a program that serves nobody sees the end.
            tracing::warn!(target: "kokctl::traces", why, "traces can't be sent");
            *gone = Some(why);
        }
    }
}

impl Traces {
    /// Begins to send, if the environment names a collector. `variable` reads the environment.
    ///
    /// # Errors
    /// [`Failure`] if it asks for what can't be done.
    pub(super) fn asked(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, Failure> {
        let setting = |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let first = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, setting(name)?)));
        let is_off = setting("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let others = setting("OTEL_TRACES_EXPORTER").is_some_and(|text| !text.split(',').any(|name| name.trim() == "otlp"));
        let Some((named_by, _)) = first(ENDPOINTS).filter(|_| !is_off && !others) else { return Ok(None) };
        if let Some((name, protocol)) = first(PROTOCOLS).filter(|(_, protocol)| protocol != PROTOCOL) {
            let failure = Failure::new(Kind::Input, format!("traces can't be sent by `{}`", protocol.escape_debug()));
            let hint =
                format!("set it to {PROTOCOL}, and the endpoint to that of the collector's HTTP receiver: its port is 4318 by default");
            return Err(failure.at(format!("the variable {name}")).hint(hint));
        }
        let authority = first(AUTHORITIES).map(|(name, path)| authority(name, &path)).transpose()?;
        let patience = first(TIMEOUTS).map_or(Ok(TIMEOUT), |(name, text)| {
            let failure = Failure::new(Kind::Input, format!("`{}` is no time", text.escape_debug()));
            text.parse().map_err(|_| failure.at(format!("the variable {name}")).hint("give milliseconds, as in 10000"))
        })?;
        let names_service = setting("OTEL_SERVICE_NAME").is_some()
            || setting("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|text| text.split(',').any(|one| one.trim().starts_with("service.name=")));
        let service = (!names_service).then_some("kokctl");
        let queue = setting(QUEUE.0).is_none().then_some(QUEUE.1);
        let settings = Settings { endpoint: None, named_by, patience: Duration::from_millis(patience), service, queue };
        Self::start(settings, authority.unwrap_or_default()).map(Some)
    }

    fn start(settings: Settings<'_>, authorities: Vec<reqwest::Certificate>) -> Result<Self, Failure> {
        let Settings { endpoint, named_by, patience, service, queue } = settings;
        let wrong = |because: String| {
            let failure = Failure::new(Kind::Input, "traces can't be sent").because(because);
            failure.at(format!("the variable {named_by}")).hint("correct it, as in http://127.0.0.1:4318, or unset it to send none")
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name("traces").enable_all().build();
        let runtime =
            runtime.map_err(|error| Failure::new(Kind::Internal, "the program can't start its threads").because(error.to_string()))?;
        let client = reqwest::Client::builder().connect_timeout(CONNECT).timeout(patience).tls_certs_merge(authorities).build();
        let lost = Arc::new(Lost::default());
        let sender = Sender {
            client: client.map_err(|error| wrong(error.to_string()))?,
            runtime: runtime.handle().clone(),
            lost: Arc::clone(&lost),
        };
        let builder = opentelemetry_otlp::SpanExporter::builder().with_http().with_http_client(sender);
        let builder = if let Some(endpoint) = endpoint { builder.with_endpoint(endpoint) } else { builder };
        let exporter = builder.build().map_err(|error| wrong(error.to_string()))?;
        let batches = BatchConfigBuilder::default();
        let batches = if let Some(queue) = queue { batches.with_max_queue_size(queue) } else { batches };
        let processor = BatchSpanProcessor::builder(Named { exporter, lost: Arc::clone(&lost) }).with_batch_config(batches.build()).build();
        let resource = Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let resource = if let Some(service) = service { resource.with_service_name(service) } else { resource };
        let provider = SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource.build()).build();
        Ok(Self { provider, runtime, lost })
    }

    /// What hears of spans: of kokctl's own alone.
    pub(super) fn layer<S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync>(&self) -> impl Layer<S> + Send + Sync + use<S> {
        let layer = tracing_opentelemetry::layer().with_location(false).with_threads(false).with_tracked_inactivity(false);
        layer.with_tracer(self.provider.tracer("kokctl")).with_filter(FilterFn::new(is_told))
    }

    /// Sends what there still is, and returns why something could not be sent.
    pub(super) fn finish(self) -> Option<String> {
        let ended = self.provider.shutdown_with_timeout(LAST);
        self.runtime.shutdown_background();
        let lost = self.lost.gone.lock().unwrap_or_else(PoisonError::into_inner).take();
        lost.or_else(|| ended.err().map(|error| error.to_string()))
    }
}

/// The spans of runs. Those of connections belong to none: each would be a trace of its own.
fn is_told(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("kokctl::run") && *metadata.level() <= Level::DEBUG
}

fn authority(name: &str, path: &str) -> Result<Vec<reqwest::Certificate>, Failure> {
    let wrong = |because: String| {
        let failure = Failure::new(Kind::Input, "the CA of the collector can't be read").because(because);
        failure.at(format!("{path}, which the variable {name} names")).hint("name a file with certificates in PEM")
    };
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let all = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| wrong(error.to_string()))?;
    if all.is_empty() { Err(wrong("it has no certificate".to_owned())) } else { Ok(all) }
}

/// Sends what was batched.
struct Sender {
    client: reqwest::Client,
    runtime: Handle,
    lost: Arc<Lost>,
}

impl fmt::Debug for Sender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sender")
    }
}

impl HttpClient for Sender {
    fn send_bytes<'own, 'sent>(
        &'own self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'own: 'sent,
        Self: 'sent,
    {
        let (client, lost) = (self.client.clone(), Arc::clone(&self.lost));
        let sent = self.runtime.spawn(async move {
            let sent = send(&client, request).await;
            let why = match &sent {
                Ok(response) if response.status().is_success() => {
                    // The specification forbids to send them again.
                    refused(response.body()).into_iter().for_each(|why| lost.first(why));
                    None
                }
                Ok(response) => Some(format!("the collector answers {}", response.status())),
                Err(error) => Some(chain(error.as_ref())),
            };
            // The last word counts: what failed is tried again.
            *lost.failing.lock().unwrap_or_else(PoisonError::into_inner) = why;
            sent
        });
        Box::pin(async move { sent.await? })
    }
}

async fn send(client: &reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    // The address may hold a password.
    let mut answer = client.execute(request.try_into()?).await.map_err(reqwest::Error::without_url)?;
    let (status, headers, mut body) = (answer.status(), std::mem::take(answer.headers_mut()), Vec::new());
    while let Some(chunk) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
        if body.len() + chunk.len() > MOST_ANSWER {
            return Err("its answer is too long".into());
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = Response::builder().status(status).body(Bytes::from(body))?;
    *response.headers_mut() = headers;
    Ok(response)
}

/// What a collector says that has taken some spans, or none, of what it has answered with success: OTLP's *partial success*. Terminal's control characters
/// are not told.
fn refused(answer: &[u8]) -> Option<String> {
    // A collector that answers in another form has refused nothing of which it says so.
    let partial = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
    let said: String = partial.error_message.chars().filter(|it| !it.is_control()).take(MOST_MESSAGE).collect();
    let said = said.trim();
    match (partial.rejected_spans, said) {
        (..=0, "") => None,
        (..=0, said) => Some(format!("the collector warns: {said}")),
        (1, _) => Some(format!("the collector has refused a span: {said}")),
        (spans, _) => Some(format!("the collector has refused {spans} spans: {said}")),
    }
}

/// An error with what it comes from: libraries say no more than that something failed.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Gives spans the names by which people look for them, and the status of what failed: in the log their kinds come first.
#[derive(Debug)]
struct Named<E> {
    exporter: E,
    lost: Arc<Lost>,
}

impl<E: SpanExporter> SpanExporter for Named<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        batch.iter_mut().for_each(name);
        let sent = self.exporter.export(batch).await;
        if let Err(error) = &sent {
            self.lost.gone(&error.to_string());
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

fn name(span: &mut SpanData) {
    let found = |key: &str| span.attributes.iter().find(|pair| pair.key.as_str() == key).map(|pair| &pair.value);
    let text = |key: &str| found(key).map(|value| value.as_str().into_owned());
    let better = match span.name.as_ref() {
        "run" => text("verb"),
        "host" => text("name"),
        // The same on each host, so that they can be compared.
        "step" => text("name").map(|name| name.split_once('/').map_or(name.clone(), |(_, rest)| rest.to_owned())),
        _ => None,
    };
    if found("failed") == Some(&Value::Bool(true)) {
        span.status = Status::error("");
    }
    if let Some(better) = better {
        span.name = better.into();
    }
}

#[cfg(test)]
mod tests;
