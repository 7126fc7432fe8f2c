#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::net::TcpListener;
use std::sync::mpsc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceRequest};
use opentelemetry_proto::tonic::trace::v1::Span;
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;
use crate::event::{EventKind, Events, FORMAT, Trace};

/// A collector that answers this, and hands on the type and the bytes of what it got, for as long as the runtime is there.
fn collector(answer: impl IntoResponse + Clone + Send + Sync + 'static) -> (String, mpsc::Receiver<(String, Bytes)>, Runtime) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel();
    let takes = move |headers: HeaderMap, body: Bytes| async move {
        let kind = headers.get("content-type").map(|kind| kind.to_str().unwrap().to_owned()).unwrap_or_default();
        let _ = sender.send((kind, body));
        answer.clone()
    };
    let router = Router::new().route("/v1/traces", axum::routing::post(takes));
    runtime.spawn(async move { axum::serve(listener, router).await });
    (address, receiver, runtime)
}

/// A run of two steps on one host, of which one fails.
fn tell(events: &Events) {
    let (host, text) = ("cp1", |text: &str| text.to_owned());
    events.send(EventKind::RunStarted {
        v: FORMAT,
        run: text("r"),
        verb: text("apply"),
        cluster: text("berlin"),
        time: String::new(),
        version: String::new(),
        who: String::new(),
        part: None,
    });
    for step in ["cp1/time/chrony", "cp1/containerd/config.toml"] {
        events.send(EventKind::StepStarted { step: text(step), host: text(host), title: String::new(), summary: String::new() });
    }
    events.send(EventKind::StepDone { step: text("cp1/time/chrony"), host: text(host), took_milliseconds: 3 });
    let error = text("no space left on device");
    events.send(EventKind::StepFailed { step: text("cp1/containerd/config.toml"), host: text(host), error, unknown: false });
    events.send(EventKind::RunFinished {
        done: 1,
        failed: 1,
        blocked: 0,
        stopped: None,
        failed_hosts: vec![text(host)],
        not_begun: Default::default(),
        took_milliseconds: 9,
    });
}

/// What a run ends with that is told to a collector at this address, which has so long to answer.
fn message_after_export(address: &str, patience: Duration) -> Option<String> {
    let settings = Settings { endpoint: Some(address), named_by: ENDPOINTS[1], patience, service: Some("kokctl"), queue: None };
    let traces = Traces::start(settings, Vec::new()).unwrap();
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(traces.layer()));
    let events = Events::new(vec![Box::new(Trace::default())]);
    tell(&events);
    // What others log is not kokctl's to send.
    tracing::info_span!(target: "russh", "packets").in_scope(|| {});
    drop(events);
    drop(guard);
    traces.finish()
}

#[test]
fn a_run_is_a_tree_of_its_hosts_and_steps() {
    let (address, received, _runtime) = collector(StatusCode::OK);
    assert_eq!(message_after_export(&address, Duration::from_millis(TIMEOUT)), None);
    let (kind, body) = received.recv().unwrap();
    assert_eq!(kind, "application/x-protobuf");
    let mut all = ExportTraceServiceRequest::decode(body).unwrap().resource_spans;
    let resource = format!("{:?}", all.first().unwrap().resource);
    assert!(resource.contains("service.name") && resource.contains("kokctl"), "{resource}");
    let spans: Vec<Span> = all.remove(0).scope_spans.into_iter().flat_map(|scope| scope.spans).collect();
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name}: {spans:#?}"));
    let (run, host) = (named("apply"), named("cp1"));
    let (done, failed) = (named("time/chrony"), named("containerd/config.toml"));
    assert_eq!(spans.len(), 4);
    assert!(run.parent_span_id.is_empty() && spans.iter().all(|span| span.trace_id == run.trace_id));
    assert_eq!([&host.parent_span_id, &done.parent_span_id, &failed.parent_span_id], [&run.span_id, &host.span_id, &host.span_id]);
    let status = |span: &Span| span.status.as_ref().map_or(0, |status| status.code);
    assert_eq!([run, host, done, failed].map(status), [2, 0, 0, 2], "2 is an error");
    assert!(format!("{:?}", failed.events).contains("no space left on device"));
}

#[test]
fn that_nobody_takes_them_is_told_at_the_end() {
    let patience = Duration::from_millis(TIMEOUT);
    let (address, _received, _runtime) = collector(StatusCode::FORBIDDEN);
    assert!(message_after_export(&address, patience).unwrap().contains("403"));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let why = message_after_export(&format!("http://somebody:hunter2@{nobody}/v1/traces"), patience).unwrap();
    assert!(why.to_lowercase().contains("refused") && !why.contains("hunter2"), "{why}");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let why = message_after_export(&format!("http://{}/v1/traces", silent.local_addr().unwrap()), Duration::from_millis(300)).unwrap();
    assert!(why.contains("timed out"), "{why}");
}

#[test]
fn what_a_collector_refuses_of_what_it_takes_is_told() {
    let told_of = |rejected_spans: i64, message: &str| {
        let partial = ExportTracePartialSuccess { rejected_spans, error_message: message.to_owned() };
        let answer = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
        let (address, _received, _runtime) = collector(answer);
        message_after_export(&address, Duration::from_millis(TIMEOUT))
    };
    assert_eq!(told_of(3, "the quota\u{1b}[2J is used up\n").unwrap(), "the collector has refused 3 spans: the quota[2J is used up");
    assert_eq!(told_of(0, "use another port").unwrap(), "the collector warns: use another port");
    assert_eq!(told_of(0, ""), None);
    let (address, _received, _runtime) = collector("{\"partialSuccess\":{}}");
    assert_eq!(message_after_export(&address, Duration::from_millis(TIMEOUT)), None, "what can't be read refuses nothing");
}

#[test]
fn nothing_is_sent_unless_the_environment_asks_for_it() {
    let asked = |variables: &[(&str, &str)]| {
        let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Traces::asked(&variable).map(|traces| traces.is_some())
    };
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    assert!(!asked(&[]).unwrap() && !asked(&[(endpoint.0, " ")]).unwrap());
    assert!(!asked(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")]).unwrap());
    assert!(!asked(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]).unwrap());
    assert!(asked(&[endpoint, ("OTEL_TRACES_EXPORTER", "console, otlp")]).unwrap());
    let refused = asked(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err();
    assert_eq!(refused.what, "traces can't be sent by `grpc`");
    let refused = asked(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "x"), ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "1h")]).unwrap_err();
    assert_eq!(refused.at.as_deref(), Some("the variable OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"));
    let refused = asked(&[endpoint, ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")]).unwrap_err();
    assert_eq!(refused.what, "`10s` is no time");
    let refused = asked(&[endpoint, ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nonexistent")]).unwrap_err();
    assert_eq!(refused.what, "the CA of the collector can't be read");
}
